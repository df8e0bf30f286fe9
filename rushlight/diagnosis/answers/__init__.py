"""Answers about live objects: what a tensor is, why there is no gradient, what the graph holds."""

from __future__ import annotations

from .drawing import graph
from .nograd import why_no_grad
from .subject import explain

__all__ = ["explain", "graph", "why_no_grad"]
