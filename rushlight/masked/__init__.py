"""Reductions and normalizations of the elements that a mask keeps (True) along dimensions.

What is masked out is replaced by what leaves the result as it is (0 in a sum, -inf in a maximum).
A mask has at most the input's dimensions and is broadcast to them. Where nothing is kept the result
is that replacement, or NaN of a mean. Tensors that carry their mask (MaskedTensor) are left out.
"""

from __future__ import annotations

import math

import rushlight as torch
from rushlight import _absent

__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum",
    "is_masked_tensor", "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

_REASON = "use a tensor beside its mask with the functions of torch.masked"
MaskedTensor = _absent.refused_class("masked", "MaskedTensor", _REASON)
masked_tensor = _absent.refused_function("masked", "masked_tensor", _REASON)
as_masked_tensor = _absent.refused_function("masked", "as_masked_tensor", _REASON)
for _part in ("", ".binary", ".core", ".creation", ".passthrough", ".reductions", ".unary"):
    _absent.submodule(f"masked.maskedtensor{_part}", _REASON, "", MaskedTensor=MaskedTensor,
                      masked_tensor=masked_tensor, as_masked_tensor=as_masked_tensor)  # fmt: skip


def is_masked_tensor(obj) -> bool:
    """Whether ``obj`` is a MaskedTensor: nothing is one."""
    return isinstance(obj, MaskedTensor)


def _lowest(input, sign: int):
    """The least element there can be, or the greatest (``sign`` = -1)."""
    if input.is_floating_point():
        return -math.inf * sign
    if input.dtype == torch.bool:
        raise NotImplementedError
    info = torch.iinfo(input.dtype)
    return info.min if sign > 0 else info.max


def _neutral(name: str, input, ord=2.0):
    if name in ("sum", "prod"):
        return int(name == "prod")
    if name == "norm" and ord == -math.inf and not input.is_floating_point():
        raise AssertionError(f"input must be floating point, got {input.dtype}")
    if name == "norm":
        return math.inf if ord == -math.inf else 0
    if name == "logsumexp" and input.is_complex():
        return complex(-math.inf, 0)
    try:
        return _lowest(input, -1 if name in ("amin", "argmin") else 1)
    except NotImplementedError:
        raise NotImplementedError(f"identity of {name} on {input.dtype} input") from None


def _broadcast(mask, input):
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
            "input)"
        )
    return torch.broadcast_to(mask, input.shape).to(torch.bool)


def _filled(name: str, input, mask, *ord):
    """``input`` with what is masked out replaced."""
    if mask is None:
        return input
    mask = _broadcast(mask, input)
    value = torch.tensor(_neutral(name, input, *ord), dtype=input.dtype, device=input.device)
    return torch.where(mask, input, value)


def _dims(dim, ndim: int) -> tuple:
    """The dimensions, counted from the front and in order; all of them for None or ()."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    found = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but "
                f"got {d})"
            )
        found.append(d % ndim)
    return tuple(sorted(found))


def _summed_dtype(input):
    narrow = (torch.uint8, torch.bool, torch.int8, torch.int16, torch.int32)
    return torch.int64 if input.dtype in narrow else input.dtype


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum over ``dim`` (an int, several, or all)."""
    dtype = dtype or _summed_dtype(input)
    dims = _dims(dim, input.ndim)
    return torch.sum(_filled("sum", input, mask), dims, bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product over ``dim`` (an int, several, or all)."""
    result = _filled("prod", input, mask).to(dtype or _summed_dtype(input))
    for d in reversed(_dims(dim, input.ndim)):
        result = result.prod(d, bool(keepdim))
    return result


def cumsum(input, dim, *, dtype=None, mask=None):
    """Running sums along ``dim``."""
    dtype = dtype or input.dtype
    (dim,) = _dims(dim, input.ndim)[:1]
    return torch.cumsum(_filled("sum", input, mask), dim, dtype=dtype).to(dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Running products along ``dim``."""
    dtype = dtype or input.dtype
    (dim,) = _dims(dim, input.ndim)[:1]
    return torch.cumprod(_filled("prod", input, mask), dim, dtype=dtype).to(dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest element over ``dim`` (an int, several, or all)."""
    filled = _filled("amax", input, mask)
    return torch.amax(filled, _dims(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The least element over ``dim`` (an int, several, or all)."""
    filled = _filled("amin", input, mask)
    return torch.amin(filled, _dims(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest element along ``dim`` is, in the input's dtype; as a vector for None."""
    filled = _filled("argmax", input, mask)
    return torch.argmax(filled, dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the least element along ``dim`` is, in the input's dtype; as a vector for None."""
    filled = _filled("argmin", input, mask)
    return torch.argmin(filled, dim, bool(keepdim)).to(dtype or input.dtype)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean over ``dim`` (an int, several, or all); NaN where nothing is kept."""
    source = "Input" if dtype is None else "Optional"
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating "
            f"point or complex dtype. Got: {dtype}"
        )
    count = _count(input, dim, bool(keepdim), mask)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / count


def _count(input, dim, keepdim: bool, mask):
    if mask is None:
        ones = torch.ones(input.shape, dtype=torch.int64, device=input.device)
        return sum(ones, dim, keepdim=keepdim)
    return _broadcast(mask, input).sum(dim=dim, keepdim=keepdim)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median along ``dim``.

    Raises ValueError where nothing is kept, unless the input is floating (NaN then).
    """
    (dim,) = _dims(dim, input.ndim)[:1]
    floating = input.is_floating_point()
    values = input if floating else input.to(torch.float)
    if mask is not None:
        values = torch.where(_broadcast(mask, input), values, math.nan)
    result = torch.nanmedian(values, dim, keepdim).values
    if floating:
        return result
    if torch.isnan(result).any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return result.to(dtype or input.dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp(input))) over ``dim`` (an int, several, or all)."""
    filled = _filled("logsumexp", input, mask)
    dims = _dims(dim, input.ndim)
    return torch.logsumexp(filled, dims, keepdim=keepdim).to(dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), each with its mask."""
    filled = _filled("logaddexp", input, input_mask), _filled("logaddexp", other, other_mask)
    return torch.logaddexp(*filled).to(dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of order ``ord`` over ``dim`` (an int, several, or all)."""
    filled = _filled("norm", input, mask, ord)
    dims = _dims(dim, input.ndim)
    dtype = dtype or input.dtype
    return torch.linalg.vector_norm(filled, ord, dims, bool(keepdim), dtype=dtype)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0

    def differentiable(dtype):
        return dtype if dtype.is_floating_point or dtype.is_complex else torch.float32

    dtype = dtype or differentiable(input.dtype)
    computed = differentiable(dtype)
    count = _count(input, dim, True, mask)
    apart = input - sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    squares = apart * apart.conj()
    total = sum(squares, dim, keepdim=keepdim, dtype=computed, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    if correction != 0:
        count = (count.to(computed.to_real()) - float(correction)).clamp(min=0)
    return (total / count).to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance over ``dim``; ``correction`` (1) is taken from the count."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation over ``dim``; ``correction`` (1) is taken from the count."""
    return torch.sqrt(_variance(input, dim, unbiased, correction, keepdim, dtype, mask))


def _normalization(function: str, fill: str, doc: str):
    def call(input, dim, *, dtype=None, mask=None):
        (dim,) = _dims(dim, input.ndim)[:1]
        over = getattr(torch.nn.functional, function)
        return over(_filled(fill, input, mask), dim, dtype=dtype or input.dtype)

    call.__name__ = call.__qualname__ = function
    call.__doc__ = doc
    return call


softmax = _normalization("softmax", "amax", "Shares exp(x) / sum(exp(x)) along ``dim``.")
log_softmax = _normalization("log_softmax", "amax", "Logarithms of softmax along ``dim``.")
softmin = _normalization("softmin", "amin", "softmax of -input along ``dim``.")


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The input divided by its norm along ``dim``, or by ``eps`` where that is greater."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    return _filled("sum", input, mask) / torch.maximum(length, length.new_full([], eps))
