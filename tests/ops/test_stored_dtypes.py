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

# Where this library does not follow: row key, and why.
LIMITS = "refused here; what PyTorch computes is a step of its kernel that happens to take any type"
WIDER = "computed here; PyTorch refuses for the way that its kernel takes for these sizes"
WORDS = "refused in other words"
APART = {
    "isfinite float8_e8m0fnu/1": "PyTorch calls this type's NaN finite",
    "isin */0": WIDER, "count_nonzero */0": WIDER, "matrix_power uint*/1": WIDER,
    "vander uint*": WIDER, "aten._conj *": WIDER, "aten._neg_view *": WIDER,
    "index_reduce *": LIMITS, "index_put float8*/1*": LIMITS, "mv */1": LIMITS,
    "addbmm float8*": LIMITS, "conv_tbc float8*": LIMITS, "aten._index_put_impl_ *": LIMITS,
    "aten.rrelu_with_noise_backward *": LIMITS,
    "nn.functional.pad float8_e8m0fnu/0": "a type without zero is padded with its least number",
    "masked_fill uint*/1*": WORDS, "index_fill uint*/1*": WORDS,
    "nn.functional.embedding_bag uint*": WORDS, "native_dropout uint*": WORDS,
    "aten._cdist_backward uint*": WORDS,
}  # fmt: skip


def both_refuse(got, want) -> bool:
    """Refusals of an element type: PyTorch sometimes says it of an op within."""
    if not all(isinstance(x, dict) and "raises" in x for x in (got, want)):
        return False
    return got["raises"][0] == "NotImplementedError" and "not implemented for '" in got["raises"][1]


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
            difference = differs(outcome, expected, row)
            if difference and not both_refuse(outcome, expected):
                found.append(f"{row.name} {key} {call!r}:\n    {difference}")
    report(found)
