"""The older names of ``torch.library``'s functions."""

from __future__ import annotations

from .library import custom_op, get_ctx, impl, impl_abstract

__all__ = ["custom_op", "get_ctx", "impl", "impl_abstract"]
