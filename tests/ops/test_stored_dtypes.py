"""Floats of a byte and unsigned integers of more than one: PyTorch's values, and its refusals."""

from fnmatch import fnmatchcase

import pytest

from . import ROWS, golden, stored_dtypes
from .build import exists
from .outcome import differs
from .under_test import torch

RECORD = golden.load("stored_dtypes")
BY_NAME = {f"{row.family}:{row.name}": row for row in ROWS}
FAMILIES = sorted({name.partition(":")[0] for name in RECORD.get("rows", ())})
SHOWN = 8

# Where PyTorch refuses or computes by chance, and why this library does not follow: row key.
APART: dict = {}


class Exact:
    """Stands for a row where there is none: nothing may be off."""

    exact, uninitialised, rtol, atol = True, False, {}, {}


def report(found: list) -> None:
    """Fails with the first of the differences."""
    if found:
        more = [f"... and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        pytest.fail("\n".join([f"{len(found)} differ", *found[:SHOWN], *more]), pytrace=False)


@pytest.mark.parametrize("experiment", stored_dtypes.PLAIN, ids=lambda e: e.__name__)
def test_facts(experiment):
    wanted = RECORD[experiment.__name__]
    found = []
    for key, outcome in experiment(torch):
        if difference := differs(outcome, wanted[key], Exact):
            found.append(f"{key}: {difference}")
    report(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows(family):
    found = []
    for name, recorded in RECORD["rows"].items():
        row = BY_NAME.get(name)
        if row is None or row.family != family or not exists(torch, row.name):
            continue
        if recorded["calls"] != golden.call_texts(row):
            continue
        for key, call, outcome in stored_dtypes.rows(torch, row):
            expected = recorded["outcomes"].get(key)
            if key not in recorded["outcomes"]:
                continue
            if any(fnmatchcase(f"{row.name} {key}", pattern) for pattern in APART):
                continue
            if difference := differs(outcome, expected, row):
                found.append(f"{row.name} {key} {call!r}:\n    {difference}")
    report(found)
