"""Runs that go on from a checkpoint with the model's state and without the optimizer's."""

from __future__ import annotations

import ast
import weakref
from typing import ClassVar

from ... import upstream
from ...finding import Fix
from ...frames import called, receiver
from ...registry import Check, check, kind
from ...values import parameters_of
from .. import places
from ..calls import site_of
from ..places import found

kind(
    "optimizer-not-resumed",
    "A run goes on from a checkpoint without the optimizer's state that is in it",
    """
Adam keeps two running averages for each weight, SGD its momentum. A checkpoint that holds them is
only resumed where they are loaded, too: optimizer.load_state_dict(checkpoint["optimizer"]). With
the model's state alone the optimizer begins anew in the middle of the run: its first steps are far
too large or in no direction that it had, and the loss jumps.
""",
)

LEAST_STEPS = 2


class _Checkpoint:
    """What a file held: its optimizer's entry, its counters, and the states that were in it."""

    def __init__(self, held: dict, key, state: dict):
        self.key, self.entries = key, len(state["state"])
        self.parameters = sum(len(group["params"]) for group in state["param_groups"])
        first = next(iter(state["state"].values()))
        self.after = int(first.get("step", 0) or 0)
        self.counters = {k for k, v in held.items() if type(v) is int}
        self.states = {id(v) for v in held.values() if hasattr(v, "keys")}
        self.model = self.load = self.step = self.made = None
        self.steps = 0


@check
class Resumed(Check):
    kinds = ("optimizer-not-resumed",)
    needs: ClassVar = {"*": ("loaded", 1, "nothing was loaded")}

    def start(self, doctor):
        self.open, self.made, self.began = [], {}, set()
        watch = doctor.watch
        watch.on("optimizer", self.optimizer)
        watch.on("loaded", self.read)
        watch.on("load_state_dict", self.load)
        watch.on("optimizer_state", self.restored)
        watch.on("stepped", self.stepped)

    def optimizer(self, optimizer):
        frames = places.user_frames(3)
        self.made[id(optimizer)] = site_of(frames[0]) if frames else None
        self.began.discard(id(optimizer))

    def read(self, held):
        for key, value in held.items() if isinstance(held, dict) else ():
            is_state = isinstance(value, dict) and {"state", "param_groups"} <= value.keys()
            if is_state and value["state"] and isinstance(value["state"], dict):
                self.open.append(_Checkpoint(held, key, value))
                return

    def load(self, module, state, strict):
        for one in self.open:
            if id(state) in one.states and one.model is None:
                one.model, one.load = weakref.ref(module), places.here()

    def restored(self, optimizer):
        self.open.clear()

    def stepped(self, optimizer):
        for one in self.open:
            if one.model is not None and id(optimizer) not in self.began:
                self.step(one, optimizer)
        if not any(one.made is optimizer for one in self.open):
            self.began.add(id(optimizer))

    def step(self, one, optimizer):
        """Whether a fresh optimizer trains the model that was loaded."""
        if one.made is None:
            model, held = one.model(), parameters_of(optimizer)
            own = {id(p) for p in model.parameters()} if model is not None else set()
            if len(held) != one.parameters or not all(id(p) in own for p in held):
                return
            one.made, one.step = optimizer, places.here()
        one.steps += one.made is optimizer

    def findings(self, doctor):
        return [self.finding(one) for one in self.open if one.steps >= LEAST_STEPS]

    def finding(self, one):
        if one.load is None or one.load.source is None or not _goes_on(one.counters):
            return None
        name = type(one.made).__name__
        evidence = [
            (
                f'the checkpoint\'s "{one.key}" holds the state of {one.entries} parameters'
                + (f" after {one.after} steps" if one.after else "")
                + f", and was not loaded: {name} began anew for the {one.steps} steps that followed"
            )
        ]
        return found(
            "optimizer-not-resumed", "wrong number", one.load,
            "the model is resumed, and its optimizer is not", evidence,
            [(self.made.get(id(one.made)), "the optimizer is made here")],
            _loading(one.load, self.made.get(id(one.made)), one.step, one.key),
        )  # fmt: skip


def _goes_on(counters: set) -> bool:
    """Whether a program reads a counter of the checkpoint, as one that resumes a run does."""
    for source in upstream.program_sources():
        for node in ast.walk(source.tree):
            key = None
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                key = node.slice
            elif called(node) == "get" and node.args:
                key = node.args[0]
            if isinstance(key, ast.Constant) and key.value in counters:
                return True
    return False


def _loading(load, made, step, key) -> list[Fix]:
    """``optimizer.load_state_dict(checkpoint["optimizer"])`` where both are known."""
    call, stepping = places.call_at(load), places.call_at(step) if step is not None else None
    held = call.args[0] if call is not None and call.args else None
    name = receiver(stepping) if stepping is not None else None
    if not isinstance(held, ast.Subscript) or name is None:
        return [Fix("load the optimizer's state as well")]
    source, text = load.source, ast.unparse(name)
    line = f"{text}.load_state_dict({source.segment(held.value)}[{key!r}])".replace("'", '"')
    function, at = source.function_of(call), load.statement
    if not text.startswith("self.") and made is not None and made.file == load.file:
        if made.node is None or source.function_of(made.node) is not function:
            parameters = [a.arg for a in function.args.args] if function is not None else []
            if function is None or (text not in parameters and source.function_of(made.node)):
                return [Fix(line)]
        elif made.line > load.line:
            choice, text = at.parent, line
            at = made.statement
            if isinstance(choice, ast.If) and choice is not at.parent:
                text = f"if {source.segment(choice.test)}:\n    {line}"
            return [Fix(line, [source.insert_after(at, text)])]
    return [Fix(line, [source.insert_after(at, line)])]
