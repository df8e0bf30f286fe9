"""Norms of gradients, logged while backward runs."""

from __future__ import annotations

import logging

from rushlight.autograd.graph import register_multi_grad_hook

__all__ = ["debug_grad_log"]

log = logging.getLogger("torch.utils.debug_log")


def debug_grad_log(*tensors) -> None:
    """Log the norms of the gradients of those tensors that require grad, once all are there."""
    tracked = [t for t in tensors if t.requires_grad]
    if not tracked:
        return

    def told(grads):
        norms = " ".join(f"t{i}_grad_norm={g.norm().item():.4f}" for i, g in enumerate(grads)
                         if g is not None)
        log.info("[rank 0][bwd] %s", norms)

    register_multi_grad_hook(tracked, told)
