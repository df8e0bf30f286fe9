"""`rushlight.why_no_grad(x, loss)`: for each parameter without gradient the reason, with a line."""

from __future__ import annotations

import contextlib
import io
import random
import sys

import rushlight
from rushlight import _C, nn

from .. import values
from ..finding import Fix
from ..interrupts import is_interrupt
from ..source import Source
from .flow import Flow, Step, key_of_region, key_of_site
from .fromgraph import freezing, groups_from
from .names import Names, user_frames
from .reasons import HAS, NONE, ZERO, Group, Reason, wrapped


class Gradients:
    """The answer: ``groups``, each with names, state, reasons and fixes; ``str`` is the text."""

    def __init__(self, groups: list[Group], notes: list[str]):
        order = {NONE: 0, ZERO: 1, HAS: 2}
        self.groups = sorted(groups, key=lambda g: order[g.state])
        self.notes = notes

    def group_of(self, name: str) -> Group:
        """The group that a parameter belongs to."""
        return next(g for g in self.groups if name in g.names)

    def __str__(self) -> str:
        counts = {
            state: sum(len(g.names) for g in self.groups if g.state == state)
            for state in (HAS, ZERO, NONE)
        }
        total = sum(counts.values())
        parts = [f"{counts[HAS]} {'has' if counts[HAS] == 1 else 'have'} a gradient"]
        if counts[ZERO]:
            parts.append(
                f"{counts[ZERO]} {'has' if counts[ZERO] == 1 else 'have'} one that is all zero"
            )
        parts.append(f"{counts[NONE]} {'has' if counts[NONE] == 1 else 'have'} none")
        lines = [f"{total} parameter{'s' if total != 1 else ''}: {', '.join(parts)}"]
        width = min(27, max((len(", ".join(g.names)) for g in self.groups), default=0))
        for group in self.groups:
            lines += group.lines(width)
        for note in self.notes:
            lines += wrapped(note, "", "  ")
        return "\n".join(lines)

    __repr__ = __str__


def why_no_grad(subject, loss) -> Gradients:
    """Tells for each parameter whether it gets a gradient from a loss, and if not, why.

    Args:
        subject: a module, a parameter or any tensor.
        loss: a function of no arguments that computes the loss (it is run once, with its gradients
            taken but not stored and random state and buffers restored: every line is a fact), or a
            loss that was computed already (what it was computed from is gone: lines that no graph
            node tells are marked "read from source").

    Returns:
        An answer to be printed; its ``groups`` hold names, reasons with lines, and fixes, each of
        which was tried.
    """
    names = Names(user_frames(2))
    parameters = _parameters(subject, names)
    if isinstance(loss, _C.TensorBase):
        return Gradients(groups_from(subject, parameters, loss), _notes(subject, names))
    run = _Run(subject, parameters, loss)
    return Gradients(run.groups(), _notes(subject, names))


def _parameters(subject, names: Names) -> list[tuple[str, object]]:
    if isinstance(subject, nn.Module):
        return list(subject.named_parameters())
    if isinstance(subject, _C.TensorBase):
        return [(names.name(subject) or "this tensor", subject)]
    if isinstance(subject, (list, tuple)):
        return [(names.name(p) or f"parameter {i}", p) for i, p in enumerate(subject)]
    raise TypeError(f"why_no_grad() takes a module or a parameter, not {type(subject).__name__}")


def _notes(subject, names: Names) -> list[str]:
    """Optimizers that hold a part of a module, and not the rest."""
    if not isinstance(subject, nn.Module):
        return []
    own, found = {id(p): n for n, p in subject.named_parameters()}, []
    for held in names.others:
        if not hasattr(held.value, "param_groups"):
            continue
        ids = {id(p) for p in values.parameters_of(held.value)}
        missing = [n for i, n in own.items() if i not in ids]
        if ids & own.keys() and missing:
            more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
            found.append(
                f"{held.name} does not hold {', '.join(missing[:4])}{more}: replaced or made "
                "after it was built, so a gradient does not change them"
            )
    return found


# ---- One run of the function


@contextlib.contextmanager
def _as_it_was(subject):
    """Random state and the buffers of a module as before; what is printed is swallowed."""
    state, python = rushlight.get_rng_state(), random.getstate()
    numpy = sys.modules.get("numpy")
    numpys = numpy.random.get_state() if numpy is not None else None
    modules = [subject] if isinstance(subject, nn.Module) else []
    buffers = [(b, b.detach().clone()) for m in modules for b in m.buffers()]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        rushlight.set_rng_state(state)
        random.setstate(python)
        if numpys is not None:
            numpy.random.set_state(numpys)
        with rushlight.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)


class _Run:
    """The function, run with recording on."""

    def __init__(self, subject, parameters: list, function):
        self.subject, self.parameters, self.function = subject, parameters, function
        self.calls = _counting(subject)
        with _as_it_was(subject), self.calls:
            self.flow, self.loss, self.gradients = self._run(frozenset())
        self.end = self.flow.value(self.loss)
        self.steps = self.flow.leading_to(self.end)

    def _run(self, uncut: frozenset):
        tensors = [p for _, p in self.parameters]
        flow = Flow(tensors, uncut)
        with rushlight.enable_grad():
            with flow:
                loss = self.function()
            if not isinstance(loss, _C.TensorBase):
                raise TypeError(
                    f"the function must return the loss, a tensor, not {type(loss).__name__}"
                )
            wanted = [p for p in tensors if p.requires_grad]
            if loss.grad_fn is None or not wanted:
                return flow, loss, {}
            start = loss if loss.dim() == 0 else loss.sum()
            found = rushlight.autograd.grad(start, wanted, allow_unused=True)
        return flow, loss, {id(p): g for p, g in zip(wanted, found, strict=True) if g is not None}

    def groups(self) -> list[Group]:
        """Parameters with one cause together."""
        made: dict[tuple, Group] = {}
        for name, p in self.parameters:
            state = self._state(p)
            group, key = self._explained(name, p, state)
            if key in made:
                made[key].names.append(name)
            else:
                made[key] = group
        for key, group in made.items():
            self._try(group, key)
        return list(made.values())

    def _state(self, p) -> str:
        gradient = self.gradients.get(id(p))
        if gradient is None:
            return NONE
        return HAS if bool((gradient != 0).any()) else ZERO

    def _explained(self, name: str, p, state: str) -> tuple[Group, tuple]:
        if state == HAS:
            if not p.is_leaf:
                return self._not_a_leaf(name, p)
            return Group([name], HAS), (HAS,)
        if state == ZERO:
            return self._zero(name, p)
        if not p.requires_grad:
            return self._frozen(name, p)
        bit = self.flow.bits[id(p)]
        cuts = self.flow.cuts(self.steps, bit)
        if cuts:
            return self._cut(name, cuts)
        return self._not_reached(name, p, bit)

    # ---- Reasons

    def _cut(self, name: str, cuts: list[Step]) -> tuple[Group, tuple]:
        reasons, keys = [], []
        for step in cuts:
            key = _cut_key(step)
            if key in keys:
                continue
            keys.append(key)
            reasons.append(_reason_of(step))
        if len(cuts) == 1 or len(reasons) == 1:
            title = f"line {reasons[0].line} cuts the path to the loss"
        else:
            title = f"{_count(len(reasons))} ways to the loss are cut"
        return Group([name], NONE, title, reasons), ("cut", *keys)

    def _not_reached(self, name: str, p, bit: int) -> tuple[Group, tuple]:
        leaving = [s for s in self.flow.leaving if s.lost & bit]
        if leaving:
            step = leaving[-1]
            text = f"{step.name.strip('_')} leaves the graph: Python and numpy keep no history"
            reason = Reason(text, *step.place, step.text)
            return Group([name], NONE, "its values leave as numbers", [reason]), ("left", step.site)
        step = self.flow.last_of(bit)
        if step is None:
            built, calls = self._owner(p)
            where = f"made at {values.place_of(built)}" if built else "in no module"
            used = f"called {calls} times" if calls is not None else "used by no op"
            if calls:
                used = f"called {calls} times, used by no op"
            return Group([name], NONE, f"{where}, {used}"), ("unused", built, calls)
        reason = Reason(f"{step.name} is the last op that its values pass", *step.place, step.text)
        title = "nothing computed from it is used for the loss"
        return Group([name], NONE, title, [reason]), ("ends", step.site)

    def _owner(self, p):
        """Where the module that holds a parameter was made, and how often it was called."""
        for module in self.subject.modules() if isinstance(self.subject, nn.Module) else ():
            if any(q is p for q in module.parameters(recurse=False)):
                places = _C._built(module)
                return (places[0] if places else None), self.calls.counts.get(id(module), 0)
        return _C._origin(p), None

    def _frozen(self, name: str, p) -> tuple[Group, tuple]:
        if not (p.is_floating_point() or p.is_complex()):
            text = f"{values.dtype_name(p.dtype)} values have no gradient"
            return Group([name], NONE, text), ("integer",)
        reason = freezing()
        title = "frozen: requires_grad is False"
        return Group([name], NONE, title, [reason] if reason else []), ("frozen",)

    def _not_a_leaf(self, name: str, p) -> tuple[Group, tuple]:
        reason = Reason("it is a result, not a leaf: .grad is kept for leaves only")
        origin = _C._origin(p)
        if origin is not None:
            reason.file, reason.line = origin[0], origin[2]
        title = "backward gives it one, and .grad stays None without retain_grad()"
        return Group([name], NONE, title, [reason]), ("result", name)

    def _zero(self, name: str, p) -> tuple[Group, tuple]:
        bit = self.flow.bits[id(p)]
        step = self.flow.where_it_vanishes(self.steps, bit)
        if step is None:
            return Group([name], ZERO, "no op on the way is 0 by itself"), ("zero",)
        says = step.numbers or f"{step.name} hands on a gradient that is all zero"
        title = f"{says} (line {step.place[1]})"
        reason = Reason(step.name, *step.place, step.text)
        group, key = Group([name], ZERO, title, [reason]), ("zero", step.site)
        changed = self._changed(bit, step)
        if changed is not None:
            group.reasons.append(changed)
        return group, key

    def _changed(self, bit: int, step: Step) -> Reason | None:
        """A parameter before the op that was set by hand after its module was made."""
        for name, p in self.parameters:
            if not self.flow.bits[id(p)] & sum({v.flow for v in step.ins}):
                continue
            writer, origin = _C._last_writer(p), _C._origin(p)
            built = self._owner(p)[0]
            first = {(o[0], o[2]) for o in (origin, built) if o is not None}
            if writer is not None and (writer[0], writer[2]) not in first:
                file, line = writer[0], writer[2]
                source = Source.of(file)
                text = source.lines[line - 1].strip() if source else ""
                return Reason(f"last set {name}", file, line, text)
        return None

    # ---- Fixes

    def _try(self, group: Group, key: tuple) -> None:
        """Runs the function again without the cuts, one at a time, then all at once."""
        if key[0] != "cut":
            return
        members = {id(p) for n, p in self.parameters if n in group.names}
        known = [k for k in key[1:] if k[0] != "op"]
        for keys in [[k] for k in known] + ([known] if len(known) > 1 else []):
            if group.fixes and len(keys) > 1:
                return
            try:
                with _as_it_was(self.subject):
                    _, _, gradients = self._run(frozenset(keys))
            except Exception as error:
                if is_interrupt(error):
                    raise
                continue
            if any(i in gradients for i in members):
                texts = [_fix_text(k, group.reasons) for k in keys]
                group.fixes.append(Fix(", and ".join(texts), tried="the function, run again"))


def _count(number: int) -> str:
    return "both" if number == 2 else f"all {number}"


def _cut_key(step: Step):
    """What is to be taken away to undo a cut; ("op", ...) where nothing stands in its place."""
    if step.region is not None and step.is_off:
        return key_of_region(step.region)
    if step.name in ("detach", "data"):
        return key_of_site(step.site)
    return ("op", step.site.file, step.site.line, step.name)


def _reason_of(step: Step) -> Reason:
    text = step.reason
    if step.region is not None and step.is_off:
        source, around = step.region
        text += f" of line {around.lineno}"
        if source.file != step.site.file:
            text += f" of {values.line_of(source.file, around.lineno)}"
    return Reason(text, *step.place, step.text)


def _fix_text(key: tuple, reasons: list[Reason]) -> str:
    if len(key) == 3:
        inside = [r for r in reasons if r.text.startswith("under")]
        line = inside[0].line if inside else key[2]
        return f"line {line} outside no_grad"
    reason = next(r for r in reasons if (r.file, r.line) == key)
    what = ".data" if reason.text == ".data" else ".detach()"
    return f"line {key[1]} without {what}"


class _counting:
    """Counts the calls of a module's parts."""

    def __init__(self, subject):
        self.counts: dict[int, int] = {}
        self.listens = isinstance(subject, nn.Module)

    def __enter__(self):
        if self.listens:
            from rushlight.nn.modules.module import register_module_forward_hook

            self.handle = register_module_forward_hook(self._called)
        return self

    def __exit__(self, *_):
        if self.listens:
            self.handle.remove()

    def _called(self, module, args, output):
        self.counts[id(module)] = self.counts.get(id(module), 0) + 1
