"""Images that are turned at random while their maps of labels stay as they are."""

from __future__ import annotations

import ast

import rushlight
from rushlight import _C

from ...finding import Fix
from ...registry import Check, check, kind
from .. import places
from ..calls import site_of
from ..places import found

kind(
    "labels-not-turned",
    "An image is flipped or rotated, and its map of labels is not",
    """
A mask says of each pixel what it is. Flipped at random without its mask, half of the images carry
the labels of their mirror image, and the model learns a blur of both. Turn the mask with the image,
by the same draw.
""",
)

TURNS = ("flip", "fliplr", "flipud", "rot90", "roll")
LEAST_TURNED = 3


class _Turn:
    """Turns at one place within ``__getitem__``: how many, of how many samples, beside what map."""

    def __init__(self, op, item, name, shape):
        self.op, self.item, self.name, self.shape = op, item, name, shape
        self.count = 0


@check
class Augmented(Check):
    kinds = ("labels-not-turned",)

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, TURNS)

    def op(self, op):
        known = self.seen.get(op.site, self)
        if known is self:
            known = self.seen[op.site] = _turn(op)
        if known is not None:
            known.count += 1

    def findings(self, doctor):
        return [
            self.finding(site, one)
            for site, one in self.seen.items()
            if one is not None and one.count >= LEAST_TURNED
        ]

    def finding(self, site, one):
        source, statement = site.source, site.statement
        evidence = [
            (
                f"{one.count} images were turned here; {one.name} {one.shape}, the map of whole "
                "numbers beside it, was turned 0 times"
            )
        ]
        text = f"the same turn of {one.name}"
        fixes = [Fix(text)]
        node = places.operand(site, 0)
        is_own = isinstance(node, ast.Name) and isinstance(statement, ast.Assign)
        is_own = is_own and ast.unparse(statement.targets[0]) == node.id
        if is_own and source.function_of(statement) is one.item and _is_from_end(site.node):
            value = source.segment(statement.value).replace(node.id, one.name, 1)
            line = f"{one.name} = {value}"
            fixes = [Fix(line, [source.insert_after(statement, line)])]
        return found(
            "labels-not-turned", "wrong result", site,
            f"the image is turned, and {one.name} is not", evidence, [], fixes,
        )  # fmt: skip


def _is_from_end(call) -> bool:
    """Whether a turn names its dimensions from the end, so that it is the same without channels."""
    numbers = [n for n in ast.walk(call) if isinstance(n, ast.Constant)]
    negative = [n for n in ast.walk(call) if isinstance(n, ast.UnaryOp)]
    return bool(negative) and len(negative) == len(numbers)


def _turn(op) -> _Turn | None:
    """A turn of floats in ``__getitem__``, made of some samples only, that returns whole numbers of
    the same height and width as well, which nothing there turns.
    """
    image = op.args[0] if op.args else None
    if not isinstance(image, _C.TensorBase) or image.dim() < 2 or not image.is_floating_point():
        return None
    dims = op.args[1] if len(op.args) > 1 else op.kwargs.get("dims", ())
    dims = dims if isinstance(dims, (list, tuple)) else (dims,)
    if op.name == "flip" and any(d % image.dim() < image.dim() - 2 for d in dims):
        return None  # of the channels
    sites = []
    for frame in places.user_frames():
        sites.append(site_of(frame))
        if frame.f_code.co_name == "__getitem__":
            break
    else:
        return None
    if not any(s.statement is not None and _is_in_some(s) for s in sites):
        return None
    item = sites[-1]
    function = item.source.function_of(item.statement) if item.statement is not None else None
    returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value] \
        if function is not None else []  # fmt: skip
    names = {n.id for value in returned for n in ast.walk(value) if isinstance(n, ast.Name)}
    for name, value in frame.f_locals.items():
        if name in names and _is_map(value, image) and not _is_turned(function, name):
            return _Turn(op, function, name, tuple(value.shape))
    return None


def _is_in_some(site) -> bool:
    """Whether a place is reached for some samples only: an ``if`` stands around it."""
    return any(
        isinstance(n, (ast.If, ast.IfExp)) for n in places.around(site.node or site.statement)
    )


def _is_map(value, image) -> bool:
    whole = (rushlight.int64, rushlight.int32, rushlight.uint8, rushlight.bool)
    same = isinstance(value, _C.TensorBase) and value.shape[-2:] == image.shape[-2:]
    return same and value.dtype in whole


def _is_turned(function, name: str) -> bool:
    """Whether a function turns what a name stands for, or hands it to another function."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            inside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            if name in inside:
                return True
    return False
