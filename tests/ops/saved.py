"""Which tensors the node of each op keeps for backward: one line a node, as recorded from PyTorch.

An in-place change of a kept tensor makes backward raise, so a node must keep no tensor that
PyTorch's does not. tests/golden/saved.txt is text, so that recordings of several ops merge.
"""

from __future__ import annotations

import pathlib
import warnings

from .build import Builder, resolve
from .experiments import tensors_in

FILE = pathlib.Path(__file__).resolve().parent.parent / "golden" / "saved.txt"


def kept(torch, node) -> set[str]:
    """The names under which a node keeps tensors."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    return {n.removeprefix("_saved_") for n in names if tensors_in(torch, getattr(node, n))}


def by_node(torch, rows) -> dict[str, set[str]]:
    """What the outermost nodes of all float32 calls of these rows keep, all inputs needing it."""
    found = {}
    for row in rows:
        if not row.grad or row.seed is not None or "float32" not in row.dtypes:
            continue
        for call in row.calls:
            if not call.serves("float32"):
                continue
            try:
                args, kwargs = Builder(torch, "float32", requires_grad=True).arguments(call)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results = tensors_in(torch, resolve(torch, row.name)(*args, **kwargs))
            except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError):
                continue  # the sweeps see to it
            if results and results[0].grad_fn is not None:
                node = results[0].grad_fn
                found[node.name()] = found.get(node.name(), set()) | kept(torch, node)
    return found


def load() -> dict[str, set[str]]:
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    return {node: set(names) for node, *names in map(str.split, lines)}


def save(table: dict[str, set[str]]) -> None:
    lines = [" ".join([node, *sorted(names)]) for node, names in sorted(table.items())]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
