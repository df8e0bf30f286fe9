"""Why an exception was raised: the rules for each kind of error, and what they are given."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rushlight import _C

from .. import frames, registry, values
from ..finding import Finding, Fix
from ..interrupts import is_interrupt


@dataclass
class Raised:
    """An exception with what the rules need: its message, the user's frames outermost first."""

    error: BaseException
    match: re.Match | None = None

    @property
    def message(self) -> str:
        return str(self.error)

    @cached_property
    def frames(self) -> list[frames.Failed]:
        return frames.user_frames(self.error.__traceback__)

    @property
    def innermost(self) -> frames.Failed:
        """The user's frame that raised, or whose call of a library did."""
        return self.frames[-1]

    def modules(self) -> list:
        """The modules whose forward is on the way to the error, outermost first, ours included."""
        from rushlight.nn import Module

        found = []
        for frame, _ in traceback.walk_tb(self.error.__traceback__):
            owner = _C._locals(frame).get("self")
            if isinstance(owner, Module) and (not found or found[-1] is not owner):
                found.append(owner)
        return found

    @property
    def layer(self):
        """The innermost of them, None where there is none."""
        return next(iter(self.modules()[-1:]), None)

    def held(self) -> Iterator:
        """What the user's frames have names for, the outermost frame's first."""
        ran = [at.frame for at in self.frames]
        rooms = {id(r): r for f in ran for r in (_C._locals(f), f.f_globals)}
        for room in rooms.values():
            yield from list(room.values())

    def path_of(self, module) -> str:
        """A module's name in the outermost one on the way, or its class's."""
        return values.module_path(self.modules()[0], module) or type(module).__name__

    def finding(self, id: str, title: str, at=None, **parts) -> Finding:
        """A Finding of severity "error" at a frame's line, or at (file, line)."""
        at = at or self.innermost
        file, line = (at.file, at.line) if isinstance(at, frames.Failed) else at
        return Finding(id, "error", file, line, title, **parts)

    def number(self, id: str, title: str, changes: list, role: str, evidence) -> Finding:
        """A Finding where a number was decided, with the changes of it, or at the failing line."""
        if not changes:
            return self.finding(id, title, evidence=evidence)
        return self.finding(
            id,
            title,
            changes[0].step.place,
            evidence=evidence,
            related=self.innermost.related(role),
            fixes=[c.fix for c in changes],
        )


def diagnose(error: BaseException) -> Finding | None:
    """What the first rule that knows this error says; None where no rule does.

    A rule that fails is a rule that does not know.
    """
    load()
    text = frames.message_of(error)
    for rule in registry.ERROR_RULES:
        if not isinstance(error, rule.types):
            continue
        match = rule.pattern.search(text)
        if match is None:
            continue
        raised = Raised(error, match)
        try:
            if not raised.frames or raised.innermost.went_on:
                return None
            found = rule.look(raised)
        except Exception as failure:
            if is_interrupt(failure):
                raise
            if os.environ.get("RUSHLIGHT_DOCTOR_DEBUG"):
                traceback.print_exception(failure)
            continue
        if found is not None:
            return found
    return None


def load() -> None:
    """Imports the rules: each module enters its own."""
    import importlib
    import pkgutil

    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def try_calls(raised: Raised, fixes: list[Fix]) -> list[Fix]:
    """Fixes of the failing call that pass when it is evaluated in its frame; the others go."""
    from ..trial import expression, keep_working

    at = raised.innermost
    return keep_working(
        fixes, lambda fix: expression(at.frame, at.names, fix.call), "this call tried"
    )
