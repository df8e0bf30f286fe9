"""What a graph keeps alive: saved tensors, each storage once, and who else holds them."""

from __future__ import annotations

from dataclasses import dataclass, field

from rushlight import _C

from .. import graphs


@dataclass
class Kept:
    """One storage that nodes saved: its bytes, and (node, name of what was saved) pairs."""

    tensor: object
    bytes: int
    savers: list[tuple] = field(default_factory=list)


def short(node) -> str:
    """``Relu`` for ReluBackward0."""
    name = node.name().rpartition("::")[2].rstrip("0123456789")
    return name.removesuffix("Backward")


def saved(node) -> list[tuple]:
    """(name, tensor) of what a node keeps; a custom function's are unnamed."""
    found = _C._saved(node)
    if not found and _C._saved_bytes(node):
        try:
            found = [("", t) for t in node.saved_tensors if t is not None]
        except (AttributeError, RuntimeError):
            found = []
    return [(name, t) for name, t in found if not _is_placeholder(t)]


def _is_placeholder(tensor) -> bool:
    """One value that stands for a tensor of which only the sizes matter."""
    return tensor.untyped_storage().nbytes() < min(tensor.nbytes, 16) and tensor.numel() > 1


def storages(*roots) -> dict[int, Kept]:
    """What the graphs of tensors or nodes keep, by storage; weights of leaves are not counted."""
    leaves = {v.untyped_storage().data_ptr() for v in graphs.leaves(*roots)}
    found: dict[int, Kept] = {}
    for node in graphs.nodes(*roots):
        for name, tensor in saved(node):
            storage = tensor.untyped_storage()
            where = storage.data_ptr()
            if not where or where in leaves:
                continue
            kept = found.setdefault(where, Kept(tensor, storage.nbytes()))
            kept.savers.append((node, name))
    return found


def freed_at(*roots) -> str | None:
    """Where a backward freed what the graph had saved."""
    from ..values import place_of

    for node in graphs.nodes(*roots):
        if (at := _C._freed_by(node)) is not None:
            return place_of(at)
    return None


def in_units(count: int) -> str:
    """Bytes as a person reads them, exact below 10 KiB."""
    if count < 10 << 10:
        return f"{count:,} bytes"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:,} bytes"
