"""Ops that take functions: scans, maps and branches, run as loops of Python."""

from __future__ import annotations

import rushlight as torch

from . import _absent
from .utils import _pytree as pytree

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]

_refused = _absent.names("_higher_order_ops")


def _positions(leaves, dim: int, reverse: bool):
    if not leaves:
        raise ValueError("Expected at least one tensor leaf in xs")
    length = leaves[0].shape[dim]
    if any(leaf.shape[dim] != length for leaf in leaves):
        raise ValueError(f"All xs leaves must have the same size in dimension {dim}")
    return range(length - 1, -1, -1) if reverse else range(length)


def _stacked(rows, dim: int, reverse: bool):
    """Trees of slices, one per position, put together along ``dim``."""
    rows = rows[::-1] if reverse else rows
    columns = zip(*(pytree.tree_leaves(row) for row in rows))
    whole = [torch.stack(column, dim) for column in columns]
    return pytree.tree_unflatten(whole, pytree.tree_structure(rows[0]))


def _slice(xs, dim: int, i: int):
    return pytree.tree_map(lambda leaf: leaf.select(dim, i), xs)


def associative_scan(combine_fn, xs, dim: int, reverse: bool = False, combine_mode="pointwise"):
    """All prefixes of ``xs`` along ``dim``, combined by ``combine_fn`` from left to right."""
    so_far, rows = None, []
    for i in _positions(pytree.tree_leaves(xs), dim, reverse):
        item = _slice(xs, dim, i)
        so_far = item if so_far is None else combine_fn(so_far, item)
        rows.append(so_far)
    return _stacked(rows, dim, reverse) if rows else xs


def scan(combine_fn, init, xs, *, dim: int = 0, reverse: bool = False):
    """``carry, y = combine_fn(carry, x)`` over ``dim``; returns the last carry, and all y."""
    carry, rows = init, []
    for i in _positions(pytree.tree_leaves(xs), dim, reverse):
        carry, y = combine_fn(carry, _slice(xs, dim, i))
        rows.append(y)
    return carry, _stacked(rows, dim, reverse)


def map(f, xs, *args):
    """``f(x, *args)`` of every ``x`` along the first dimension of ``xs``, stacked."""
    count = _positions(pytree.tree_leaves(xs), 0, False)
    return _stacked([f(_slice(xs, 0, i), *args) for i in count], 0, False)


def cond(pred, true_fn, false_fn, operands=()):
    """Calls ``true_fn(*operands)`` where ``pred`` is true, else ``false_fn``."""
    if not isinstance(pred, (bool, int, float, torch.Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """Calls ``body_fn`` with its own results, first ``carried_inputs``, while ``cond_fn`` holds."""
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        carried = body_fn(*carried)
        carried = carried if isinstance(carried, tuple) else (carried,)
    return carried


__path__: list = []  # a module per op
for _name, _op in [("associative_scan", associative_scan), ("scan", scan), ("map", map),
                   ("cond", cond), ("while_loop", while_loop)]:  # fmt: skip
    _absent.submodule(f"_higher_order_ops.{_name}", **{_name: _op})
    globals()[_name] = _op


def __getattr__(name: str):
    return _refused(name)
