"""Checks of conditions in programs."""

from __future__ import annotations

from . import _C

_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, "
    "please report an enhancement request to PyTorch.)"
)


def _assert(condition, message) -> None:
    """``assert condition, message`` that can be a tensor's."""
    if type(condition) is not _C.Tensor and hasattr(condition, "__torch_function__"):
        from .overrides import handle_torch_function

        return handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)


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
