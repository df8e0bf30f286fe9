"""An answer as text: a heading, then labelled sections of at most 80 columns; HTML in notebooks."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass, field

from ..finding import WIDTH

LABEL = 9


@dataclass
class Answer:
    """What is known of an object. ``facts`` holds the same as values, for programs to read.

    ``str`` gives text of 80 columns, a notebook shows a table.
    """

    heading: str
    sections: list[tuple[str, str]] = field(default_factory=list)
    facts: dict = field(default_factory=dict)

    def __getattr__(self, name: str):
        try:
            return self.__dict__["facts"][name]
        except KeyError:
            raise AttributeError(f"this answer has no {name!r}") from None

    def __str__(self) -> str:
        lines = textwrap.wrap(self.heading, WIDTH, subsequent_indent="  ")
        for label, text in self.sections:
            lines += textwrap.wrap(
                text,
                WIDTH,
                initial_indent=label.ljust(LABEL),
                subsequent_indent=" " * LABEL,
                break_long_words=False,
                break_on_hyphens=False,
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left;vertical-align:top">{html.escape(label)}'
            f'</th><td style="text-align:left">{html.escape(text)}</td></tr>'
            for label, text in self.sections
        )
        return (
            f'<table><caption style="text-align:left;caption-side:top">{html.escape(self.heading)}'
            f"</caption>{rows}</table>"
        )
