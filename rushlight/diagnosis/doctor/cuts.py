"""Edits that move scores and labels of a language model against each other, in the source."""

from __future__ import annotations

import ast

from .. import changes
from ..finding import Edit, Fix
from ..frames import called
from ..source import Source

FLATTENING = ("view", "reshape", "flatten")
TURNING = ("transpose", "permute", "movedim", "swapaxes", "mT")


def ends(axis: int) -> tuple[str, str]:
    """All positions but the last, and all but the first, along a dimension."""
    return ("[:, :-1]", "[:, 1:]") if axis else ("[:-1]", "[1:]")


def base_of(node: ast.expr | None) -> ast.expr | None:
    """What methods, attributes and indices are taken of: ``y`` of ``y[:, 1:].view(-1)``."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def shifted(source: Source, call: ast.Call, shapes, axis: int) -> Fix | None:
    """A loss of whole sequences as one of the scores without the last and the next labels.

    ``shapes`` are those of its two arguments; time is dimension ``axis`` of the tokens.
    """
    if len(call.args) < 2:
        return None
    front, back = ends(axis)
    pairs = []
    for node, shape, cut, is_scores in zip(
        call.args, shapes, (front, back), (True, False), strict=False
    ):
        pair = _cut(source, node, len(shape), cut, is_scores)
        if pair is None:
            return None
        pairs.append(pair)
    return Fix("each position's scores against the next token", [source.replace(*pairs)])


def _cut(source: Source, node: ast.expr, dims: int, cut: str, is_scores: bool):
    """(node, its text) after which an argument of the loss lacks the last or the first position."""
    node = _bound(source, node, FLATTENING + TURNING)
    name = called(node) or getattr(node, "attr", "")
    method = isinstance(getattr(node, "func", node), ast.Attribute)
    inner = node.args[0] if called(node) and not changes.is_tensor_method(source, node) else (
        getattr(node, "func", node).value if method else None
    )  # fmt: skip
    if name == "rearrange" and node.args:
        return node.args[0], changes.atom(source, node.args[0]) + cut
    if name in TURNING and inner is not None:
        return inner, changes.atom(source, inner) + cut
    if name in FLATTENING and called(node) and inner is not None:
        sizes = node.args if changes.is_tensor_method(source, node) else node.args[1:]
        text = changes.atom(source, inner) + cut
        if name == "flatten":
            end = f".flatten({', '.join(changes.arguments(source, node)[-len(sizes) :])})"
            end = end if sizes else ".flatten()"
        elif sizes and ast.unparse(sizes[0]) == "-1":
            end = f".reshape({', '.join(source.segment(s) for s in sizes)})"
        else:
            end = ".flatten(0, 1)" if is_scores else ".flatten()"
        return node, text + end
    if is_scores and dims == 3:
        return node, changes.atom(source, node) + "[..., :-1]"
    return (node, changes.atom(source, node) + cut) if not is_scores and dims == 2 else None


def _bound(source: Source, node: ast.expr, names) -> ast.expr:
    """For a name that the same function binds to a call of one of some names, that call."""
    if not isinstance(node, ast.Name):
        return node
    before = source.last_assignment(node.id, node.lineno, source.function_of(node))
    value = before.value if isinstance(before, ast.Assign) else None
    alone = value is not None and isinstance(before.targets[0], ast.Name)
    return value if alone and called(value) in names else node


def other_slices(source: Source, call: ast.Call, swap: tuple[bool, bool]) -> Fix | None:
    """The cuts of scores and labels turned round where ``swap`` says so: ``:-1`` for ``1:``."""
    pairs = []
    for node, turn in zip(call.args, swap, strict=False):
        cut = _slice_of(source, node) if turn else None
        if turn and cut is None:
            return None
        if cut is not None:
            pairs.append((cut[1], "1:" if cut[1].lower is None else ":-1"))
    return Fix("each position's scores against the next token", [source.replace(*pairs)])


def without_slices(source: Source, call: ast.Call) -> Fix | None:
    """The loss of all positions, for labels that are the next tokens already."""
    pairs = []
    for node in call.args[:2]:
        cut = _slice_of(source, node)
        if cut is None:
            return None
        pairs.append((cut[0], source.segment(cut[0].value)))
    return Fix("all positions: the labels are the next tokens already", [source.replace(*pairs)])


def _slice_of(source: Source, node: ast.expr):
    """(subscript, slice) that takes the first or the last position away, in an argument."""
    for _ in range(3):
        for part in ast.walk(node):
            if isinstance(part, ast.Subscript):
                for cut in getattr(part.slice, "elts", [part.slice]):
                    if isinstance(cut, ast.Slice) and _is_by_one(cut):
                        return part, cut
        base = base_of(node)
        if not isinstance(base, ast.Name):
            return None
        before = source.last_assignment(base.id, base.lineno, source.function_of(base))
        if not isinstance(before, ast.Assign):
            return None
        node = before.value
    return None


def _is_by_one(cut: ast.Slice) -> bool:
    ends = [e and ast.unparse(e) for e in (cut.lower, cut.upper, cut.step)]
    return ends in ([None, "-1", None], ["1", None, None])


def moved_on(source: Source, node: ast.AST) -> Fix | None:
    """``data[i : i + n]`` as ``data[i + 1 : i + n + 1]``, in what labels are made of."""
    for part in ast.walk(node):
        cut = part if isinstance(part, ast.Slice) else None
        if cut is None or cut.step is not None or (cut.lower is None and cut.upper is None):
            continue
        ends = ["1" if cut.lower is None else _plus_one(source, cut.lower)]
        if cut.upper is None:
            return None
        ends.append("" if ast.unparse(cut.upper) == "-1" else _plus_one(source, cut.upper))
        text = ":".join(ends)
        return source.fix(cut, text, f"the tokens that follow: [{text}]")
    return None


def _plus_one(source: Source, node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(node.value + 1)
    return f"{source.segment(node)} + 1"


def pair_of_one(source: Source, parts: list[ast.expr], cuts: tuple[str, str]) -> Fix | None:
    """Twice the same expression, as inputs and as labels: ``ids[:, :-1], ids[:, 1:]``."""
    if ast.unparse(parts[0]) != ast.unparse(parts[1]):
        return None
    texts = [changes.atom(source, part) + cut for part, cut in zip(parts, cuts, strict=True)]
    edit: Edit = source.replace(*zip(parts, texts, strict=True))
    return Fix(", ".join(texts), [edit])
