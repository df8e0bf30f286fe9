"""Context managers that decorate functions, too: what no_grad and its kind are."""

from __future__ import annotations

from rushlight.autograd.grad_mode import _Decorator as _DecoratorContextManager

__all__ = ["_DecoratorContextManager"]
