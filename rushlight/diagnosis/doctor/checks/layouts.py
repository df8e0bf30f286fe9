"""Shapes and copies: reshape where axes were to be swapped, a table grown by cat in a loop."""

from __future__ import annotations

import ast
from typing import ClassVar

from ... import changes
from ...finding import Edit, Fix
from ...registry import Check, check, kind
from ...unfolded import on_lines_of_their_own
from .. import places
from ..places import found

kind(
    "reshape-scrambles",
    "reshape regroups elements where axes were to be swapped",
    """
view and reshape keep the order of the elements in memory and only draw the borders anew. Asking
for the same sizes in another order therefore does not swap axes: it mixes values of different
rows, channels or heads. The shapes are right, so nothing fails; images look scrambled and
attention mixes positions. Swap axes with permute or transpose; to split heads, view first in the
order in which the values lie, then transpose.
""",
)
kind(
    "cat-in-loop",
    "A table is grown by cat, one piece at a time",
    """
cat makes a new tensor and copies all of its parts. In a loop that appends a piece to what is there
already, everything so far is copied at each turn: the work grows with the square of the number of
pieces. Collect the pieces in a list and call cat once after the loop, or write into a tensor that
has its final size from the start.
""",
)


@check
class Reshape(Check):
    kinds = ("reshape-scrambles",)
    needs: ClassVar = {
        "*": ("op reshape view", 1, "no reshape or view was seen"),
    }

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, ("reshape", "view"))

    def op(self, op):
        if op.name not in ("reshape", "view") or op.site in self.seen or not op.args:
            return
        before, after = tuple(op.args[0].shape), tuple(op.result.shape)
        order = _swapped(before, after) or _heads(before, after)
        if order is not None and op.module is None and not _is_even(op.args[0]):
            self.seen[op.site] = (op.site, op.name, before, after, order)

    def findings(self, doctor):
        return [self.finding(*one) for one in self.seen.values()]

    def finding(self, site, name, before, after, order):
        node, fixes = site.node, []
        tensor = places.operand(site, 0)
        if isinstance(node, ast.Call) and tensor is not None:
            text = site.source.segment(tensor)
            if isinstance(order, tuple):
                new = f"{text}.permute({', '.join(map(str, order))})"
            elif order == "joined":
                new = None
                if places.is_method(site) and node.args:
                    sizes = ", ".join(changes.arguments(site.source, node))
                    new = f"{changes.atom(site.source, tensor)}.transpose(1, 2).reshape({sizes})"
            else:
                sizes = [site.source.segment(a) for a in node.args]
                new = None
                if places.is_method(site) and len(sizes) == 4:
                    new = f"{text}.{name}({sizes[0]}, {sizes[2]}, {sizes[1]}, {sizes[3]})"
                    new += ".transpose(1, 2)"
            if new:
                fixes.append(site.source.fix(node, new))
        evidence = [f"{name} turned {before} into {after}: the same sizes in another order"]
        return found(
            "reshape-scrambles",
            "wrong result",
            site,
            f"{name} does not swap axes, it regroups the values",
            evidence,
            [],
            fixes,
        )


CATS = ("cat", "concat", "concatenate", "vstack", "hstack")


def _swapped(before, after):
    """The order of axes that gives ``after``, where sizes are permuted; None otherwise."""
    if before == after or len(before) != len(after) or sorted(before) != sorted(after):
        return None
    if [n for n in before if n != 1] == [n for n in after if n != 1]:
        return None
    left, order = list(enumerate(before)), []
    for size in after:
        at = next(
            (
                k
                for k, (_, n) in enumerate(left)
                if n == size and (not order or left[k][0] > order[-1])
            ),
            None,
        )
        if at is None:
            at = next(k for k, (_, n) in enumerate(left) if n == size)
        order.append(left.pop(at)[0])
    return tuple(order)


def _heads(before, after):
    """Whether (B, T, H * D) was viewed as (B, H, T, D) at once ("split"), or back ("joined")."""
    for one, other, what in ((before, after, "split"), (after, before, "joined")):
        if len(one) != 3 or len(other) != 4 or one[0] != other[0]:
            continue
        moved = other[2] == one[1] != other[1] and other[1] * other[3] == one[2]
        if moved and min(other[1], one[1]) > 1:
            return what
    return None


def _is_even(tensor) -> bool:
    """Whether all values are equal: regrouping those changes nothing."""
    flat = tensor.detach().reshape(-1)[:4096]
    return flat.numel() == 0 or bool((flat == flat[0]).all())


@check
class Cat(Check):
    kinds = ("cat-in-loop",)
    needs: ClassVar = {
        "*": ("op cat concat concatenate vstack hstack", 50, "fewer than 50 calls of cat"),
    }

    def start(self, doctor):
        self.grown = {}
        self.watch = doctor.watch
        doctor.watch.on("op", self.op, CATS)

    def other(self, op):
        """Counts what else is computed from a table while it grows."""
        if op.name in CATS:
            return
        computed = op.source is not None and hasattr(op.result, "grad_fn")
        if computed and op.source.root.site in self.grown:
            self.grown[op.source.root.site][3] += 1

    def op(self, op):
        parts = op.argument(0, "tensors", ())
        grown = self.grown.setdefault(op.site, [0, 0, 0, 0, 0])
        grown[2] = op.result.nbytes
        for number, part in enumerate(parts):
            made = op.calls.made(part)
            if made is not None and made.site is op.site:
                if not grown[0] and self.other not in self.watch.hearing(""):
                    self.watch.on("op", self.other)
                grown[0] += 1
                grown[1] += part.nbytes
                grown[4] = number
                return

    def findings(self, doctor):
        out = []
        for site, (turns, copied, final, used, place) in self.grown.items():
            if turns >= 50 and copied > 16 * final and copied > 1 << 20 and used * 4 < turns:
                out.append(self.finding(site, turns, copied, final, place))
        return out

    def finding(self, site, turns, copied, final, place):
        evidence = [
            (
                f"{turns + 1} turns copied {copied / 1024:,.0f} KiB again for a result of "
                f"{final / 1024:,.0f} KiB: {copied / max(final, 1):.0f} times"
            )
        ]
        return found(
            "cat-in-loop",
            "time",
            site,
            "each turn copies all that was there before",
            evidence,
            [],
            self.collected(site, place),
        )

    def from_nothing(self, source, statement, call, place):
        """``t = piece if t is None else cat([t, piece])``: the pieces in a list, one cat."""
        loops, target = source.loops_around(statement), statement.targets[0]
        listed = call.args[0] if call.args else None
        pair = isinstance(listed, (ast.List, ast.Tuple)) and len(listed.elts) == 2 and place == 0
        if not loops or not isinstance(target, ast.Name) or not pair:
            return []
        loop, parts = loops[-1], f"{target.id}_parts"
        within = {id(n) for n in ast.walk(statement)}
        for node in ast.walk(loop):
            if isinstance(node, ast.Name) and node.id == target.id and id(node) not in within:
                return []  # it is read while it grows
        whole = changes.with_part(source, call, listed, parts)
        piece = source.segment(listed.elts[1])
        edit = _gathered(source, loop, statement, parts, piece, f"{target.id} = {whole}")
        return [Fix("collect the pieces, cat once", [edit])]

    def collected(self, site, place):
        source, statement = site.source, site.statement
        call = places.call_at(site)
        if not isinstance(statement, ast.Assign):
            return []
        if isinstance(statement.value, ast.IfExp) and call in (
            statement.value.body,
            statement.value.orelse,
        ):
            return self.from_nothing(source, statement, call, place)
        if statement.value is not call:
            return []
        loops = source.loops_around(statement)
        target = statement.targets[0]
        if not loops or not isinstance(target, ast.Name) or not call.args:
            return []
        listed = call.args[0]
        if not isinstance(listed, (ast.List, ast.Tuple)) or len(listed.elts) != 2 or place > 1:
            return []
        loop, name = loops[-1], target.id
        piece = source.segment(listed.elts[1 - place])
        parts = f"{name}_parts"
        rest = source.segment(call)[len(source.segment(call.func)) :]
        a, b = source.segment(listed), f"[{name}, *{parts}]"
        if place == 1:
            b = f"[*reversed({parts}), {name}]"
        whole = source.segment(call.func) + rest.replace(a, b, 1)
        edit = _gathered(source, loop, statement, parts, piece, f"{name} = {whole}")
        return [Fix("collect the pieces, cat once", [edit])]


@on_lines_of_their_own
def _gathered(source, loop, statement, parts: str, piece: str, joined: str):
    """The edit by which a loop's turns append to a list, which a statement after it joins."""
    lines = list(source.lines[loop.lineno - 1 : loop.end_lineno])
    at, end = statement.lineno - loop.lineno, statement.end_lineno - loop.lineno
    lines[at : end + 1] = [source.indented(statement, f"{parts}.append({piece})")]
    lines = [source.indented(loop, f"{parts} = []"), *lines, source.indented(loop, joined)]
    return Edit(source.file, loop.lineno, loop.end_lineno, "\n".join(lines))
