"""The boxed call gives what the function gives, and so does replaying its run stage on buffers
that hold other numbers: the path that captured steps take."""

import pytest

from . import ROWS
from .build import Builder, exists
from .experiments import attempt, main_cases, perform, tensors_in
from .outcome import agrees
from .under_test import live_table, row_names, torch

RECORDS = {}
for entry in live_table():
    for name in row_names(entry):
        RECORDS.setdefault(name, []).append(entry)
REPLAYED = {"pointwise", "kernel"}
SAMPLED = [r for r in ROWS if r.name in RECORDS and exists(torch, r.name)]


def boxed_cases(row):
    """(record, arguments of the record, the function's result) of the row's positional calls."""
    for dtype, _, call in main_cases(torch, row):
        if call.kwargs or row.seed is not None or row.uninitialised:
            continue
        for entry in RECORDS[row.name]:
            plain = perform(torch, row, call, Builder(torch, dtype))
            args, _ = Builder(torch, dtype).arguments(call)
            full = len(args) == len(entry["params"])
            if full and entry["kind"] != "effect" and not entry["python"].endswith("_"):
                made = attempt(torch._C._boxed_call, entry["name"], *args)
                if not isinstance(made, dict):
                    yield entry, Builder(torch, dtype).arguments(call)[0], plain, made


@pytest.mark.parametrize("row", SAMPLED, ids=[r.name for r in SAMPLED])
def test_boxed_call_and_replay(row):
    for entry, args, plain, made in boxed_cases(row):
        wanted, found = tensors_in(torch, plain), tensors_in(torch, made)
        if not wanted or [x.shape for x in wanted] != [x.shape for x in found]:
            continue  # another overload, or a function that hides some results
        assert agrees(torch, found, wanted, row), entry["name"]
        if entry["kind"] not in REPLAYED:
            continue
        buffers = [torch.full_like(x, 7) for x in found]
        with torch.no_grad():
            torch._C._replay(entry["name"], buffers, *args)
        assert agrees(torch, buffers, found, row), f"replay of {entry['name']}"
