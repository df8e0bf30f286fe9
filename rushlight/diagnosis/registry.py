"""The kinds of findings: their ids, their long explanations, and who looks for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Kind:
    """One kind of trap. ``text`` explains it in full; ``rushlight explain ID`` prints it."""

    id: str
    title: str
    text: str


KINDS: dict[str, Kind] = {}


def kind(id: str, title: str, text: str) -> Kind:
    """Enters a kind; its id keeps its meaning for ever."""
    if id in KINDS:
        raise ValueError(f"{id} is a kind already")
    KINDS[id] = Kind(id, title, text.strip())
    return KINDS[id]


@dataclass(frozen=True)
class ErrorRule:
    """Explains exceptions of a type whose message matches a pattern.

    ``look(error)`` gets an ``errors.Raised`` and returns a Finding or None.
    """

    types: tuple[type, ...]
    pattern: re.Pattern
    look: Callable


ERROR_RULES: list[ErrorRule] = []


def explains(types, pattern: str):
    """Decorator of a function that explains exceptions; the first that returns a Finding counts."""
    types = types if isinstance(types, tuple) else (types,)

    def enter(look):
        ERROR_RULES.append(ErrorRule(types, re.compile(pattern, re.DOTALL), look))
        return look

    return enter


# ---- What the doctor looks for while a program runs, or in its recording


class Check:
    """One look at a program that ran: subclass it, name the kinds, override what is needed.

    The doctor makes one of each before the program starts. ``start`` may put watchers in place
    (module, optimizer and loader calls: see ``doctor.watch``); ``findings`` is called at the end.
    """

    kinds: tuple[str, ...] = ()
    # What a run must have had for a kind to be checked, "*" for all of them: an event of
    # doctor.watch (or "op" and names of ops), how often, and the reason that is given else.
    needs: ClassVar[dict[str, tuple[str, int, str]]] = {}

    def start(self, doctor) -> None:
        """Before the program's first line."""

    def stop(self, doctor) -> None:
        """After its last line; takes watchers away."""

    def findings(self, doctor) -> list:
        """What was found, each Finding with its evidence; None stands for nothing."""
        return []

    def not_checked(self, doctor) -> list[tuple[str, str]]:
        """Kinds that this run gave no occasion to check, each with the reason."""
        found = []
        for id in self.kinds:
            event, least, why = self.needs.get(id) or self.needs.get("*") or ("", 0, "")
            if doctor.watch.count(event) < least:
                found.append((id, why))
        return found


CHECKS: list[type[Check]] = []


def check(cls: type[Check]) -> type[Check]:
    """Decorator: the doctor looks with this class."""
    CHECKS.append(cls)
    return cls
