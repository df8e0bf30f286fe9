"""Programs about torch._foreach_*; what they show is recorded from PyTorch."""

from __future__ import annotations

UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 "
    "neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()


def _lists(torch):
    torch.manual_seed(0)
    make = lambda: [torch.rand(3) * 0.5 + 0.25, torch.rand(2, 2).double() * 0.5 + 0.25]  # noqa: E731
    return make(), make(), make()


def _rounded(values):
    return [(str(v.dtype), [round(x, 4) for x in v.flatten().tolist()]) for v in values]


def unary(torch, show):
    a, _, _ = _lists(torch)
    for op in UNARY:
        show(op, _rounded(getattr(torch, f"_foreach_{op}")(a)))
        copy = [t.clone() for t in a]
        getattr(torch, f"_foreach_{op}_")(copy)
        show(op, _rounded(copy))
    copy = [t.clone() for t in a]
    torch._foreach_zero_(copy)
    show(copy, _rounded(torch._foreach_clone(a)))


def binary(torch, show):
    a, b, c = _lists(torch)
    for op in "add sub mul div clamp_max clamp_min maximum minimum pow".split():
        for other in (b, 2, [2, 0.5]):
            show(op, _rounded(getattr(torch, f"_foreach_{op}")(a, other)))
            copy = [t.clone() for t in a]
            getattr(torch, f"_foreach_{op}_")(copy, other)
            show(op, _rounded(copy))
    show(_rounded(torch._foreach_add(a, b, alpha=3)), _rounded(torch._foreach_sub(a, b, alpha=2)))
    show(_rounded(torch._foreach_mul(a, torch.tensor(3.0))))
    show(_rounded(torch._foreach_div(a, torch.tensor(3.0))))
    show(_rounded(torch._foreach_add(a, torch.tensor(3.0), alpha=2)))
    show(_rounded(torch._foreach_pow(2, a)))
    for weight in (0.5, c, [0.25, 0.75]):
        show(_rounded(torch._foreach_lerp(a, b, weight)))
        copy = [t.clone() for t in a]
        torch._foreach_lerp_(copy, b, weight)
        show(_rounded(copy))
    copy = [t.clone() for t in a]
    torch._foreach_copy_(copy, b)
    show(_rounded(copy), _rounded(torch._foreach_mm([torch.ones(2, 2)], [torch.ones(2, 2)])))


def by_name(torch, show):
    a, b, c = _lists(torch)
    for op in "add sub mul div clamp_max clamp_min maximum minimum".split():
        call = getattr(torch, f"_foreach_{op}")
        show(op, _rounded(call(a, other=b)), _rounded(call(a, scalar=2)))
        show(op, _rounded(call(self=a, scalars=[2, 0.5])))
    show(_rounded(torch._foreach_add(a, other=b, alpha=3)))
    show(_rounded(torch._foreach_pow(a, exponent=2)), _rounded(torch._foreach_pow(a, exponent=b)))
    show(_rounded(torch._foreach_lerp(a, b, weight=0.5)))
    show(_rounded(torch._foreach_lerp(a, tensors1=b, weights=c)))
    copy = [t.clone() for t in a]
    torch._foreach_mul_(copy, scalar=0.5)
    torch._foreach_lerp_(copy, tensors1=b, weight=0.25)
    show(_rounded(copy))
    torch._foreach_copy_(copy, src=b, non_blocking=True)
    show(_rounded(copy), _rounded(torch._foreach_clone(a, memory_format=torch.preserve_format)))
    one = [torch.ones(2, 2)]
    show(_rounded(torch._foreach_mm(one, mat2=one)))


def ternary(torch, show):
    a, b, c = _lists(torch)
    for op in ("addcmul", "addcdiv"):
        for value in (2, [2, 0.5], torch.tensor([2.0, 0.5])):
            show(op, _rounded(getattr(torch, f"_foreach_{op}")(a, b, c, value)))
            copy = [t.clone() for t in a]
            getattr(torch, f"_foreach_{op}_")(copy, b, c, value)
            show(op, _rounded(copy))
        show(op, _rounded(getattr(torch, f"_foreach_{op}")(a, b, c)))
        show(op, _rounded(getattr(torch, f"_foreach_{op}")(a, b, c, value=3)))


def reductions(torch, show):
    a, _, _ = _lists(torch)
    for order in (1, 2, float("inf")):
        show(_rounded(torch._foreach_norm(a, order)))
    show(_rounded(torch._foreach_norm(a)), _rounded(torch._foreach_max(a)))
    show(_rounded(torch._foreach_norm(a, 2, torch.float64)))


def gradients(torch, show):
    leaves = [torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)]
    made = torch._foreach_mul(torch._foreach_exp(leaves), 2)
    sum(t.sum() for t in made).backward()
    show(_rounded([leaf.grad for leaf in leaves]))


def refusals(torch, show):
    o = torch.ones(2)
    for call in (
        lambda: torch._foreach_add([o], [o, o]), lambda: torch._foreach_add([], 1),
        lambda: torch._foreach_add([o], [1.0, 2.0]), lambda: torch._foreach_mul([o], [1, 2]),
        lambda: torch._foreach_add([o], torch.ones(2)), lambda: torch._foreach_sqrt(o),
        lambda: torch._foreach_addcdiv([o], [o], [o, o]), lambda: torch._foreach_norm([]),
        lambda: torch._foreach_lerp([o], [o, o], 0.5), lambda: torch._foreach_zero_([]),
        lambda: torch._foreach_copy_([o], [o, o]), lambda: torch._foreach_exp([]),
        lambda: torch._foreach_addcmul([o], [o], [o], [1, 2]),
    ):  # fmt: skip
        show.failure(call)
