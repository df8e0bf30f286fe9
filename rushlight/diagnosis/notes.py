"""What is added to an exception that reaches the top: a note of one screen."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import WIDTH, Finding, plain

MOST_LINES = 21
MOST_PARTS = 20
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


def explained(error: BaseException | None, rules) -> Iterator[tuple[Exception, Finding]]:
    """What the rules know of an exception, or else of those that it came from or is a group of."""
    for one in _printed(error):
        finding = rules(one) if isinstance(one, Exception) else None
        if finding is not None:
            yield one, finding
            if one is error:
                return


def _printed(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and all those that are printed with it."""
    open_ones, seen = [error], set()
    while open_ones and len(seen) < MOST_PARTS:
        one = open_ones.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            open_ones += one.exceptions
        hidden = one.__suppress_context__ or one.__cause__ is not None
        open_ones.append(one.__cause__ if hidden else one.__context__)


def is_new(finding: Finding) -> bool:
    """Whether this kind was not yet explained at this place; from now on it was."""
    key = (finding.id, finding.file, finding.line)
    if key in _explained:
        return False
    _explained.add(key)
    return True


def explain(error: BaseException) -> None:
    """Adds notes where a rule knows the exception's kind; a place explained before is silent."""
    for one, finding in explained(error, finding_of):
        if is_new(finding):
            one.add_note(note_text(finding))
