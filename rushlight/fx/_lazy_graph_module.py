"""How graph modules are made: at once."""

from __future__ import annotations

import contextlib

from .graph_module import GraphModule


def _make_graph_module(*args, graph_module_cls=None, **kwargs):
    return (graph_module_cls or GraphModule)(*args, **kwargs)


@contextlib.contextmanager
def _use_lazy_graph_module(should_use: bool):
    yield


def _get_graph_module_cls():
    return GraphModule
