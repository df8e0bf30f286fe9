"""What is added to an exception that reaches the top: a note of one screen."""

from __future__ import annotations

from .finding import WIDTH, Finding, plain

MOST_LINES = 21
NOT_TRIED = "not tried; rushlight doctor tries it"

_explained: set[tuple] = set()


def note_text(finding: Finding) -> str:
    """A finding as the note of an exception: plain ASCII, 80 columns, one screen.

    What does not fit goes from its end: fixes first, then evidence.
    """
    place, more = plain(f"  [{finding.id}] at {finding.place}"), f"rushlight explain {finding.id}"
    last = [f"{place}; more: {more}"]
    if len(last[0]) > WIDTH:
        last = [place, f"  more: {more}"]
    for fixes in (3, 2, 1):
        body = finding.lines(fixes, NOT_TRIED)
        if len(body) <= MOST_LINES:
            break
    lines = ["", *body[:MOST_LINES], *last]
    return "\n".join(line[:WIDTH] for line in lines)


def finding_of(error: BaseException) -> Finding | None:
    """What the rules say of an error; fixes are tried in its frame, or on shapes."""
    from . import rebuilt
    from .errors import Raised, diagnose
    from .trial import expression

    finding = diagnose(error)
    if finding is None:
        return None
    at, kept = Raised(error).innermost, []
    for fix in finding.fixes:
        if fix.call is not None and fix.tried is None:
            outcome = expression(at.frame, at.names, fix.call)
            if not outcome.good and not outcome.refused:
                continue
            fix.tried = "this call tried" if outcome.good else None
        kept.append(fix)
    finding.fixes, finding.refused = rebuilt.tried(Raised(error), kept)
    return finding


def is_new(finding: Finding) -> bool:
    """Whether this kind was not yet explained at this place; from now on it was."""
    key = (finding.id, finding.file, finding.line)
    if key in _explained:
        return False
    _explained.add(key)
    return True


def explain(error: BaseException) -> Finding | None:
    """Adds a note if a rule knows the exception's kind; a place explained before is silent."""
    finding = finding_of(error)
    if finding is not None and is_new(finding):
        error.add_note(note_text(finding))
    return finding
