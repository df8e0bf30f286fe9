"""What is added to an exception that reaches the top: a note of one screen."""

from __future__ import annotations

from .finding import WIDTH, Finding

_explained: set[tuple] = set()


def note_text(finding: Finding) -> str:
    """A finding as the note of an exception: plain ASCII, 80 columns, one screen."""
    body = finding.lines()
    last = f"  [{finding.id}] at {finding.place}; more: rushlight explain {finding.id}"
    lines = ["", *body[:22], last]
    return "\n".join(line[:WIDTH].encode("ascii", "replace").decode() for line in lines)


def explain(error: BaseException) -> Finding | None:
    """Adds a note if a rule knows the exception's kind; a place explained before is silent."""
    from .errors import diagnose

    finding = diagnose(error)
    if finding is None:
        return None
    key = (finding.id, finding.file, finding.line)
    if key not in _explained:
        _explained.add(key)
        error.add_note(note_text(finding))
    return finding
