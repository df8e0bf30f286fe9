"""Where this library differs from PyTorch on purpose: what must hold instead.

PyTorch is wrong there, or says the same in other words (of a node, of a message). A row names
such outcomes in `apart`; a few kinds of fault are known without being named.
"""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from .build import LAYOUTS
from .experiments import attempt, checked_function
from .outcome import ATOL, RTOL, close, differs
from .references import true_values
from .spec import numbers
from .under_test import check_gradients, torch

SHARED = "unsupported operation: more than one element of the written-to tensor refers to a single"
SAME_WORDS = 40
ROUGHLY = 5e-3


def faulty(row, key, outcome, expected) -> bool:
    """Faults by PyTorch's own lights: an assertion of its own fails; an out= that is strided,
    resized or an input holds something else than the op returns, or a layout something else than
    the dense call (ours must hold it); results written over each other (ours must refuse)."""
    if not isinstance(expected, dict):
        return False
    if "raises" in expected:
        return "INTERNAL ASSERT FAILED" in expected["raises"][1]
    if expected.get("agrees") is not False:
        return False
    variant = key.rpartition("/")[2]
    if variant == "expanded" and "raises" in outcome:
        return outcome["raises"][1].startswith(SHARED)
    known = variant in ("strided", "empty", "wrong_shape", "out_same", *LAYOUTS)
    return known and row.seed is None and outcome == {**expected, "agrees": True}


def named(row, experiment: str, key: str) -> bool:
    """Whether the row says that PyTorch differs here, and why."""
    return any(fnmatchcase(f"{experiment} {key}", pattern) for pattern in row.apart)


def holds(row, experiment: str, key: str, call, outcome, expected) -> str | None:
    """None where an outcome that a row sets apart is right, else what is wrong with it."""
    if experiment == "errors":
        (kind, text), (wanted, words) = outcome["raises"], expected["raises"]
        same = kind == wanted and text[:SAME_WORDS] == words[:SAME_WORDS]
        return None if same else f"raised {kind}: {text}"
    if experiment == "out":
        if "raises" in outcome:
            right = outcome["raises"][1].startswith(SHARED)
        else:
            right = outcome["agrees"] and outcome["self"]
        return None if right else f"got {outcome!r}"
    if "raises" in outcome:
        return f"raised {outcome['raises']}"
    if "grads" in expected and differs(outcome["grads"], expected["grads"], row) is None:
        return None  # only the names of nodes differ
    if row.seed is not None:  # finite differences say nothing of random numbers
        rough = replace(row, rtol=dict.fromkeys(RTOL, ROUGHLY))
        return differs(outcome, expected, rough)
    wide = "complex128" if key.startswith("complex") else "float64"
    checked = attempt(lambda: check_gradients(*checked_function(torch, row, call, wide)))
    return None if checked is True else f"finite differences: {checked}"


def nearer(row, key, call, outcome, expected) -> bool:
    """Whether every value that is not PyTorch's is nearer to the truth, and near enough."""
    plain = isinstance(outcome, list) and isinstance(expected, list)
    if not (row.reference and plain and outcome[:4] == expected[:4]):
        return False
    dtype = key.partition("/")[0]
    truth = true_values(row.reference, numbers(call.args[0], dtype, 0))
    rtol, atol = row.rtol.get(dtype, RTOL[dtype]), row.atol.get(dtype, ATOL[dtype])
    return all(
        close(got, want, dtype, row)
        or (abs(got - true) <= atol + rtol * abs(true) and abs(got - true) < abs(want - true))
        for got, want, true in zip(outcome[4], expected[4], truth, strict=True)
    )
