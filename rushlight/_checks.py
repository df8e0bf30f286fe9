"""Checks of conditions in programs, and numbers that could be symbols (none is)."""

from __future__ import annotations

import math

from . import _C

_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, "
    "please report an enhancement request to PyTorch.)"
)


class SymInt:
    """The type of integers that are symbols in a graph: there are no graphs, and none is made."""

    def __init__(self, node=None):
        raise NotImplementedError(
            "torch.SymInt is not supported: rushlight runs programs as they are; sizes are ints."
        )


class SymFloat(SymInt):
    """The type of floats that are symbols: none is made."""


class SymBool(SymInt):
    """The type of truth values that are symbols: none is made."""


def sym_int(a) -> int:
    """``a`` as an int, rounded towards zero."""
    return math.floor(a) if a >= 0 else math.ceil(a)


def sym_float(a) -> float:
    """``a`` as a float."""
    return float(a)


def sym_not(a) -> bool:
    """The contrary of ``a``."""
    return not a


def sym_ite(b, t, f):
    """``t`` if ``b`` holds, else ``f``."""
    if not isinstance(b, bool) or type(t) is not type(f):
        raise AssertionError("expected a bool and two values of one type")
    return t if b else f


def _of_one_kind(call, a, b):
    kind = float if isinstance(a, float) or isinstance(b, float) else int
    return kind(call(a, b))


def sym_max(a, b):
    """The larger one; a float if one of them is."""
    return _of_one_kind(max, a, b)


def sym_min(a, b):
    """The smaller one; a float if one of them is."""
    return _of_one_kind(min, a, b)


def sym_sum(args):
    """The sum of numbers."""
    return sum(args)


def sym_sqrt(a) -> float:
    """The square root."""
    return math.sqrt(a)


def sym_fresh_size(expr):
    """Raises: there are no symbols."""
    raise NotImplementedError("torch.sym_fresh_size is not supported: sizes are ints here.")


def sym_constrain_range(size, *, min=None, max=None) -> None:
    """Raises RuntimeError where ``size`` is not in the range."""
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


sym_constrain_range_for_size = sym_constrain_range


def _assert(condition, message) -> None:
    """``assert condition, message`` that can be a tensor's."""
    if type(condition) is not _C.Tensor and hasattr(condition, "__torch_function__"):
        from .overrides import handle_torch_function

        handle_torch_function(_assert, (condition,), condition, message)
        return
    assert condition, message


def _assert_async(input, assert_msg=None) -> None:
    """Raises RuntimeError where a tensor of one element is zero."""
    if not bool(input):
        raise RuntimeError(
            "Expected Tensor with single nonzero value, but got zero"
            if assert_msg is None
            else assert_msg
        )


def _check_with(error_type, cond, message) -> None:
    if not isinstance(cond, bool):
        if isinstance(cond, _C.Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use "
                "torch._check_tensor_all() to assert that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(_UNSAID)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond, message=None) -> None:
    """Raises RuntimeError with the text that ``message()`` gives where ``cond`` is false."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None) -> None:
    """As ``_check``, with IndexError."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None) -> None:
    """As ``_check``, with ValueError."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None) -> None:
    """As ``_check``, with TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None) -> None:
    """As ``_check``, with NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None) -> None:
    """As ``_check`` of a size: neither negative nor above ``max``."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error_type, cond, message=None) -> None:
    if not isinstance(cond, _C.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _C.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond, message=None) -> None:
    """As ``_check`` of all elements of a bool tensor."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _shape_as_tensor(self):
    """The sizes of a tensor as one of int64."""
    return _C.tensor(list(self.shape), dtype=_C.int64)


def cond(pred, true_fn, false_fn, operands=()):
    """Calls ``true_fn(*operands)`` where ``pred`` is true, else ``false_fn``."""
    if not isinstance(pred, (bool, int, float, _C.Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, _C.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """Calls ``body_fn`` with its own results, first ``carried_inputs``, while ``cond_fn`` holds."""
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        carried = body_fn(*carried)
        carried = carried if isinstance(carried, tuple) else (carried,)
    return carried
