"""``rushlight explain``: what a kind of finding means, in full."""

from __future__ import annotations

import sys


def add(subparsers) -> None:
    """Declares the command."""
    parser = subparsers.add_parser(
        "explain",
        help="explain a kind of finding in full",
        description="Explains a kind of finding: why it happens, how it shows, what to do.",
    )
    parser.add_argument("id", nargs="?", help="a kind's id; none: all ids are listed")
    parser.set_defaults(command=_explain)


def _explain(options) -> int:
    from rushlight.diagnosis import kinds

    known = kinds()
    if options.id is None:
        width = max(map(len, known))
        for id in sorted(known):
            print(f"{id:{width}}  {known[id].title}")
        return 0
    if options.id not in known:
        import difflib

        near = sorted(id for id in known if options.id in id)[:5]
        near = near or difflib.get_close_matches(options.id, known, 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        print(f"rushlight explain: no kind {options.id!r}{hint}", file=sys.stderr)
        return 2
    kind = known[options.id]
    print(f"{kind.title}  [{kind.id}]\n\n{kind.text}")
    return 0
