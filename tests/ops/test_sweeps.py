"""Sweeps over the sample rows: each op of the module under test against PyTorch's answers.

One op: `python -m pytest tests/ops -k "mul"`; RUSHLIGHT_TEST_MODULE names another module (torch).

To add a row: in the file of its family write
    row("hypot", [call(t(3, 4), t(4)), call(t(), t(2, 0))], [fail(t(3), t(4))], promotion=True)
Calls run in all element types (or `dtypes=`); t() is a tensor of the element type in turn, i() an
index, m() a mask. Nothing expected is written by hand: with PyTorch installed
`python tools/record_golden.py --row OP` records values, refusals, messages, gradients.
"""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from . import ROWS, apart, experiments, golden
from .build import exists
from .native import RUN_BY
from .outcome import differs
from .under_test import (
    MODULE,
    check_gradients,
    check_second_gradients,
    live_table,
    row_names,
    torch,
)

PRESENT = [r for r in ROWS if torch is not None and exists(torch, r.name)]
SHOWN = 6


def recording(row) -> dict | None:
    """What was recorded for a row, if it is there and was made for these samples."""
    found = golden.load(row.family)["rows"].get(row.name)
    return found if found and found["calls"] == golden.call_texts(row) else None


def rows_of(experiment):
    """Parametrises a test over the rows for which something was recorded."""
    rows = [r for r in PRESENT if experiment.__name__ in (recording(r) or {})]
    return pytest.mark.parametrize("row", rows, ids=[r.name for r in rows])


def sweep(experiment, row, *extra):
    """Runs one experiment and compares each outcome with the recording."""
    name = experiment.__name__
    wanted = dict(recording(row)[name])
    found = []
    for key, call, outcome in experiment(torch, row, *extra):
        if key not in wanted:
            continue
        expected = wanted.pop(key)
        if apart.faulty(row, key, outcome, expected):
            continue
        difference = differs(outcome, expected, row)
        if difference and apart.named(row, name, key):
            difference = apart.holds(row, name, key, call, outcome, expected)
        if difference and name == "values" and apart.nearer(row, key, call, outcome, expected):
            continue
        if difference:
            found.append(f"{row.name} {key} {call!r}:\n    {difference}")
    found += [f"{row.name} {key}: no outcome; expected {wanted[key]!r:.200}" for key in wanted]
    if found:
        more = [f"... and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        pytest.fail("\n".join([f"{len(found)} differ", *found[:SHOWN], *more]), pytrace=False)


@rows_of(experiments.values)
def test_values(row):
    sweep(experiments.values, row)


@rows_of(experiments.errors)
def test_errors(row):
    sweep(experiments.errors, row)


@rows_of(experiments.layouts)
def test_layouts(row):
    sweep(experiments.layouts, row)


@rows_of(experiments.meta)
def test_meta(row):
    sweep(experiments.meta, row)


@rows_of(experiments.inplace)
def test_inplace(row):
    sweep(experiments.inplace, row)


@rows_of(experiments.out)
def test_out(row):
    sweep(experiments.out, row)


@rows_of(experiments.overlap)
def test_overlap(row):
    sweep(experiments.overlap, row)


@rows_of(experiments.gradients)
def test_gradients(row):
    sweep(experiments.gradients, row)


@rows_of(experiments.promotion)
def test_promotion(row):
    sweep(experiments.promotion, row)


@rows_of(experiments.aliases)
def test_aliases(row):
    sweep(experiments.aliases, row)


@rows_of(experiments.gradcheck)
def test_gradcheck(row):
    sweep(experiments.gradcheck, row, check_gradients, recording(row)["gradcheck"])


@rows_of(experiments.gradgradcheck)
def test_gradgradcheck(row):
    sweep(experiments.gradgradcheck, row, check_second_gradients, recording(row)["gradgradcheck"])


def test_what_is_set_apart_still_differs():
    """A row says that PyTorch is wrong only where it answers, and otherwise than we do."""
    idle = []
    for row in (r for r in PRESENT if r.apart):
        for pattern in row.apart:
            name, _, keys = pattern.partition(" ")
            recorded = (recording(row) or {}).get(name, {})
            run = getattr(experiments, name)
            found = {k: o for k, _, o in run(torch, row) if fnmatchcase(k, keys)}
            if not any(differs(o, recorded[k], row) for k, o in found.items() if k in recorded):
                idle.append(f"{row.name}: {pattern}")
    assert not idle, f"no difference: {'; '.join(idle)}"


def test_module_under_test_can_be_imported():
    assert torch is not None, f"cannot import {MODULE}"


def test_every_row_is_recorded():
    stale = [f"{r.family} {r.name}" for r in ROWS if recording(r) is None]
    assert not stale, f"run tools/record_golden.py --stale for the rows {', '.join(stale)}"


def test_no_op_is_missing():
    """Every op that has a row exists in the module under test."""
    names = [n for r in ROWS for n in (r.name, *r.alias)]
    missing = [n for n in names if torch is not None and not exists(torch, n)]
    assert not missing, f"{len(missing)} missing ops: {' '.join(missing)}"


def test_every_op_of_the_table_has_a_row():
    """An op of the live table without a row fails by name."""
    table = live_table()
    known = {n for r in ROWS for n in (r.name, *r.alias, *r.covers)}
    tests = Path(__file__).parents[1]
    astray = {home for home in RUN_BY.values() if home not in known and not (tests / home).exists()}
    assert not astray, f"neither rows nor tests: {' '.join(sorted(astray))}"
    known |= {f"aten.{name}" for name in RUN_BY}
    lacking = sorted({e["name"] for e in table if not known & set(row_names(e))})
    assert not lacking, f"{len(lacking)} ops without a row: {' '.join(lacking)}"
