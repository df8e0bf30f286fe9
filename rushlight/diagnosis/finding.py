"""What a diagnosis says: a finding, where it points, and fixes as edits of whole lines."""

from __future__ import annotations

import difflib
import os
import re
import textwrap
from dataclasses import dataclass, field

# Most harmful first. An error ended the program; the others it survived.
SEVERITIES = ("error", "wrong result", "wrong number", "memory", "time", "note")
WIDTH = 80


@dataclass(frozen=True)
class Edit:
    """Lines ``line`` to ``end_line`` of a file become ``text`` (empty: they go)."""

    file: str
    line: int
    end_line: int
    text: str

    def as_dict(self) -> dict:
        return {
            "file": self.file,
            "line": self.line,
            "end_line": self.end_line,
            "text": self.text,
        }


def apply_edits(source: str, edits: list[Edit]) -> str:
    """The text of one file with edits of it applied, the last lines first."""
    lines = source.split("\n")
    for edit in sorted(edits, key=lambda e: -e.line):
        lines[edit.line - 1 : edit.end_line] = edit.text.split("\n") if edit.text else []
    return "\n".join(lines)


@dataclass
class Fix:
    """A change that would help: in words, as edits where it is mechanical, and what was tried.

    ``tried`` says on what the change was tried ("the script, run again"); None: it was not.
    ``call`` is the failing expression as the change would have it, for a trial in its frame.
    """

    text: str
    edits: list[Edit] = field(default_factory=list)
    tried: str | None = None
    call: str | None = None

    def as_dict(self) -> dict:
        edits = [e.as_dict() for e in self.edits]
        return {"text": self.text, "tried": self.tried, "edits": edits}


@dataclass(frozen=True)
class Related:
    """Another line that belongs to the cause, and its part in it."""

    file: str
    line: int
    role: str

    def as_dict(self) -> dict:
        return {"file": self.file, "line": self.line, "role": self.role}


@dataclass
class Finding:
    """One cause: its kind, the line at fault, the evidence in lines of text, and fixes.

    ``file`` and ``line`` are where the wrong decision was made, the line to edit first.
    """

    id: str
    severity: str
    file: str
    line: int
    title: str
    evidence: list[str] = field(default_factory=list)
    related: list[Related] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # what was tried in vain, a sentence each

    def __post_init__(self):
        here = (self.file, self.line)  # beside the line at fault, its own says nothing more
        self.related = [r for r in self.related if (r.file, r.line) != here]

    def as_dict(self) -> dict:
        return {
            "id": self.id,
            "severity": self.severity,
            "file": self.file,
            "line": self.line,
            "title": self.title,
            "evidence": "\n".join(self.evidence),
            "related": [r.as_dict() for r in self.related],
            "fixes": [f.as_dict() for f in self.fixes],
        }

    @property
    def place(self) -> str:
        return line_of(self.file, self.line)

    def lines(self, most_fixes: int = 3, untried: str = "") -> list[str]:
        """The finding as text of at most 80 columns, its fixes as changed lines.

        ``untried`` stands behind a fix with edits that was not tried.
        """
        out = wrapped(self.title, "  ")
        for line in self.evidence:
            out += wrapped(line, "  ")
        for number, fix in enumerate(self.fixes[:most_fixes], 1):
            said = fix.tried or (untried if fix.edits else "")
            tried = f"   ({said})" if said else ""
            out += wrapped(f"{number}. {fix.text}{tried}", "  ", "     ")
            for edit in fix.edits:
                out += _as_change(edit)
        for sentence in self.refused[:1]:
            out += wrapped(sentence, "  ", "    ")
        return out


def shortened(text: str, most: int = 40) -> str:
    """The first line of a text, cut to so many characters."""
    text = text.partition("\n")[0]
    return text if len(text) <= most else text[: most - 3] + "..."


def line_of(file: str, line: int) -> str:
    """``file.py:12``; ``In[4]:1`` of an IPython session's fourth cell."""
    cell = re.match(r"<ipython-input-(\d+)-", file)
    return f"In[{cell[1]}]:{line}" if cell else f"{os.path.basename(file)}:{line}"


def plain(text: str) -> str:
    """A text in ASCII, as every terminal shows it: names in other letters have escapes."""
    return text.encode("ascii", "backslashreplace").decode()


def wrapped(text: str, indent: str = "", more: str | None = None) -> list[str]:
    """Text in lines of 80 columns, in ASCII; one that already has its shape keeps its spaces."""
    text = plain(text)
    if len(indent) + len(text) <= WIDTH:
        return [indent + text]
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if more is None else more,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _as_change(edit: Edit) -> list[str]:
    """Lines that go and lines that come, with what stays between them."""
    from .source import Source

    source = Source.of(edit.file)
    before = source.lines[edit.line - 1 : edit.end_line] if source else []
    before, after = [*map(plain, before)], plain(edit.text).split("\n") if edit.text else []
    parts = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    out: list[str] = []
    for number, (kind, a, b, c, d) in enumerate(parts):
        if kind != "equal":
            # What goes is known by its beginning; what comes in its place must be there whole.
            out += [f"     -{line}"[:WIDTH] for line in before[a:b]]
            out += [part for line in after[c:d] for part in _whole(line)]
        elif 0 < number < len(parts) - 1:
            kept = [f"      {line}"[:WIDTH].rstrip() for line in before[a:b]]
            out += kept if len(kept) < 4 else [kept[0], "      ...", kept[-1]]
    return out


def _whole(line: str) -> list[str]:
    room = WIDTH - 6
    parts = [line[i : i + room] for i in range(0, len(line), room)] or [""]
    return [f"     {'+' if i == 0 else ' '}{part}" for i, part in enumerate(parts)]
