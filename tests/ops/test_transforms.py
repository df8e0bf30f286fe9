"""Every op under vmap, in forward mode, and gradients of samples, against the plain calls."""

from __future__ import annotations

import warnings

import pytest

from . import ROWS
from .build import Builder, exists, resolve
from .spec import T, numbers
from .under_test import torch

PRESENT = [
    r
    for r in ROWS
    if torch is not None and exists(torch, r.name) and r.seed is None and not r.uninitialised
]
SAMPLES = 3
# What vmap says of results whose size, or course, depends on values.
REFUSED = (
    "vmap: It looks like you're",
    "vmap: We do not support batching operators that can",
    "vmap: Attempted to vmap over `mask`",
    "vmap: called random operation while in randomness error mode",
    "Cannot access data pointer of Tensor that doesn't have storage",
    "accessing `data` under vmap transform",
    "Batching rule not implemented for aten::equal",
    "vmap over torch.allclose isn't supported yet",
    # What is written to must be mapped if what is written is.
    "vmap: inplace arithmetic(self, *extra_args)",
    "Batch norm got a batched tensor as input while the running_mean or running_var",
)
SHOWN = 6


class Sample(Builder):
    """Builds the tensors of one call with numbers that depend on which sample it is."""

    def __init__(self, dtype, number):
        super().__init__(torch, dtype)
        self.number = number

    def _place(self, spec, dtype, layout, flat):
        if spec.values is None and spec.seed is None and self.number:
            flat = numbers(spec, dtype, len(self.tensors) + 31 * self.number)
        return super()._place(spec, dtype, layout, flat)


class Around:
    """A call as a function of its tensors alone."""

    def __init__(self, row, call, dtype):
        self.function = resolve(torch, row.name)
        self.call, self.dtype = call, dtype
        self.samples = [self.build(k) for k in range(SAMPLES)]

    def build(self, number) -> list:
        builder = Sample(self.dtype, number)
        builder.arguments(self.call)
        return builder.tensors

    def __call__(self, *tensors):
        rest = list(tensors)

        class Given(Builder):
            def tensor(self, spec: T):
                return rest.pop(0)

        args, kwargs = Given(torch, self.dtype).arguments(self.call)
        return self.function(*args, **kwargs)


def leaves(result) -> list:
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in leaves(part)]
    return []


def quietly(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def main_calls(row, order):
    for call in row.calls:
        dtype = next((d for d in order if d in row.dtypes and call.serves(d)), None)
        if dtype and "out" not in call.kwargs:
            yield call, dtype


def mapped_choices(count: int):
    """Which tensors have the mapped dimension: all, and each by itself."""
    yield tuple(range(count))
    if count > 1:
        yield from ((k,) for k in range(count))


def alike(a, b, rtol=1e-4, atol=1e-4) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not (a.is_floating_point() or a.is_complex()):
        return bool((a == b).all())
    wide = torch.complex128 if a.is_complex() else torch.float64
    return torch.allclose(a.detach().to(wide), b.detach().to(wide), rtol, atol, equal_nan=True)


def fails(row, found: list) -> None:
    if found:
        more = [f"... and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        pytest.fail("\n".join([f"{len(found)} differ", *found[:SHOWN], *more]), pytrace=False)


def vmap_differs(around, mapped) -> str:
    first = around.samples[0]
    chosen = [
        [s[k] if k in mapped else first[k] for k in range(len(first))] for s in around.samples
    ]
    try:
        rows = [leaves(quietly(around, *[x.clone() for x in s])) for s in chosen]
    except Exception:
        return ""
    stacked = [
        torch.stack([s[k] for s in chosen]) if k in mapped else first[k].clone()
        for k in range(len(first))
    ]
    dims = tuple(0 if k in mapped else None for k in range(len(first)))
    try:
        found = leaves(quietly(torch.vmap(lambda *a: tuple(leaves(around(*a))), dims), *stacked))
    except Exception as error:
        text = str(error)
        unmapped_target = 0 not in mapped and "doesn't match the broadcast shape" in text
        if text.startswith(REFUSED) or unmapped_target:
            return ""
        return f"{type(error).__name__}: {text[:300]}"
    if len(found) != len(rows[0]):
        return f"{len(found)} results, not {len(rows[0])}"
    for place, result in enumerate(found):
        column = [r[place] for r in rows]
        if any(c.shape != column[0].shape for c in column):
            return "results of different sizes are not refused"
        wanted = torch.stack(column)
        if not alike(result, wanted):
            return f"result {place}: {result} instead of {wanted}"[:600]
    return ""


@pytest.mark.parametrize("row", PRESENT, ids=[r.name for r in PRESENT])
def test_vmap(row):
    found = []
    for call, dtype in main_calls(row, ("float32", "int64", "bool", "complex64")):
        try:
            around = Around(row, call, dtype)
        except Exception:
            continue
        for mapped in mapped_choices(len(around.samples[0])):
            if not mapped:
                continue
            if difference := vmap_differs(around, mapped):
                found.append(f"{row.name} {call!r} mapped {mapped}:\n    {difference}")
    fails(row, found)


def differentiable(tensors) -> list:
    return [k for k, x in enumerate(tensors) if x.is_floating_point() or x.is_complex()]


def weighted(results, chosen):
    """One number from the chosen results."""
    total = 0
    for k, r in enumerate(results):
        if k not in chosen:
            continue
        r = torch.view_as_real(r.resolve_conj()) if r.is_complex() else r
        weights = torch.linspace(0.5, 1.5, max(r.numel(), 1), dtype=r.dtype)
        total = total + (r.reshape(-1) * weights[: r.numel()] * (k + 1)).sum()
    return total


def sample_gradients(around, tensors, wanted, chosen) -> list | None:
    xs = [x.clone().requires_grad_() if k in wanted else x for k, x in enumerate(tensors)]
    results = leaves(around(*xs))
    chosen += [k for k, r in enumerate(results) if r.requires_grad and k not in chosen]
    if not chosen:
        return None
    total = weighted(results, chosen)
    found = torch.autograd.grad(total, [xs[k] for k in wanted], allow_unused=True)
    return [torch.zeros_like(xs[k]) if g is None else g for g, k in zip(found, wanted, strict=True)]


def gradients_differ(around) -> str:
    wanted = differentiable(around.samples[0])
    # At NaN max and amax, one of which stands for the other, have different gradients.
    if not wanted or any(x.isnan().any() for s in around.samples for x in s):
        return ""
    try:
        chosen: list = []        # the differentiable results
        rows = [quietly(sample_gradients, around, s, wanted, chosen) for s in around.samples]
    except Exception:
        return ""
    if any(r is None for r in rows):
        return ""
    stacked = [torch.stack(column) for column in zip(*around.samples, strict=True)]

    def of_one(*tensors):
        return weighted(leaves(around(*tensors)), chosen)

    found = {}
    try:
        by_sample = torch.func.grad(of_one, argnums=tuple(wanted))
        found["vmap(grad)"] = quietly(torch.vmap(by_sample), *stacked)
        xs = [x.clone().requires_grad_() if k in wanted else x for k, x in enumerate(stacked)]
        total = quietly(torch.vmap(of_one), *xs).sum()
        grads = torch.autograd.grad(total, [xs[k] for k in wanted], allow_unused=True)
        found["grad(vmap)"] = [
            torch.zeros_like(xs[k]) if g is None else g for g, k in zip(grads, wanted, strict=True)
        ]
    except Exception as error:
        if str(error).startswith(REFUSED):
            return ""
        return f"after {list(found)}: {type(error).__name__}: {str(error)[:300]}"
    for name, grads in found.items():
        for place, g in enumerate(grads):
            expected = torch.stack([r[place] for r in rows])
            if not alike(g, expected, 1e-6, 1e-6):
                return f"{name} of input {wanted[place]}: {g} instead of {expected}"[:600]
    return ""


def sweep(row, differs):
    """Fails with what `differs` says of a row's calls that run without a transform."""
    if not row.grad:
        return
    found = []
    for call, dtype in main_calls(row, ("float64", "complex128")):
        try:
            around = Around(row, call, dtype)
        except Exception:
            continue
        if difference := differs(around):
            found.append(f"{row.name} {call!r}:\n    {difference}")
    fails(row, found)


@pytest.mark.parametrize("row", PRESENT, ids=[r.name for r in PRESENT])
def test_sample_gradients(row):
    sweep(row, gradients_differ)


def jvp_differs(around) -> str:
    tensors = around.samples[0]
    wanted = differentiable(tensors)
    moves = [around.samples[1][k] / 8 for k in wanted]
    if not wanted or any(tensors[k].numel() == 0 for k in wanted):
        return ""

    def of_wanted(*xs):
        given = list(tensors)
        for k, x in zip(wanted, xs, strict=True):
            given[k] = x
        return tuple(
            r for r in leaves(around(*given)) if r.is_floating_point() or r.is_complex()
        )

    points = tuple(tensors[k].clone() for k in wanted)
    try:
        _, expected = quietly(
            torch.autograd.functional.jvp, of_wanted, points, tuple(moves), False, False
        )
    except Exception:
        return ""
    if not expected:      # such functions are refused: there is no derivative
        return ""
    try:
        values, found = quietly(torch.func.jvp, of_wanted, points, tuple(moves))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    plain = quietly(of_wanted, *points)
    for place, (value, tangent) in enumerate(zip(values, found, strict=True)):
        if not alike(value, plain[place], 1e-8, 1e-10):
            return f"value {place}: {value} instead of {plain[place]}"[:600]
        finite = expected[place].isfinite()
        if not alike(tangent[finite], expected[place][finite], 1e-8, 1e-10):
            return f"tangent {place}: {tangent} instead of {expected[place]}"[:600]
    return ""


@pytest.mark.parametrize("row", PRESENT, ids=[r.name for r in PRESENT])
def test_jvp(row):
    sweep(row, jvp_differs)
