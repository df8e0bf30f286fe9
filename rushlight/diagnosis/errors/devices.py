"""Errors about devices: one that this machine lacks, and what was left behind on another."""

from __future__ import annotations

import ast

from rushlight import nn

from .. import changes, construction, upstream, values
from ..finding import Edit, Fix
from ..registry import explains, kind
from . import Raised

kind(
    "device-missing",
    "The script names a device that this machine does not have",
    """
"cuda" or "mps" is written into the script, and the machine or the build has none. Ask at run time
and fall back: torch.device("cuda" if torch.cuda.is_available() else "cpu"), once, at the top; use
that variable everywhere else.
""",
)
kind(
    "tensor-left-behind",
    "A tensor stayed on its device when the module moved",
    """
module.to(device) moves parameters and buffers of the module and of its submodules. A tensor that
is a plain attribute is neither, nor is a layer in a plain list or dict, and a tensor made inside
forward without device= is made on the CPU. Register constants with self.register_buffer("name",
tensor): they then move along and are saved in the state_dict. Keep layers in nn.ModuleList, and
make tensors in forward on their input's device (`torch.zeros(n, device=x.device)`).
""",
)
kind(
    "meta-values",
    "A meta tensor has no values to be read",
    """
Tensors on the meta device have a shape and a dtype and no memory. They cannot be read, printed as
numbers or copied to another device. A module built on meta gets memory by
module.to_empty(device=...) and its values from load_state_dict or from its own reset_parameters().
""",
)


kind(
    "loaded-onto-meta",
    "Weights were loaded into a module without memory",
    """
A module built under torch.device("meta") has shapes and no values. load_state_dict copies into the
parameters that are there, and a copy into a meta tensor does nothing (a warning says so). Take the
loaded tensors themselves, load_state_dict(state, assign=True), or give the module memory first:
module.to_empty(device="cpu").
""",
)


@explains(
    (RuntimeError, NotImplementedError),
    r"meta",
)
def on_meta(raised: Raised):
    """A load_state_dict whose module is on meta still."""
    modules = raised.modules()
    own = list(modules[0].named_parameters()) if modules else []
    empty = [name for name, p in own if p.device.type == "meta"]
    loads = [
        s
        for s in upstream.calls(upstream.user_sources(raised), "load_state_dict")
        if changes.keyword(s.node, "assign") is None
    ]
    if not empty or len(loads) != 1:
        return None
    at, spot = raised.innermost, loads[0]
    text = changes.with_keyword(spot.source, spot.node, "assign", "True")
    return raised.finding(
        "loaded-onto-meta",
        f"load_state_dict copied into meta tensors: {len(empty)} of {len(own)} have no values",
        spot.place,
        evidence=[f"{len(empty)} of {len(own)} parameters are on meta: {', '.join(empty[:3])}"],
        related=at.related("the call that needs values"),
        fixes=[spot.fix(text, f"{text}: takes the loaded tensors")],
    )


@explains(
    (AssertionError, RuntimeError, NotImplementedError),
    r"Torch not compiled with (CUDA|XPU|MPS)|Cannot access accelerator device"
    r"|No CUDA GPUs|[Ff]ound no NVIDIA driver"
    r"|not linked with support for (\w+) devices|Could not run .* with arguments from the",
)
def missing(raised: Raised):
    """Where the device's name was written down."""
    at = raised.innermost
    written = _written(raised)
    if written is None:
        return None
    source, node, line = written
    torch = changes.torch_name(source)
    title = "the script wants a device that is not there"
    if isinstance(node, ast.Call):  # x.cuda()
        text = f"{changes.atom(source, node.func.value)}"
        name = "cuda"
        choice = f'"{name}" if {torch}.{name}.is_available() else "cpu"'
        fixes = [
            source.fix(node, f"{text}.to({choice})"),
            source.fix(node, text, f"without .{name}()"),
        ]
        evidence = [f"{source.segment(node)}: {torch}.{name}.is_available() is False here"]
    else:
        name = node.value.split(":")[0]
        available = f"{torch}.backends.mps" if name == "mps" else f"{torch}.{name}"
        quoted = source.segment(node)
        choice = f'{quoted} if {available}.is_available() else "cpu"'
        fixes = [
            Fix(choice, [_with_import(source, node, source.replace((node, _safe(node, choice))))])
        ]
        evidence = [f"{quoted} is written here; {available}.is_available() is False"]
    return raised.finding(
        "device-missing",
        title,
        (source.file, line),
        evidence=evidence,
        related=at.related("the call that needed it"),
        fixes=fixes,
    )


def _with_import(source, node, edit):
    """The edit, with the import that it needs where the file has none."""
    if source.function_of(node) is not None or source.class_of(node) is not None:
        return edit
    names = [a.name for n in ast.walk(source.tree) if isinstance(n, ast.Import) for a in n.names]
    if "torch" in names or "rushlight" in names:
        return edit
    return Edit(edit.file, edit.line, edit.end_line, f"import torch\n\n{edit.text}")


_DEVICES = ("cuda", "mps", "xpu")


def _safe(node: ast.AST, text: str) -> str:
    """A conditional expression, in parentheses where its neighbours bind tighter."""
    parent = getattr(node, "parent", None)
    free = isinstance(parent, (ast.Assign, ast.Call, ast.keyword, ast.Return, ast.AnnAssign))
    return text if free else f"({text})"


def _is_device(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.split(":")[0] in _DEVICES
    )


def _written(raised: Raised):
    """The literal, reached by names from the failing call; else the first in the user's files."""
    for at in reversed(raised.frames):
        if at.source is None or at.node is None:
            continue
        seen, todo = set(), [(at.source, at.node, at)]
        while todo:
            source, node, frame = todo.pop(0)
            if id(node) in seen or len(seen) > 50:
                continue
            seen.add(id(node))
            for part in ast.walk(node):
                if _is_device(part) and not _is_tested(part):
                    return source, part, part.lineno
                if upstream.called(part) == "cuda" and isinstance(part.func, ast.Attribute):
                    return source, part, part.lineno
                if isinstance(part, (ast.Name, ast.Attribute)) and frame is not None:
                    spot = upstream.bound(raised, frame, part)
                    if spot is not None:
                        todo.append((spot.source, spot.node, spot.at))
    for source in upstream.user_sources(raised):
        for node in ast.walk(source.tree):
            if _is_device(node) and not _is_tested(node):
                return source, node, node.lineno
    return None


def _is_tested(node: ast.AST) -> bool:
    """Whether a literal already stands in a choice made at run time, or in a comparison."""
    parent = getattr(node, "parent", None)
    return isinstance(parent, (ast.IfExp, ast.Compare))


@explains(
    RuntimeError,
    r"is not on the expected device|Expected all tensors to be on the same device"
    r"|should be the same( on)? device",
)
def left_behind(raised: Raised):
    """The operand that is on another device: a plain attribute, a list's layer, a new tensor."""
    at = raised.innermost
    if at.source is None or at.node is None:
        return None
    attribute = _attribute(raised, at)
    if attribute is not None:
        return attribute
    return _in_plain_list(raised, at) or _made_here(raised, at)


@explains(
    (NotImplementedError, RuntimeError),
    r"Cannot copy out of meta tensor|cannot be called on meta tensors",
)
def no_values(raised: Raised):
    """module.to(device) of a module on meta, a tensor's values asked there."""
    at = raised.innermost
    node = at.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    held, fixes = upstream.value(at, node.func.value), []
    name = at.source.segment(node.func.value)
    evidence = [f"{name} is {values.describe(held)}"]
    if isinstance(held, nn.Module) and node.func.attr == "to" and node.args:
        count = sum(p.device.type == "meta" for p in held.parameters())
        evidence.append(f"{count} parameters of it are on meta and have no values")
        text = f"{name}.to_empty(device={at.source.segment(node.args[0])})"
        fixes.append(at.source.fix(node, text, f"{text}: memory, not yet values"))
    return raised.finding(
        "meta-values", f"{name} is on meta: there are no values", evidence=evidence, fixes=fixes
    )


def _reads(at):
    """Names and attributes in the failing statement, each with its value."""
    for node in ast.walk(at.statement or at.node):
        if isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Load):
            value = at.value(node, None)
            if values.is_tensor(value):
                yield node, value


def _behind(at, known):
    """What local tensors of the statement were computed from, a line or more before."""
    function = at.source.function_of(at.node)
    for _, tensor in known:
        spot = upstream.of_tensor(tensor)
        if spot is None or spot.file != at.file:
            continue
        if function is None or spot.source.function_of(spot.node) is not function:
            continue
        for node in ast.walk(spot.node):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                value = at.value(node, None)
                if values.is_tensor(value) and value.device == tensor.device:
                    yield node, value


def _attribute(raised: Raised, at):
    known = list(_reads(at))
    known += list(_behind(at, known))
    devices = {v.device.type for _, v in known} | {
        p.device.type for m in raised.modules() for p in m.parameters()
    }
    if len(devices) < 2:
        return None
    for node, tensor in known:
        if not isinstance(node, ast.Attribute):
            continue
        holder = at.value(node.value, None)
        if not isinstance(holder, nn.Module) or node.attr not in vars(holder):
            continue
        spot = upstream.attribute_of(holder, node.attr)
        if spot is None:
            continue
        name, text = at.source.segment(node), spot.source.segment(spot.node)
        target = _target(spot.statement, node.attr)
        fixes = []
        if target is not None and isinstance(spot.statement, ast.Assign):
            new = f'{target}.register_buffer("{node.attr}", {text})'
            fixes.append(spot.source.fix(spot.statement, new))
        other = next((n for n, v in known if v.device != tensor.device), None)
        if other is not None:
            moved = f"{name}.to({at.source.segment(other)}.device)"
            edit = at.source.replace((node, moved))
            fixes.append(Fix(f"{moved}: one copy at each call", [edit]))
        moved_to = next(iter(devices - {tensor.device.type}))
        evidence = values.table(
            [
                (name, f"{values.shape_of(tensor)} on {tensor.device}", "a plain attribute, so"),
                ("", "", f'.to("{moved_to}") did not move it'),
            ]
        )
        return raised.finding(
            "tensor-left-behind",
            f"{name} is no buffer: it stays on {tensor.device} when the module moves",
            spot.place,
            evidence=evidence,
            related=at.related("the operation that failed"),
            fixes=fixes,
        )
    return None


def _target(statement: ast.stmt, name: str) -> str | None:
    targets = getattr(statement, "targets", [])
    if len(targets) == 1 and isinstance(targets[0], ast.Attribute) and targets[0].attr == name:
        return ast.unparse(targets[0].value)
    return None


def _in_plain_list(raised: Raised, at):
    """A layer that its module does not know of, because a list or dict holds it."""
    called = [m for m in raised.modules() if next(m.parameters(), None) is not None]
    for inner in reversed(called):
        for outer in raised.modules():
            for name, held in vars(outer).items():
                items = held.values() if isinstance(held, dict) else held
                if name.startswith("_") or not isinstance(held, (list, tuple, dict)):
                    continue
                if not any(item is inner for item in items):
                    continue
                spot = upstream.attribute_of(outer, name)
                if spot is None:
                    return None
                holder = "ModuleDict" if isinstance(held, dict) else "ModuleList"
                text = f"{changes.prefix_for(spot.source, 'nn')}.{holder}({spot.text})"
                return raised.finding(
                    "tensor-left-behind",
                    f"self.{name} is a plain {type(held).__name__}: its layers do not move",
                    spot.place,
                    evidence=[f"{len(held)} modules in it are not among the module's own"],
                    related=at.related("the call that failed"),
                    fixes=[spot.fix(text)],
                )
    return None


def _known_at(at, spot, other, target, name: str) -> str:
    """``x.device`` of a tensor that has its name already where another one is made."""
    function = at.source.function_of(at.node)
    if not isinstance(other, ast.Name) or function is None:
        return name
    parameters = construction.parameters(function)
    before = at.source.last_assignment(other.id, spot.line, function)
    if other.id in parameters or before is not None:
        return name
    for one in parameters:
        held = at.names.get(one)
        if values.is_tensor(held) and held.device == target:
            return f"{one}.device"
    return name


def _result_dropped(at, node):
    """``x.to(device)`` on a line of its own: the call, or None."""
    name = ast.unparse(node)
    for part in ast.walk(at.source.function_of(at.node) or at.source.tree):
        moves = isinstance(part, ast.Expr) and upstream.called(part.value) in ("to", "cuda")
        moved = getattr(part.value.func, "value", None) if moves else None
        if moved is not None and ast.unparse(moved) == name and part.lineno < at.line:
            return part
    return None


def _not_assigned(raised: Raised, at, node, statement, evidence, target):
    name = at.source.segment(node)
    text = f"{name} = {at.source.segment(statement.value)}"
    return raised.finding(
        "tensor-left-behind",
        f"{name} stays where it was: to() gives a new tensor",
        (at.file, statement.lineno),
        evidence=[*evidence, f"the copy on {target} that line {statement.lineno} made was dropped"],
        related=at.related("the operation that failed"),
        fixes=[at.source.fix(statement, text)],
    )


def _made_here(raised: Raised, at):
    """A tensor made without device= beside one that lives elsewhere."""
    known = upstream.tensors(at) or list(_reads(at))
    parameters = [p for m in raised.modules()[-1:] for p in m.parameters(recurse=False)]
    devices = [v.device for _, v in known] + [p.device for p in parameters]
    if len(set(devices)) < 2:
        return None
    at_home = [(n, v) for n, v in known if v.device.type == "cpu"]
    if not at_home:
        return None
    node, tensor = at_home[0]
    target = next(d for d in devices if d.type != "cpu")
    other = next((n for n, v in known if v.device == target), None)
    name = f"{at.source.segment(other)}.device" if other is not None else f'"{target}"'
    evidence = [
        f"{at.source.segment(n)}  {values.describe(v)} on {v.device}  {values.made_at(v) or ''}"
        for n, v in known
    ]
    spot = upstream.of_tensor(tensor)
    unused = _result_dropped(at, node)
    if unused is not None:
        return _not_assigned(raised, at, node, unused, evidence, target)
    fixes, place = [], at
    makes = {"tensor", "zeros", "ones", "full", "arange", "randn", "rand", "eye", "linspace"}
    if spot is not None and upstream.called(spot.node) in makes:
        place = spot.place
        function = at.source.function_of(at.node)
        if spot.file == at.file and spot.source.function_of(spot.node) is function:
            name = _known_at(at, spot, other, target, name)
            text = changes.with_keyword(spot.source, spot.node, "device", name)
        else:
            text = changes.with_keyword(spot.source, spot.node, "device", f'"{target}"')
        fixes.append(spot.fix(text))
    moved = changes.method(at.source, node, f"to({name})")
    fixes.append(at.source.fix(node, moved))
    return raised.finding(
        "tensor-left-behind",
        f"{at.source.segment(node)} is on cpu, the others on {target}",
        place,
        evidence=evidence,
        related=at.related("the operation that failed"),
        fixes=fixes,
    )
