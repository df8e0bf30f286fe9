"""ShapeProp: runs a graph and notes shape and dtype of each result."""

from __future__ import annotations

import traceback
from typing import NamedTuple

import rushlight as torch

from .. import traceback as fx_traceback
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its values."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple
    memory_format: torch.memory_format | None
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity: bool = True) -> TensorMetadata:
    layout = None
    if include_contiguity:
        formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
        layout = next((f for f in formats if result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), layout, False, {}
    )


class ShapeProp(Interpreter):
    """Runs a GraphModule; each Node's ``meta`` gets "tensor_meta" and "type".

    Args:
        fake_mode: to be None; for shapes without data, use modules and inputs on ``meta``.
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError(
                "ShapeProp with a fake_mode is not supported: device='meta' computes shapes "
                "without data."
            )
        self.fake_mode = self.fake_module = None
        self.real_module = self.module

    def run_node(self, n):
        """The value of ``n``, noted."""
        try:
            with fx_traceback.set_current_replay_node(n):
                result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        seen = False

        def noted(each):
            nonlocal seen
            if not isinstance(each, torch.Tensor):
                return each
            seen = True
            return _extract_tensor_metadata(each)

        meta = map_aggregate(result, noted)
        if seen:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the graph for ``args``; returns its result."""
        return super().run(*args)
