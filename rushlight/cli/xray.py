"""``rushlight xray``: runs a program and writes a page that says what each line did."""

from __future__ import annotations

import os
import sys

from . import run
from .program import prepared


def add(subparsers) -> None:
    """Declares the command."""
    parser = subparsers.add_parser(
        "xray",
        help="run a program and show what each line did, as a page",
        usage="rushlight xray [options] script.py [args ...]",
        description="Runs a program unchanged and writes one HTML page: its source, and beside "
        "every line the ops, memory, graph nodes and time that it caused. The exit status is the "
        "program's own.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--html", metavar="FILE", default="xray.html", help="where the page goes (xray.html)"
    )
    parser.add_argument(
        "--events", type=int, metavar="N", default=100_000, help="events to record (100,000)"
    )
    run.add_target(parser)
    parser.set_defaults(command=_xray)


def _xray(options) -> int:
    from rushlight import pages
    from rushlight.diagnosis.xray import Xray

    if options.events < 1:
        print("rushlight xray: --events must be at least 1", file=sys.stderr)
        return 2
    run.absolute(options, "html")
    about = run.described(options)
    program = prepared(options)
    program.show()
    xray = Xray(about, program.file, options.events)
    status = xray.run(lambda: run.ended(program.run))
    if xray.error is not None:
        run.show_error(xray.error)
    with run.reporting():
        pages.write(options.html, "xray", f"xray {about['title']}", xray.data())
        page = os.path.relpath(options.html, options.folder)
        if xray.full:
            run.tell(f"-- xray: the first {xray.limit:,} events of the run. Page: {page}")
        else:
            run.tell(f"-- xray: page {page}")
    return run.ended_as(status, xray.error)
