"""Forward-mode differentiation by dual tensors: values that carry a tangent."""

from __future__ import annotations

import threading
from collections import namedtuple

import rushlight as torch

from .. import _C
from ..func.differentiation import check_tangent

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class _Level(threading.local):
    """The number of this thread's level among the core's, or 0."""

    number = 0


_level = _Level()


def enter_dual_level() -> int:
    """Begins a level of forward mode; its number, which is 0. One at a time."""
    if _level.number:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _level.number = _C._enter_forward(True)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level: dual tensors that live on are plain ones."""
    if not _level.number:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    _level.number = 0
    _C._leave_level()


class dual_level:
    """A block in which :func:`make_dual` and :func:`unpack_dual` work.

    >>> import rushlight as torch
    >>> x, t = torch.tensor(2.0), torch.tensor(1.0)
    >>> with dual_level():
    ...     unpack_dual(make_dual(x, t) ** 3).tangent
    tensor(12.)
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, kind, value, trace):
        exit_dual_level()


UnpackedDualTensor = namedtuple("UnpackedDualTensor", ["primal", "tangent"])
UnpackedDualTensor.__doc__ = "What unpack_dual returns: a value, and its tangent or None."


def make_dual(tensor, tangent, *, level: int | None = None):
    """``tensor`` with a tangent of its shape, for the ops of this level."""
    if not _level.number:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    check_tangent(tensor, tangent)
    below = _C._unwrap(tensor, _level.number)
    if below is not None:
        if below[2] is not None:
            raise RuntimeError(
                "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
                "same level 0 is not supported."
            )
        tensor = below[0]
    return _C._wrap_dual(tensor, tangent, _level.number)


def unpack_dual(tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent (None where there is none) of a dual tensor."""
    if not _level.number or not isinstance(tensor, torch.Tensor):
        return UnpackedDualTensor(tensor, None)
    below = _C._unwrap(tensor, _level.number)
    if below is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(below[0], below[2])
