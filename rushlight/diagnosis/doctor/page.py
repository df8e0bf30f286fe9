"""The doctor's report (the structure that --json writes) as the data of its page."""

from __future__ import annotations

from .. import kinds
from ..source import Source

_AROUND = 3  # lines shown before and after one that is named
_MOST_LINES = 400  # of one file


def page_data(report: dict, **about) -> dict:
    """What the page shows: the report, the lines that it names, what its kinds mean in full."""
    known = kinds()
    named = {f["id"] for f in report["findings"]} | {n["id"] for n in report["not_checked"]}
    return {
        **about,
        **report,
        "kinds": {
            id: {"title": known[id].title, "text": known[id].text} for id in named if id in known
        },
        "sources": _sources(report["findings"]),
    }


def _sources(findings: list[dict]) -> dict:
    """{file: {line: text}} of the lines around those that findings and their edits name."""
    wanted: dict[str, set[int]] = {}
    for finding in findings:
        places = [(finding["file"], finding["line"], finding["line"])]
        places += [(r["file"], r["line"], r["line"]) for r in finding["related"]]
        places += [
            (e["file"], e["line"], e["end_line"]) for f in finding["fixes"] for e in f["edits"]
        ]
        for file, first, last in places:
            wanted.setdefault(file, set()).update(range(first - _AROUND, last + _AROUND + 1))
    out = {}
    for file, lines in wanted.items():
        source = Source.of(file)
        text = source.lines if source is not None else []
        kept = sorted(n for n in lines if 1 <= n <= len(text))[:_MOST_LINES]
        out[file] = {n: text[n - 1][:500] for n in kept}
    return out
