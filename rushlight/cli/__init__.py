"""The command line: ``rushlight run script.py`` and what else a terminal is good for."""

from __future__ import annotations

import argparse
import sys

from . import alias, doctor, explain, profile, run, xray

# Each module of a command has `add(subparsers)`, which sets `command` to a function of the
# parsed arguments that returns an exit status.
_COMMANDS = (run, doctor, xray, profile, explain, alias)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rushlight", description="A small, cheap, quick torch.", allow_abbrev=False
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    subparsers = parser.add_subparsers(title="commands", metavar="command")
    for module in _COMMANDS:
        module.add(subparsers)
    return parser


def version() -> str:
    """The installed version of the package."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("rushlight")
    except PackageNotFoundError:
        import rushlight

        return rushlight.__version__


def main(argv: list[str] | None = None) -> int | None:
    """Runs the command that ``argv`` (default: the process's arguments) names."""
    parser = _parser()
    with run.until_nobody_reads():
        options = parser.parse_args(run.apart(sys.argv[1:] if argv is None else argv))
        if options.version:
            print("rushlight", version())
            return 0
        if not hasattr(options, "command"):
            parser.print_help(sys.stderr)
            return 2
        if not hasattr(options, "own_options"):  # it runs no program, and prints itself
            return options.command(options)
    run.tell_of_late(options)
    return options.command(options)
