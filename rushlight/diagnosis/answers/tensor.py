"""What a tensor is: its storage and views, its order in memory, its graph, who holds it."""

from __future__ import annotations

import ast

import rushlight
from rushlight import _C

from .. import changes, graphs, upstream, values
from ..doctor import places
from . import kept
from .answer import Answer
from .names import Names, unnamed_holders

MOST_CHAIN = 6


def of_tensor(tensor, name: str | None, names: Names) -> Answer:
    """The answer for a tensor; ``name`` is the argument as written."""
    name = names.name(tensor) or name or "this tensor"
    facts = _facts(tensor, name, names)
    answer = Answer(_heading(tensor, facts), [], facts)
    for label, text in (
        ("view", _view(tensor, names, facts)),
        ("strides", _strides(tensor, name, facts)),
        ("values", _values(tensor)),
        ("graph", _graph(tensor, names, facts)),
        ("memory", _memory(tensor, names, facts)),
    ):
        if text:
            answer.sections.append((label, text))
    return answer


def _facts(tensor, name: str, names: Names) -> dict:
    storage = tensor.untyped_storage()
    origin = _C._origin(tensor)
    base = tensor._base
    return {
        "name": name,
        "shape": tuple(tensor.shape),
        "dtype": tensor.dtype,
        "device": tensor.device,
        "made": (origin[0], origin[2]) if origin else None,
        "base": names.name(base) if base is not None else None,
        "storage_bytes": storage.nbytes(),
        "seen_bytes": _seen(tensor),
        "is_contiguous": tensor.is_contiguous(),
        "version": tensor._version if not tensor.is_inference() else 0,
        "shares_with": [h.name for h in names.sharing(tensor)],
        "held_by": [],
        "nodes": 0,
        "kept_bytes": 0,
        "kept": [],
    }


def _heading(tensor, facts: dict) -> str:
    parts = [f"{facts['name']}  {values.shape_of(tensor)} {values.dtype_name(tensor.dtype)}"]
    parts[0] += f" {tensor.device}"
    if type(tensor).__name__ != "Tensor":
        parts.append(f"a {type(tensor).__name__}")
    if tensor.requires_grad and tensor.is_leaf:
        parts.append("requires grad")
    made = values.made_at(tensor)
    return ", ".join([*parts, *([f"made at {made}"] if made else [])])


def _seen(tensor) -> int:
    """The bytes of its storage that a tensor can reach, each once."""
    count = tensor.element_size() if tensor.numel() else 0
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= size if stride else 1
    return min(count, tensor.untyped_storage().nbytes())


# ---- Views


def _view(tensor, names: Names, facts: dict) -> str:
    base, shares = tensor._base, facts["shares_with"]
    arrays = [h.name for h in names.arrays_on(tensor)]
    whole, seen = facts["storage_bytes"], facts["seen_bytes"]
    if base is not None:
        held = facts["base"] or "a tensor that has no name"
        steps = _steps(tensor, base, facts["base"])
        text = f"of {held} {values.shape_of(base)}"
        text += f" by {steps}" if steps else ""
        owner, changed = (f"{held}'s", held) if facts["base"] else ("its", "that")
        text += f"; sees {seen:,} of the {whole:,} bytes of {owner} storage; "
        text += f"writing to {_short(facts['name'])} changes {changed}"
    elif seen < whole and tensor.numel():
        text = f"sees {seen:,} of the {whole:,} bytes of its storage"
    elif shares:
        text = "no view; others see its storage"
    else:
        text = ""
    others = [n for n in shares if n != facts["base"] and not n.startswith(f"{facts['name']}.")]
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        text += f"{'; ' if text else ''}same storage: {', '.join(others[:3])}{more}"
    if arrays:
        text += f"{'; ' if text else ''}numpy sees the same memory: {', '.join(arrays[:3])}"
    return text


def _short(name: str) -> str:
    return name if len(name) <= 16 else "it"


def _steps(tensor, base, base_name: str | None) -> str:
    """How a view was made, as written: ``transpose(0, 2), then [1:]``."""
    steps = []
    node = tensor.grad_fn
    stop = base.grad_fn
    while node is not None and node is not stop and len(steps) < 6:
        if not _is_view_node(node):
            break
        spot = upstream.of_place(_C._origin(node))
        step = _step(spot.source, spot.node) if spot is not None else None
        if step is None:
            break
        steps.insert(0, step)
        node = next((n for n, _ in node.next_functions if n is not None), None)
    if not steps:
        spot = upstream.of_tensor(tensor)
        node = spot.node if spot is not None else None
        while node is not None and (step := _step(spot.source, node)) is not None:
            steps.insert(0, step)
            node = node.func.value if isinstance(node, ast.Call) else node.value
            if base_name and spot.source.segment(node) == base_name:
                break
    return ", then ".join(s for s in steps if len(s) <= 40)


_VIEW_NODES = (
    "Slice Select Transpose T Permute View Squeeze Unsqueeze Expand AsStrided Unbind Split "
    "SplitWithSizes Alias Diagonal Unfold Narrow Detach Real Imag ViewAsReal Chunk"
).split()


def _is_view_node(node) -> bool:
    return kept.short(node) in _VIEW_NODES and not kept.saved(node)


def _step(source, node) -> str | None:
    """The last step of an expression: ``[1:]``, ``transpose(0, 2)``, ``T``."""
    if isinstance(node, ast.Subscript):
        return f"[{source.segment(node.slice)}]"
    if isinstance(node, ast.Call) and changes.is_tensor_method(source, node):
        arguments = [source.segment(a) for a in changes.given(node)]
        return f"{node.func.attr}({', '.join(arguments)})"
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "H", "mH", "real", "imag"):
        return node.attr
    return None


# ---- Order in memory


def _strides(tensor, name: str, facts: dict) -> str:
    strides = tuple(tensor.stride())
    text = str(strides) + (f", offset {tensor.storage_offset()}" if tensor.storage_offset() else "")
    if tensor.is_contiguous():
        return f"{text}. Contiguous: row order"
    order = _row_order(tensor.shape)
    text += f". Not contiguous: row order would be {order}."
    repeated = [
        d for d, (n, s) in enumerate(zip(tensor.shape, strides, strict=True)) if s == 0 and n > 1
    ]
    if repeated:
        at = "dimension" if len(repeated) == 1 else "dimensions"
        text += f" Expanded: {at} {', '.join(map(str, repeated))} repeats the same values."
    elif tensor.dim() == 4 and tensor.is_contiguous(memory_format=rushlight.channels_last):
        text += " Channels last: contiguous in that order."
    if not _can_view(tensor):
        name = name if len(name) <= 16 else "t"
        text += f" {name}.view(-1) fails; {name}.reshape(-1) copies {tensor.nbytes:,} bytes"
    return text


def _row_order(shape) -> tuple:
    strides, count = [], 1
    for size in reversed(shape):
        strides.insert(0, count)
        count *= max(size, 1)
    return tuple(strides)


def _can_view(tensor) -> bool:
    """Whether its values lie at equal distances in order, so that view(-1) works."""
    want = None
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride()), strict=True):
        if size == 1:
            continue
        if want is not None and stride != want:
            return False
        want = stride * size
    return True


def _values(tensor) -> str:
    """NaN and infinity, where there are some."""
    if tensor.device.type != "cpu" or not tensor.is_floating_point() or not tensor.numel():
        return ""
    flat = tensor.detach()
    nan, infinite = int(flat.isnan().sum()), int(flat.isinf().sum())
    found = [f"{n:,} {what}" for n, what in ((nan, "NaN"), (infinite, "infinite")) if n]
    return f"{' and '.join(found)} of {flat.numel():,}" if found else ""


# ---- The graph on it


def _graph(tensor, names: Names, facts: dict) -> str:
    if tensor.grad_fn is None:
        return _leaf(tensor, names)
    nodes = list(graphs.nodes(tensor))
    leaves = graphs.leaves(tensor)
    inner = [n for n in nodes if getattr(n, "variable", None) is None]
    facts["nodes"] = len(nodes)
    chain, node = [], tensor.grad_fn
    while node is not None and getattr(node, "variable", None) is None:
        chain.append(node)
        following = [n for n, _ in node.next_functions if n is not None]
        going = [n for n in following if getattr(n, "variable", None) is None]
        node = going[0] if going else None
    shown = [kept.short(n) for n in chain[:MOST_CHAIN]]
    if len(chain) > MOST_CHAIN:
        shown.append("...")
    ends = [names.name(leaf) or values.shape_of(leaf) for leaf in leaves]
    more = f" and {len(ends) - 4} more" if len(ends) > 4 else ""
    if len(inner) == len(chain) and len(ends) <= 4:
        return " <- ".join([*shown, ", ".join(ends) or "nothing that needs a gradient"])
    return (
        f"{' <- '.join(shown)}; {len(inner)} nodes in all, from {len(ends)} "
        f"leaves: {', '.join(ends[:4])}{more}"
    )


def _leaf(tensor, names: Names) -> str:
    if tensor.requires_grad:
        if tensor.grad is None:
            return "a leaf that requires grad; no gradient yet"
        norm = float(tensor.grad.detach().float().norm())
        return f"a leaf that requires grad; its gradient has norm {norm:.3g}"
    reason = _why_none(tensor)
    return f"none: {reason}" if reason else "none: requires_grad is False"


def _why_none(tensor) -> str:
    """What its own line says: no_grad around it, detach or an integer dtype."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return f"{values.dtype_name(tensor.dtype)} has no gradient"
    spot = upstream.of_tensor(tensor)
    if spot is None:
        return ""
    around = places.no_grad_around(spot.source, spot.node)
    if around is not None:
        place = values.line_of(spot.file, around.lineno)
        return f"made under no_grad, {place} (read from source)"
    for node in ast.walk(spot.node):
        name = upstream.called(node) or getattr(node, "attr", "")
        if name in ("detach", "data", "from_numpy", "item"):
            return f"{name} at {values.line_of(spot.file, node.lineno)} (read from source)"
    return ""


# ---- What it keeps, who holds it


def _memory(tensor, names: Names, facts: dict) -> str:
    held = _holders(tensor, names, facts)
    sentences = []
    if tensor.grad_fn is not None:
        sentences.append(_kept(tensor, names, facts))
    else:
        facts["kept_bytes"] = facts["storage_bytes"]
        sentences.append(f"{kept.in_units(facts['storage_bytes'])} of storage")
    sentences.append(f"Held by: {held}" if held else "Held by nothing that has a name")
    version = f"Version {facts['version']}"
    writer = values.place_of(_C._last_writer(tensor)) if facts["version"] else None
    sentences.append(f"{version}, last changed at {writer}" if writer else version)
    return ". ".join(s for s in sentences if s)


def _kept(tensor, names: Names, facts: dict) -> str:
    found = kept.storages(tensor)
    own = tensor.untyped_storage()
    mine = found.pop(own.data_ptr(), None)
    total = own.nbytes() + sum(k.bytes for k in found.values())
    facts["kept_bytes"] = total
    facts["kept"] = [
        {"bytes": k.bytes, "savers": [f"{kept.short(n)}'s {w}" for n, w in k.savers]}
        for k in found.values()
    ]
    named, only = [], []
    for k in found.values():
        where = k.tensor.untyped_storage().data_ptr()
        known = next((h for h in names.tensors if _address(h.value) == where), None)
        (named if known is not None else only).append((k, known))
    base = facts["base"]
    parts = [f"{base + chr(39) + 's' if base else 'its own'} {kept.in_units(own.nbytes())}"]
    if mine is not None:
        parts[0] += f" (also saved by {kept.short(mine.savers[0][0])})"
    if named:
        parts.append(
            _sum(named, f"of what {', '.join(dict.fromkeys(h.name for _, h in named))} holds")
        )
    if only:
        parts.append(_sum(only, "that only the graph holds"))
    if not named and not only:
        freed = kept.freed_at(tensor)
        if freed:
            return (
                f"keeps {parts[0]} and {facts['nodes']} nodes; backward at {freed} freed the rest"
            )
        return f"keeps {parts[0]} alive"
    joined = ", and ".join([", ".join(parts[:-1]), parts[-1]])
    return f"keeps {kept.in_units(total)} alive: {joined}"


def _address(tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _sum(entries: list, what: str) -> str:
    total = sum(k.bytes for k, _ in entries)
    savers = [f"{kept.short(k.savers[0][0])}'s {k.savers[0][1]}".rstrip() for k, _ in entries]
    shown = ", ".join(dict.fromkeys(savers[:3]))
    more = f" and {len(entries) - 3} more" if len(entries) > 3 else ""
    return f"{kept.in_units(total)} {what} ({shown}{more})"


def _saver(root, tensor):
    """The node in a graph that saved a tensor itself."""
    for node in graphs.nodes(root):
        for _, one in kept.saved(node):
            if one is tensor:
                return node
    return None


def _holders(tensor, names: Names, facts: dict) -> str:
    ways = [f"{h.name}, {h.role}" for h in names.of(tensor)]
    ways += unnamed_holders(tensor, names)
    savers = []
    for held in names.tensors:
        if held.value.grad_fn is None or len(savers) >= 2:
            continue
        node = _saver(held.value, tensor)
        if node is not None:
            savers.append(f"the graph of {held.name} ({kept.short(node)})")
    ways += savers
    facts["held_by"] = ways
    more = f"; and {len(ways) - 4} more" if len(ways) > 4 else ""
    return "; ".join(ways[:4]) + more
