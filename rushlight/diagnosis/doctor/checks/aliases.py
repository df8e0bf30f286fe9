"""Two names for one tensor or model: snapshots that move along, lists of one tensor, arguments."""

from __future__ import annotations

import ast
import sys
import weakref
from typing import ClassVar

from rushlight import _C, nn

from ... import changes, frames
from ...finding import Fix
from ...frames import called
from ...registry import Check, check, kind
from ...source import Source, first_of
from ...values import address_of
from .. import places
from ..calls import is_user
from ..places import found

kind(
    "compared-with-itself",
    "A tensor is compared with itself under another name",
    """
before = model.weight (or .data, .detach(), state_dict()["weight"]) is the same memory, not a copy:
after the step both names show the new values, and every comparison says that nothing changed. Take
a copy: model.weight.detach().clone().
""",
)
kind(
    "tensor-repeated",
    "A list holds one tensor several times, and it is written to",
    """
[torch.zeros(3)] * n is a list that holds the same tensor n times: what is written into one entry is
written into all. Make each: [torch.zeros(3) for _ in range(n)].
""",
)
kind(
    "argument-changed-in-place",
    "A function changes its argument in place, and the caller goes on using it",
    """
x -= x.mean() writes into the tensor that was passed, and so does an in-place change of a view of it
(view, reshape, a slice, flatten): the caller's tensor is another one afterwards. Compute a new
tensor (x = x - x.mean()), or clone first. A function that is meant to work in place ends its name
with an underscore.
""",
)

COMPARING = ("equal", "allclose", "isclose", "eq", "ne", "sub", "dist", "__eq__", "__ne__",
             "assert_close")  # fmt: skip
WRITING = (
    "add_ sub_ mul_ div_ fill_ zero_ clamp_ relu_ masked_fill_ copy_ pow_ exp_ sqrt_ neg_ abs_ "
    "normal_ uniform_ __iadd__ __isub__ __imul__ __itruediv__ __setitem__ index_fill_ clip_"
).split()


@check
class Itself(Check):
    kinds = ("compared-with-itself",)

    def start(self, doctor):
        self.seen, self.steps = {}, 0
        doctor.watch.on("op", self.op, COMPARING)
        doctor.watch.on("stepped", self.stepped)

    def stepped(self, optimizer):
        self.steps += 1

    def op(self, op):
        if not self.steps or len(op.args) < 2 or op.site in self.seen:
            return
        a, b = op.args[:2]
        if not isinstance(a, _C.TensorBase) or not isinstance(b, _C.TensorBase):
            return
        if a.device.type != "cpu" or not a.numel() or a.shape != b.shape:
            return
        if not (isinstance(a, nn.Parameter) or isinstance(b, nn.Parameter)):
            return
        if a.data_ptr() == b.data_ptr():
            self.seen[op.site] = (op.name, tuple(a.shape), self.steps)

    def findings(self, doctor):
        return [self.finding(s, *one) for s, one in self.seen.items()]

    def finding(self, site, name, shape, steps):
        if not places.is_of(site, *COMPARING):  # x == x within a library tells whether it is NaN
            return None
        nodes = [places.operand(site, n) for n in (0, 1)]
        if None in nodes or ast.unparse(nodes[0]) == ast.unparse(nodes[1]):
            return None
        source = site.source
        for node in nodes:
            if not isinstance(node, ast.Name):
                continue
            scopes = (source.function_of(node), None)
            made = [source.last_assignment(node.id, site.line, s) for s in scopes]
            made = next((m for m in made if isinstance(m, ast.Assign)), None)
            if made is None:
                continue
            text = source.segment(made.value)
            quiet = text.endswith((".data", ".detach()"))
            new = f"{text}.clone()" if quiet else f"{text}.detach().clone()"
            return found(
                "compared-with-itself", "wrong result", (source.file, made.lineno),
                f"{node.id} is no copy: it shows the new values, too",
                [f"{steps} steps later {name} of {shape} met the same memory on both sides"],
                [(site, "compared here")], [source.fix(made.value, new)],
            )  # fmt: skip
        return None


@check
class Repeated(Check):
    kinds = ("tensor-repeated",)

    def start(self, doctor):
        self.seen = {}
        doctor.watch.on("op", self.op, WRITING)

    def op(self, op):
        if op.site.count not in (1, 3, 10) or not op.args:
            return
        given = op.args[0]
        mine = vars(owner) if hasattr(owner := _C._locals(op.frame).get("self"), "__dict__") else {}
        for room in (_C._locals(op.frame), mine, op.frame.f_globals):
            for name, held in list(room.items()):
                if isinstance(held, list) and sum(t is given for t in held) > 1:
                    self.seen.setdefault(name, (op.site, len(held), op.name))

    def findings(self, doctor):
        return [self.finding(n, *one) for n, one in self.seen.items()]

    def finding(self, name, site, count, op):
        source = site.source
        scopes = (source.function_of(site.node) if site.node is not None else None, None)
        made = [source.last_assignment(name, 1 << 30, s) for s in scopes]
        made = next((m for m in made if m is not None), None)
        for node in ast.walk(made) if made is not None else ():
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
                continue
            left = isinstance(node.left, ast.List)
            listed, many = (node.left, node.right) if left else (node.right, node.left)
            if not isinstance(listed, ast.List) or len(listed.elts) != 1:
                continue
            new = f"[{source.segment(listed.elts[0])} for _ in range({source.segment(many)})]"
            return found(
                "tensor-repeated", "wrong result", (source.file, node.lineno),
                f"the {count} entries of {name} are one tensor",
                [f"{op} at line {site.line} wrote into all {count} entries at once"],
                [(site, "written here")], [source.fix(node, new)],
            )  # fmt: skip
        return self.appended(name, site, count, op)

    def appended(self, name, site, count, op):
        """``states.append(state)`` of a tensor that goes on changing in place."""
        source = site.source
        for node in ast.walk(source.tree):
            held = frames.receiver(node) if called(node) == "append" else None
            if held is None or frames.last_name(held) != name or len(node.args) != 1:
                continue
            value = node.args[0]
            text = changes.method(source, value, "clone()")
            return found(
                "tensor-repeated", "wrong result", (source.file, node.lineno),
                f"all entries of {name} are one tensor, which goes on changing",
                [f"{op} at line {site.line} wrote into {count} entries at once"],
                [(site, "written here")], [source.fix(value, text)],
            )  # fmt: skip
        return None


@check
class Arguments(Check):
    """In-place changes of what a function was given, which its caller reads afterwards."""

    kinds = ("argument-changed-in-place",)

    def start(self, doctor):
        self.changed, self.seen, self.watch = {}, {}, doctor.watch
        self.reading, self.heard = False, 0
        doctor.watch.on("op", self.op, WRITING)

    def op(self, op):
        given = op.args[0] if op.args else None
        code = op.frame.f_code
        if code.co_name.endswith("_") or code.co_name == "<module>" or op.site in self.changed:
            return
        if not isinstance(given, _C.TensorBase) or given.requires_grad:
            return
        if given.device.type != "cpu" or len(self.changed) > 50:
            return
        where = address_of(given)
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            held = _C._locals(op.frame).get(name)
            if not isinstance(held, _C.TensorBase) or not held.numel() or held.requires_grad:
                continue
            if address_of(held) != where or not self.is_meant(op, held, given):
                continue
            if not _is_held_outside(op.frame, held):
                continue
            self.changed[op.site] = (name, weakref.ref(held), code, op.name, op.site)
            if not self.reading:
                self.reading = True
                self.watch.on("op", self.read)
            return

    def is_meant(self, op, held, given) -> bool:
        """A view of the argument, or the argument itself where the result is returned, too."""
        source, statement = op.site.source, op.site.statement
        if statement is None:
            return False
        function = source.function_of(statement)
        ends = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value] \
            if function is not None else []  # fmt: skip
        if not ends:
            return False
        if given is not held:
            return True
        target = getattr(statement, "target", None)
        names = {n.id for e in ends for n in ast.walk(e) if isinstance(n, ast.Name)}
        return isinstance(target, ast.Name) and target.id in names

    def read(self, op):
        self.heard += 1
        if self.heard > 4000:
            self.watch.off("op", self.read)
            return
        for site, (name, ref, code, kind_, _) in self.changed.items():
            held = ref()
            if held is None or site in self.seen or op.frame.f_code is code:
                continue
            if any(a is held for a in op.args) and op.name not in WRITING and op.name != "clone":
                self.seen[site] = (name, kind_, op.site, op.name)

    def findings(self, doctor):
        return [self.finding(site, *one) for site, one in self.seen.items()][:1]

    def finding(self, site, name, kind_, used, reader):
        source, statement, fixes = site.source, site.statement, []
        target = getattr(statement, "target", None)
        if isinstance(statement, ast.AugAssign) and isinstance(target, ast.Name):
            text = changes.out_of_place(source, statement)
            fixes.append(source.fix(statement, text))
        function = source.function_of(statement)
        if function is not None:
            text = f"{name} = {name}.clone()"
            edit = source.insert_before(first_of(function), text)
            fixes.append(Fix(f"{text} first", [edit]))
        evidence = [
            (
                f"{kind_} wrote into the memory of {name}, which {site.function} was given; line "
                f"{used.line} reads it afterwards"
            )
        ]
        return found(
            "argument-changed-in-place", "wrong result", site,
            f"{site.function} changes its argument {name}, and its caller goes on using it",
            evidence, [(used, f"{reader} reads the changed values")], fixes,
        )  # fmt: skip


def _is_held_outside(frame, held) -> bool:
    """Whether a caller has a name for the tensor."""
    at = frame.f_back
    for _ in range(4):
        while at is not None and not is_user(at.f_code):
            at = at.f_back
        if at is None:
            return False
        if any(v is held for v in _C._locals(at).values()):
            return True
        at = at.f_back
    return False


# What names a model that is to stay as it is while another one learns.
COPIES = ("best", "backup", "snapshot", "saved", "target", "teacher", "frozen", "reference", "ema")


@check
class LiveBest(Check):
    """The best model kept by another name, or its state in a dictionary of live tensors."""

    kinds = ()

    def start(self, doctor):
        self.seen, self.steps, self.passes = {}, 0, doctor.passes
        doctor.watch.on("stepped", self.stepped)

    def stepped(self, optimizer):
        self.steps += 1
        if self.steps & (self.steps - 1) == 0:
            for frame in places.user_frames(3):
                self.look(_C._locals(frame), frame.f_code.co_filename)

    def stop(self, doctor):
        main = sys.modules.get("__main__")
        if main is not None and self.steps:
            self.look(vars(main), getattr(main, "__file__", "") or "")

    def look(self, room, file):
        for name, held in list(room.items()):
            if not any(w in name.lower() for w in COPIES):
                continue
            if isinstance(held, nn.Module):
                live = any(m is held for m in self.passes.models.values()) and held.training
                others = [n for n, v in list(room.items()) if v is held and n != name]
                if live and others:
                    self.seen.setdefault((file, name), (others[0], "model", self.steps))
            elif isinstance(held, dict) and held:
                live = {p.data_ptr() for m in self.passes.models.values() for p in m.parameters()}
                tensors = [v for v in held.values() if isinstance(v, _C.TensorBase)]
                if tensors and any(t.data_ptr() in live for t in tensors if t.numel()):
                    self.seen.setdefault((file, name), ("", "state", self.steps))

    def findings(self, doctor):
        told = {(f.file, f.line) for c in doctor.checks if type(c).__name__ == "Snapshot"
                for f in c.findings(doctor)}  # fmt: skip
        found_ = [self.finding(file, name, *one) for (file, name), one in self.seen.items()]
        return [f for f in found_ if f is not None and (f.file, f.line) not in told]

    def finding(self, file, name, other, what, steps):
        source = Source.of(file)
        for node in ast.walk(source.tree) if source is not None else ():
            if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != name:
                continue
            value = node.value
            edit = None
            if what == "model" and ast.unparse(value) == other:
                new = f"copy.deepcopy({other})"
            elif what == "state" and isinstance(value, ast.DictComp):
                new = f"{source.segment(value.value)}.clone()"
                if not isinstance(value.value, ast.Name):
                    continue
                edit = source.replace((value.value, new))
            else:
                continue
            again = source.assignments(name, source.function_of(node))
            if not source.loops_around(node) and what == "model" and len(again) > 1:
                continue  # it may be replaced by a copy later
            if edit is None:
                edit = source.replace((value, new))
                if "copy" not in changes.imported(source):
                    head = source.indented(node, "import copy")
                    edit = type(edit)(edit.file, edit.line, edit.end_line, f"{head}\n{edit.text}")
            evidence = [f"after {steps} steps {name} still is the live {what}: it changed with it"]
            return found(
                "snapshot-is-alias", "wrong result", (file, node.lineno),
                f"{name} is not a copy: it changes with the model", evidence, [],
                [Fix(new, [edit])],
            )  # fmt: skip
        return None


kind(
    "array-shared",
    "Several tensors were made from one numpy array that is filled again",
    """
torch.from_numpy shares the array's memory. Where one array is filled anew in each turn (a frame, a
buffer), all tensors made of it so far show its newest content. Copy: torch.from_numpy(a.copy()), or
torch.tensor(a).
""",
)


@check
class SharedArray(Check):
    kinds = ("array-shared",)
    needs: ClassVar = {"*": ("from_array", 1, "no numpy array was taken over")}

    def start(self, doctor):
        self.made, self.seen = {}, {}
        doctor.watch.on("from_array", self.taken)

    def taken(self, array, tensor):
        site = places.here()
        if site is None or tensor.numel() < 2:
            return
        content = array.flat[:: max(1, array.size // 1024)].tobytes()
        alive = [(r, then) for r, then in self.made.get(site, ()) if r() is not None][-20:]
        filled = [r for r, then in alive if then != content and r().data_ptr() == tensor.data_ptr()]
        if len(filled) >= 2:  # one may still be bound to the name of the turn before
            self.seen[site] = max(self.seen.get(site, 0), len(filled) + 1)
        self.made[site] = [*alive, (weakref.ref(tensor), content)]

    def findings(self, doctor):
        return [self.finding(site, count) for site, count in self.seen.items()]

    def finding(self, site, count):
        call, fixes = places.call_at(site), []
        if call is not None and call.args:
            text = changes.method(site.source, call.args[0], "copy()")
            fixes.append(site.source.fix(call.args[0], text))
        return found(
            "array-shared", "wrong result", site, "these tensors all show one array's memory",
            [f"{count} tensors made here are alive, all at one address; the array was filled anew"],
            [], fixes,
        )  # fmt: skip
