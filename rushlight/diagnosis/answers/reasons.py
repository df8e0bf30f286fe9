"""Reasons why parameters have no gradient, and the parameters that share one, as text."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

from ..finding import WIDTH, Fix

HAS, ZERO, NONE = "have a gradient", "zero", "none"
MOST_NAMES = 6


@dataclass
class Reason:
    """Why a path ends: in words, with the line and its text. ``known``: how that is known."""

    text: str
    file: str | None = None
    line: int | None = None
    source: str = ""
    known: str = "recorded"

    def __str__(self) -> str:
        start = f"line {self.line}  " if self.line else ""
        shown = f"{self.source}    " if self.source else ""
        read = "" if self.known == "recorded" else f" ({self.known})"
        return f"{start}{shown}{self.text}{read}"


@dataclass
class Group:
    """Parameters that share a cause: their names, "none", "zero" or "have a gradient", and why."""

    names: list[str]
    state: str
    title: str = ""
    reasons: list[Reason] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)

    def lines(self, width: int) -> list[str]:
        """The group as text; names stand in a column of a width."""
        shown = ", ".join(self.names[:MOST_NAMES])
        if len(self.names) > MOST_NAMES:
            shown += f" and {len(self.names) - MOST_NAMES} more"
        says = self.state if self.state == HAS else f"{self.state}: {self.title}"
        if len(shown) > width:
            lines = [*wrapped(shown, "", "  "), *wrapped(says, "    ", "    ")]
        else:
            lines = wrapped(f"{shown.ljust(width)}  {says}", "", "    ")
        for reason in self.reasons:
            lines += wrapped(str(reason), "    ", "        ")
        if self.fixes:
            tried = "each tried" if len(self.fixes) > 1 else "tried"
            lines += wrapped(
                f"Works ({tried}): {', or '.join(f.text for f in self.fixes)}", "    ", "      "
            )
        return lines


def wrapped(text: str, first: str, more: str) -> list[str]:
    if len(first + text) <= WIDTH:
        return [first + text]
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=more, break_on_hyphens=False
    )
