"""Missing gradients of a loss that was computed already: its graph, and the source for the rest."""

from __future__ import annotations

import ast

from rushlight import _C, nn

from .. import graphs, upstream
from ..doctor import places
from ..source import Source
from . import kept
from .reasons import HAS, NONE, ZERO, Group, Reason

READ = "read from source"
_CUTTING = {
    "detach": "detach",
    "data": ".data",
    "item": "item gives a Python number",
    "numpy": "numpy leaves the graph",
    "tolist": "tolist gives Python numbers",
    "argmax": "argmax gives positions, which have no gradient",
    "argmin": "argmin gives positions, which have no gradient",
    "long": "whole numbers have no gradient",
    "int": "whole numbers have no gradient",
}


def groups_from(subject, parameters: list, loss) -> list:
    """Groups as far as a graph and the source tell."""
    reached = {id(v) for v in graphs.leaves(loss)}
    on_the_way = set(graphs.nodes(loss))
    cuts = _cuts(loss)
    made: dict[tuple, Group] = {}

    def put(key, group):
        if key in made:
            made[key].names += group.names
        else:
            made[key] = group

    for name, p in parameters:
        if not p.is_leaf and p.grad_fn in on_the_way:
            reason = Reason("it is a result, not a leaf: .grad is kept for leaves only")
            title = "backward gives it one, and .grad stays None without retain_grad()"
            put(("result", name), Group([name], NONE, title, [reason]))
        elif id(p) in reached:
            zero = p.grad is not None and not bool((p.grad != 0).any())
            title = "its gradient is 0 throughout; give a function for the op that made it so"
            put((zero,), Group([name], ZERO if zero else HAS, title if zero else ""))
        elif not p.requires_grad:
            reason = freezing()
            title = "frozen: requires_grad is False"
            put(("frozen",), Group([name], NONE, title, [reason] if reason else []))
        else:
            reasons = _for_parameter(subject, p, cuts)
            key = ("cut", *((r.file, r.line) for r in reasons))
            title = "the loss does not reach it" + ("" if reasons else "; nothing tells why")
            put(key, Group([name], NONE, title, reasons))
    return list(made.values())


def freezing() -> Reason | None:
    """The line that freezes parameters, as the source has it."""
    for source in _sources():
        found = places.freezing(source)
        if found is not None:
            node, _ = found
            text = source.segment(source.statement_of(node)).split("\n")[0]
            return Reason("freezes parameters", source.file, node.lineno, text, READ)
    return None


def _sources() -> list[Source]:
    """The user's files: those that run now, innermost first, then those that were imported."""
    files = [frame.f_code.co_filename for frame in places.user_frames(1)]
    return upstream.sources_of(files)


def _cuts(loss) -> list[tuple]:
    """(reason, expression, source) of cuts in the statements that the graph's values come from."""
    found, seen = [], set()
    for node in graphs.nodes(loss):
        origins = [_C._origin(node)]
        origins += [_C._origin(t) for _, t in kept.saved(node) if not t.requires_grad]
        for spot in map(upstream.of_place, origins):
            if spot is not None:
                found += _behind(spot.source, spot.statement, seen)
    return found


def _behind(source: Source, statement, seen: set, depth: int = 0) -> list[tuple]:
    """Cuts in a statement, and in those before it that bind the names it reads."""
    if id(statement) in seen or depth > 6:
        return []
    seen.add(id(statement))
    scope = source.function_of(statement)
    found = _in_statement(source, statement)
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            before = source.last_assignment(node.id, statement.lineno, scope)
            if before is not None:
                found += _behind(source, before, seen, depth + 1)
    return found


def _in_statement(source: Source, statement) -> list[tuple]:
    line, found = source.segment(statement).split("\n")[0], []
    if isinstance(statement, (ast.For, ast.While, ast.With, ast.If)):
        return []
    around = places.no_grad_around(source, statement)
    for node in ast.walk(statement):
        name = upstream.called(node) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Attribute) and node.attr == "data":
            name = "data"
        text = _CUTTING.get(name)
        if text is None and isinstance(node, ast.Call) and around is not None:
            text = f"under no_grad of line {around.lineno}"
        if text is not None:
            found.append((Reason(text, source.file, node.lineno, line, READ), node, source))
    return found


def _for_parameter(subject, p, cuts: list[tuple]) -> list:
    """The cuts that name the module of a parameter; else whether that is named at all; else all."""
    owner, attribute = _owner(subject, p)
    if attribute is not None:
        naming = [
            reason
            for reason, node, _ in cuts
            for part in ast.walk(node)
            if isinstance(part, ast.Attribute) and part.attr == attribute
        ]
        if naming:
            return naming[:1]
        found = upstream.class_source(type(owner))
        if found is not None:
            source, cls = found
            uses = [
                n
                for n in ast.walk(cls)
                if isinstance(n, ast.Attribute)
                and n.attr == attribute
                and isinstance(n.ctx, ast.Load)
                and getattr(source.function_of(n), "name", "") != "__init__"
            ]
            if not uses:
                module = getattr(owner, attribute)
                built = _C._built(module) if isinstance(module, nn.Module) else []
                text = f"{attribute} is used nowhere in {cls.name} but where it is made"
                line = built[0][2] if built else cls.lineno
                return [Reason(text, source.file, line, "", READ)]
    lines, kept_ones = set(), []
    for reason, _, _ in cuts:
        if (reason.file, reason.line) not in lines:
            lines.add((reason.file, reason.line))
            kept_ones.append(reason)
    return kept_ones[:3]


def _owner(subject, p):
    """The module of the user's that names the one a parameter is in, and the attribute."""
    if not isinstance(subject, nn.Module):
        return None, None
    for path, module in subject.named_modules():
        if any(q is p for q in module.parameters(recurse=False)):
            parts = path.split(".") if path else []
            while parts:
                outer = subject.get_submodule(".".join(parts[:-1]))
                if not type(outer).__module__.startswith("rushlight"):
                    return outer, parts[-1]
                parts.pop()
    return None, None
