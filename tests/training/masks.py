"""Functions of torch.masked, with gradients; what they show is recorded from PyTorch."""

from __future__ import annotations

from importlib import import_module

CALLS = """
sum(x, d, mask=m, keepdim=k); sum(x, d, mask=m, dtype=torch.float64); prod(x, d, mask=m, keepdim=k)
amax(x, d, mask=m, keepdim=k); amin(x, d, mask=m, keepdim=k); mean(x, d, mask=m, keepdim=k)
logsumexp(x, d, mask=m, keepdim=k); norm(x, 2.0, d, mask=m, keepdim=k); norm(x, 1.0, d, mask=m)
norm(x, float("-inf"), d, mask=m); var(x, d, mask=m, keepdim=k); var(x, d, False, mask=m)
var(x, d, correction=2, mask=m); std(x, d, True, mask=m, keepdim=k); std(x, d, True, correction=1)
argmax(x, one, mask=m, keepdim=k); argmin(x, one, mask=m); argmax(x, mask=m)
median(x, one, mask=m, keepdim=k); softmax(x, one, mask=m); log_softmax(x, one, mask=m)
softmin(x, one, mask=m, dtype=torch.float64); normalize(x, 2.0, one, mask=m); cumsum(x, one, mask=m)
normalize(x, 1.0, one, eps=0.5, mask=m); cumprod(x, one, mask=m, dtype=torch.float64)
logaddexp(x, x * 2, input_mask=m); logaddexp(x, x, input_mask=m, other_mask=m, dtype=torch.float64)
"""


def _plain(value):
    values = value.detach().flatten().tolist()
    numbers = [f"{x + 0.0:.6g}" if isinstance(x, float) else x for x in values]
    return f"{value.dtype} {list(value.shape)} {value.requires_grad} {numbers}"


def _masks(torch):
    whole = torch.arange(24).reshape(2, 3, 4)
    return {
        "none": None, "whole": whole % 3 > 0, "numbers": whole % 2,
        "row": torch.tensor([True, False, True, True]), "nothing": whole < 0,
        "column": torch.tensor([[True], [False], [True]]), "too many": whole[None] > 3,
    }  # fmt: skip


def _all(torch, show, dtype):
    names = vars(import_module(f"{torch.__name__}.masked")) | {"torch": torch}
    turn = 0
    for label, mask in _masks(torch).items():
        for call in CALLS.strip().replace("\n", "; ").split("; "):
            turn += 1
            x = (torch.arange(24).reshape(2, 3, 4) * 7 % 11 - 4).to(getattr(torch, dtype))
            if dtype.startswith("float"):
                x.requires_grad_()
            dims = (None, 0, -1, (0, 2), (), (1, 1), 5)
            given = {"x": x, "m": mask, "d": dims[turn % 7], "one": turn % 3, "k": turn % 2 == 0}
            try:
                result = eval(call, names, given)
                shown = [_plain(result)]
                if result.requires_grad:
                    weight = torch.arange(1, result.numel() + 1).reshape(result.shape)
                    shown.append(_plain(torch.autograd.grad((result * weight).sum(), x)[0]))
            except Exception as error:
                shown = [type(error).__name__, str(error).splitlines()[0]]
            show(label, call, given["d"], *shown)


def floats(torch, show):
    _all(torch, show, "float64")


def whole_numbers(torch, show):
    _all(torch, show, "int32")
    _all(torch, show, "bool")


def names(torch, show):
    masked = import_module(f"{torch.__name__}.masked")
    show(sorted(masked.__all__), masked.is_masked_tensor(torch.ones(2)))
