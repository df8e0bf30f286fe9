"""Graphs that live on: losses and outputs kept across steps, graphs that nothing uses."""

from __future__ import annotations

import ast
import collections
import itertools
import sys
import weakref
from typing import ClassVar, NamedTuple

from rushlight import _C

from ... import changes, frames, upstream
from ...finding import Fix
from ...registry import Check, check, kind
from ...source import Source
from .. import places
from ..calls import site_of
from ..places import found

kind(
    "graph-kept-alive",
    "Tensors kept across steps keep the graphs of all steps alive",
    """
A loss or output that requires gradients holds its graph: all nodes back to the parameters and,
before backward, all values saved in them. Added up (total += loss) or kept in a list, the graphs of
all steps stay, and memory grows with every step. After backward the saved values are freed and only
nodes stay; without a backward (validation, say) everything does. Keep loss.item() or
loss.detach(), and a hidden state as h.detach().
""",
)
kind(
    "graph-never-used",
    "Evaluation builds graphs that no backward uses",
    """
A forward pass with gradients on builds a graph and saves values for backward. Where no backward
follows, the memory and the time for it are lost. Evaluate under torch.no_grad() or
torch.inference_mode().
""",
)

MOST = 200_000
LEAST_NODES = 12
LEAST_SAVED = 64 * 1024


@check
class Kept(Check):
    kinds = ("graph-kept-alive",)
    needs: ClassVar = {
        "*": ("call", 3, "fewer than 3 calls of a model"),
    }

    def start(self, doctor):
        self.calls, self.backwards = 0, 0
        self.looks = {}  # by name: what was there at each look
        self.passes = doctor.passes
        watch = doctor.watch
        watch.on("backward_end", self.backward_end, always=True)
        watch.on("call", self.call)

    def backward_end(self, tensor, arguments, error):
        self.backwards += 1
        if self.backwards > 1 and not self.backwards & (self.backwards - 1):
            self.look(places.user_frames(4))

    def call(self, module, output, frame):
        self.calls += 1
        if not self.backwards and self.calls > 4 and not self.calls & (self.calls - 1):
            self.look(places.user_frames(4))

    def stop(self, doctor):
        main = sys.modules.get("__main__")
        if main is not None and self.backwards + self.calls >= 3:
            self.look_at(vars(main))

    def look(self, running):
        rooms = set()
        for frame in running:
            for room in (_C._locals(frame), frame.f_globals):
                if id(room) not in rooms:
                    rooms.add(id(room))
                    self.look_at(room)

    def look_at(self, room):
        for name, value in list(room.items()):
            if name.startswith("__") or isinstance(value, (type(sys), type)):
                continue
            self.weigh(name, value)
            owner = type(value).__module__
            if owner.split(".")[0] in ("rushlight", "torch", "builtins", "numpy", "collections"):
                continue
            try:
                attributes = vars(value)
            except TypeError:
                continue
            for inner, held in list(attributes.items()):
                if inner in ("_parameters", "_buffers", "_modules"):
                    continue
                self.weigh(f"{name}.{inner}", held)
                file = getattr(sys.modules.get(type(held).__module__), "__file__", None) or "<"
                if frames.is_user_path(file):
                    for last, kept in list(getattr(held, "__dict__", {}).items()):
                        if isinstance(kept, (list, dict, _C.TensorBase)):
                            self.weigh(f"{name}.{inner}.{last}", kept)

    def weigh(self, name, value):
        tensors = _kept_in(value)
        if not tensors:
            return
        nodes, saved = _size([t.grad_fn for t in tensors])
        what = "tensor" if isinstance(value, _C.TensorBase) else "container"
        looks = self.looks.setdefault(name, [])
        same = bool(looks) and looks[-1].first() is tensors[0]
        first, summed = weakref.ref(tensors[0]), None
        if what == "container":
            summed = _sum_behind(tensors[-1])
        looks.append(
            Look(
                self.backwards,
                nodes,
                saved,
                len(tensors),
                _place_of(tensors[-1]),
                what,
                first,
                same,
                summed,
            )
        )
        del looks[:-6]

    def findings(self, doctor):
        out, seen = [], set()
        for name, looks in sorted(self.looks.items(), key=lambda kv: "." in kv[0]):
            # Where an error ended the program, the backward that frees them may not have come yet.
            waits = doctor.error is None and _waits(looks[-1])
            if not waits and not (_grows(looks) and (self.backwards or doctor.error is None)):
                continue
            finding = self.finding(name, looks)
            if finding is not None and (finding.file, finding.line) not in seen:
                seen.add((finding.file, finding.line))
                out.append(finding)
        shown = {(r.file, r.line) for f in out for r in f.related}
        return [f for f in out if (f.file, f.line) not in shown]

    def finding(self, name, looks):
        _, nodes, saved, count, origin, what, *_ = looks[-1]
        if origin is None:
            return None
        source, spot = Source.of(origin[0]), upstream.of_place(origin)
        at, fixes, related = (origin[0], origin[2]), [], []
        plain = name.rpartition(".")[2]
        statement = spot.statement if spot is not None else None
        summed = looks[-1].summed
        if summed is not None:
            source, summed = summed
        if summed is not None:
            put = _put_into(source, plain)
            related = [((source.file, put[0].lineno), "kept here")] if put else []
            statement, at = summed, (source.file, summed.lineno)
        if what == "tensor" and not _carries(statement, plain):
            return None
        if isinstance(statement, ast.AugAssign):
            fixes = [_detached(source, statement.value)]
            if saved and self.is_read_only(source, statement):
                torch = changes.torch_name(source)
                edit = changes.within(source, statement, f"with {torch}.no_grad():")
                fixes.insert(0, Fix(f"under {torch}.no_grad(): no backward uses them", [edit]))
        elif what == "tensor" and isinstance(statement, ast.Assign):
            fixes = self.carried(source, statement, plain)
        else:
            where = _put_into(source, plain) if source else None
            if where is not None:
                held, value = where
                related = [(at, "what is kept is made here")]
                at = (source.file, held.lineno)
                fixes = [_detached(source, value)]
        keeps = f"{name} keeps {count} tensors" if what != "tensor" else f"{name} is one tensor"
        evidence = [
            (
                f"{keeps}, and with it {nodes:,}{'+' if nodes >= MOST else ''} graph nodes and "
                f"{_bytes(saved)} of saved values, after {self.backwards} backward calls"
            )
        ]
        if len(looks) > 1 and looks[0].nodes < nodes:
            evidence.append(
                f"at earlier looks: {', '.join(f'{n.nodes:,}' for n in looks[:-1])} nodes"
            )
        return found(
            "graph-kept-alive",
            "memory",
            at,
            f"{name} keeps the graphs of all turns alive",
            evidence,
            related,
            fixes,
        )

    def is_read_only(self, source, statement):
        """Whether the passes of a statement were made for their numbers only."""
        lines = range(statement.lineno, statement.end_lineno + 1)
        return any(
            p.is_evaluation and p.site.file == source.file and p.site.line in lines
            for p in self.passes.places.values()
        )

    def carried(self, source, statement, name):
        """``total = total + loss``: the other operand; a hidden state: the whole."""
        value = statement.value
        if isinstance(value, ast.BinOp):
            sides = [s for s in (value.left, value.right) if not _reads(s, name)]
            if len(sides) == 1:
                return [_detached(source, sides[0])]
        if isinstance(value, ast.IfExp):
            tested = {n.id for n in ast.walk(value.test) if isinstance(n, ast.Name)}
            parts = [
                n
                for branch in (value.body, value.orelse)
                for n in ast.walk(branch)
                if isinstance(n, ast.Name) and n.id not in tested and n.id != name
            ]
            parts = [n for n in parts if not isinstance(n.parent, (ast.Attribute, ast.Call))]
            if len({n.id for n in parts}) == 1:
                changes_ = [(n, f"{n.id}.detach()") for n in parts]
                return [Fix(f"{parts[0].id}.detach()", [source.replace(*changes_)])]
        plain = isinstance(statement.targets[0], (ast.Name, ast.Attribute))
        if isinstance(value, ast.Call) and len(statement.targets) == 1 and plain:
            target = source.segment(statement.targets[0])
            edit = source.insert_after(statement, f"{target} = {target}.detach()")
            return [_detached(source, value), Fix(f"{target}.detach() after it", [edit])]
        return []


def _reads(node, name: str) -> bool:
    """Whether an expression reads a name, or an attribute of that name."""
    return any(frames.last_name(n) == name for n in ast.walk(node))


class Look(NamedTuple):
    """What a name held after so many backward calls."""

    turns: int
    nodes: int
    saved: int
    count: int
    origin: tuple | None
    what: str
    first: weakref.ref
    same: bool
    summed: tuple | None


def _grows(looks) -> bool:
    """A chain that got longer between all looks, or a container that keeps its first tensor."""
    if looks[-1].what == "tensor" and len(looks) > 3:
        # a sum that begins anew at each epoch: three looks in a row within one of them
        return any(_grows(looks[k : k + 3]) for k in range(len(looks) - 2))
    pairs = list(itertools.pairwise(looks))
    last = looks[-1]
    if last.what == "tensor" or (last.summed is not None and last.count == looks[0].count):
        return (
            len(looks) >= 3
            and all(
                b.what == last.what and b.nodes - a.nodes >= max(1, 0.9 * (b.turns - a.turns))
                for a, b in pairs
            )
            and last.nodes - looks[0].nodes >= LEAST_NODES
        )
    if len(looks) < 2 or not last.same or last.count < 5:
        return False
    since = next((k for k in range(len(looks) - 1, 0, -1) if not looks[k].same), 0)
    return last.count - looks[since].count >= 3


def _waits(look) -> bool:
    """Many tensors whose graphs no backward has freed: results of an evaluation."""
    return look.what == "container" and look.count >= 5 and look.saved >= LEAST_SAVED


def _kept_in(value) -> list:
    """Tensors with a graph in a value: itself, or in a list, dict, deque, one level deeper too."""
    if isinstance(value, _C.TensorBase):
        return [value] if value.grad_fn is not None else []
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (list, tuple, collections.deque, set)):
        return []
    tensors = []
    for one in list(value)[-500:]:
        if isinstance(one, _C.TensorBase):
            if one.grad_fn is not None:
                tensors.append(one)
        elif isinstance(one, (tuple, list, dict)):
            inner = one.values() if isinstance(one, dict) else one
            tensors += [
                t
                for t in list(inner)[-500:]
                if isinstance(t, _C.TensorBase) and t.grad_fn is not None
            ]
    return tensors


def _size(roots) -> tuple[int, int]:
    """Nodes and saved bytes of graphs."""
    seen, saved, stack = set(), 0, list(roots)
    while stack and len(seen) < MOST:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        saved += _C._saved_bytes(node)
        stack += [n for n, _ in node.next_functions if n is not None]
    return len(seen), saved


def _place_of(tensor):
    return _C._origin(tensor) or _C._origin(tensor.grad_fn)


def _carries(statement, name) -> bool:
    """Whether a statement computes a name from its own value before."""
    if isinstance(statement, ast.AugAssign):
        return True
    value = getattr(statement, "value", None)
    return value is not None and _reads(value, name)


def _sum_behind(tensor):
    """The ``total += ...`` that a kept tensor was computed from, a few nodes behind it."""
    stack = [(tensor.grad_fn, 0)]
    while stack:
        node, depth = stack.pop()
        spot = upstream.of_place(_C._origin(node))
        statement = spot.statement if spot is not None else None
        if isinstance(statement, ast.AugAssign):
            kept = isinstance(statement.target, (ast.Subscript, ast.Attribute))
            if kept or spot.source.loops_around(statement):
                return spot.source, statement
        if depth < 2:
            stack += [(n, depth + 1) for n, _ in node.next_functions if n is not None]
    return None


def _put_into(source, name):
    """The statement that puts something into a container of that name: (node, what is put)."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner = node.func.value
            while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                inner = inner.func.value  # held.setdefault(key, []).append(...)
            holder = ast.unparse(inner).rpartition(".")[2].split("[")[0]
            adds = node.func.attr in ("append", "appendleft", "add", "extend") and node.args
            if adds and holder == name:
                return node, node.args[0]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            holder = ast.unparse(node.targets[0].value).rpartition(".")[2]
            if holder == name:
                return node, node.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List):
            holder = ast.unparse(node.target).rpartition(".")[2]
            if holder == name and len(node.value.elts) == 1:
                return node, node.value.elts[0]
    return None


def _detached(source, node) -> Fix:
    elements = getattr(node, "values" if isinstance(node, ast.Dict) else "elts", None)
    if elements and isinstance(node, (ast.Tuple, ast.List, ast.Dict)):
        parts = [(e, changes.method(source, e, "detach()")) for e in elements if not _is_plain(e)]
        return Fix("detached", [source.replace(*parts)])
    return source.fix(node, changes.method(source, node, "detach()"))


def _is_plain(node) -> bool:
    """A constant, or a call of item() and its like: no tensor."""
    reads = ("item", "tolist", "float", "int", "len", "detach", "numpy")
    return isinstance(node, ast.Constant) or frames.called(node) in reads


def _bytes(n: int) -> str:
    if n < 1024:
        return f"{n} bytes"
    return f"{n / 1024:,.0f} KiB" if n < 1 << 20 else f"{n / (1 << 20):,.1f} MiB"


@check
class Unused(Check):
    kinds = ("graph-never-used",)

    def start(self, doctor):
        self.sizes = {}
        self.passes = doctor.passes
        doctor.watch.on("call", self.call)

    def call(self, module, output, frame):
        """Weighs the graphs of a place's first passes."""
        if not isinstance(output, _C.TensorBase) or output.grad_fn is None:
            return
        entry = self.sizes.setdefault((site_of(frame), id(module)), [0, 0, 0])
        entry[0] += 1
        if entry[0] <= 4 or not entry[0] & (entry[0] - 1):
            nodes, saved = _size([output.grad_fn])
            entry[1], entry[2] = max(entry[1], nodes), max(entry[2], saved)

    def findings(self, doctor):
        kept = next(c for c in doctor.checks if isinstance(c, Kept))
        if doctor.error is not None and not kept.backwards:
            return []
        told = {f.line for f in kept.findings(doctor)}
        out = []
        for key, place in self.passes.places.items():
            _, nodes, saved = self.sizes.get(key, (0, 0, 0))
            learns = next(place.module.parameters(), None) is not None
            if place.site.line in told or not learns or not place.is_evaluation:
                continue
            if place.unused >= 4 and saved * place.unused >= 1 << 20:
                name = type(place.module).__name__
                out.append(self.finding(place.site, place.unused, nodes, saved, name))
        return out

    def not_checked(self, doctor):
        evaluated = doctor.passes.evaluations
        return [] if evaluated else [("graph-never-used", "no evaluation was seen")]

    def finding(self, site, count, nodes, saved, name):
        evidence = [
            (
                f"{count} passes of {name} led to no backward: {nodes} nodes and "
                f"{_bytes(saved)} of saved values each, {_bytes(saved * count)} in all"
            )
        ]
        fixes, statement = [], site.statement
        if statement is not None:
            torch = changes.torch_name(site.source)
            edit = changes.within(site.source, statement, f"with {torch}.no_grad():")
            fixes.append(Fix(f"under {torch}.no_grad()", [edit]))
        return found(
            "graph-never-used",
            "memory",
            site,
            "an evaluation builds graphs nobody uses",
            evidence,
            [],
            fixes,
        )
