"""Calls of torch.testing.assert_close, and what each of them said."""

from __future__ import annotations

NAN, INF = float("nan"), float("inf")


def pairs(torch) -> list:
    """(actual, expected, options) of every call."""
    t = torch.tensor
    half, double = torch.float16, torch.float64
    grid = t([[1.0, 2.0], [3.0, 4.0]])
    return [
        (t([1.0, 2, 3]), t([1.0, 2.5, 3]), {}),
        (t(1.0), t(2.0), {}),
        (t([1, 2]), t([1, 3]), {}),
        (t([1.0]), t([1.0, 2]), {}),
        (t([1.0]), t([1.0], dtype=double), {}),
        (t([1.0]), t([1.0], dtype=double), {"check_dtype": False}),
        (1.0, 2.0, {}),
        (1, 1.0, {}),
        (1, 2, {}),
        (True, False, {}),
        (None, None, {}),
        ("a", "a", {}),
        (t([NAN]), t([NAN]), {}),
        (t([NAN]), t([NAN]), {"equal_nan": True}),
        ([t([1.0]), t([2.0])], [t([1.0]), t([3.0])], {}),
        ({"a": t([1.0])}, {"a": t([2.0])}, {}),
        ([t(1.0)], [t(1.0), t(2.0)], {}),
        ({"a": t(1.0)}, {"b": t(1.0)}, {}),
        (t([1.0]), t([2.0]), {"msg": "other words"}),
        (t([1.0]), t([2.0]), {"msg": lambda text: f"before {text}"}),
        (t([1.0]), t([2.0]), {"rtol": 1.0}),
        (t([1.0]), t([2.0]), {"rtol": 0.1, "atol": 0.2}),
        (grid.t(), t([[1.0, 3.0], [2.0, 4.0]]), {"check_stride": True}),
        (grid, grid + t([[0.0, 0.0], [1.0, 0.0]]), {}),
        (t([1.0]), 1.0, {}),
        (t([1, 2]), t([1.0, 2.0]), {}),
        (t([True, False]), t([True, True]), {}),
        (1j, 2j, {}),
        (t([1j]), t([2j]), {}),
        (1.0, NAN, {}),
        (t([1.0]), t([2.0]), {"atol": 0, "rtol": 0}),
        (5, 3, {"rtol": 0.1, "atol": 0}),
        (t([INF]), t([1.0]), {}),
        (t([1.0, 2.0]), t([0.0, 0.0]), {}),
        (t([]), t([]), {}),
        (t([1.0], dtype=half), t([2.0], dtype=half), {}),
        (t([1], dtype=torch.uint8), t([255], dtype=torch.uint8), {}),
        ([1, [t([2.0]), {"k": t([1.0])}]], [1, [t([2.0]), {"k": t([5.0])}]], {}),
    ]


def said(torch, assert_close, actual, expected, options) -> str:
    """ "passed", or type and message of what was raised."""
    try:
        assert_close(actual, expected, **options)
    except (AssertionError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "passed"


def answers(torch, assert_close) -> list[str]:
    return [said(torch, assert_close, *pair) for pair in pairs(torch)]
