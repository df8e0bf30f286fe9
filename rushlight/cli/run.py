"""``rushlight run``: a Python program as ``python`` would run it, with torch meaning Rushlight."""

from __future__ import annotations

import argparse
import os
import sys
import types

from . import alias


def add(subparsers) -> None:
    """Declares the command."""
    parser = subparsers.add_parser(
        "run",
        help="run a program with torch meaning Rushlight",
        usage="rushlight run script.py [args ...]\n       rushlight run -m module [args ...]",
        description="Runs a program as python does, but 'import torch' gives it Rushlight, in "
        "this process and in its workers.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "-m", dest="module", action="store_true", help="the target is a module's name"
    )
    parser.add_argument("target", help="a script, a folder or zip with __main__.py, or a module")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments for the program")
    parser.set_defaults(command=_run)


def _run(options) -> int:
    alias.install()
    if options.module:
        sys.argv = ["-m", *options.args]
        _set_first_path(os.getcwd())
        _as_main(lambda: _run_module(options.target))
    elif os.path.isdir(options.target) or options.target.endswith((".zip", ".pyz", ".egg")):
        sys.argv = [options.target, *options.args]
        _set_first_path(os.path.abspath(options.target))
        _as_main(lambda: _run_module("__main__", False))
    else:
        sys.argv = [options.target, *options.args]
        _set_first_path(os.path.dirname(os.path.realpath(options.target)))
        code = _compiled(options.target)
        _as_main(lambda: exec(code, _fresh_main(options.target)))
    return 0


def _set_first_path(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _run_module(name: str, alter_argv: bool = True) -> None:
    import runpy

    _fresh_main(None)
    runpy._run_module_as_main(name, alter_argv)


def _fresh_main(path: str | None) -> dict:
    """A new ``__main__`` in place of the command line's own; returns its namespace."""
    module = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    if path is not None:
        from importlib.machinery import SourceFileLoader

        path = os.path.abspath(path)
        module.__file__ = path
        module.__cached__ = None
        module.__loader__ = SourceFileLoader("__main__", path)
    sys.modules["__main__"] = module
    return module.__dict__


def _compiled(path: str):
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        # As python says it, with its exit status.
        print(
            f"{sys.executable}: can't open file {os.path.abspath(path)!r}: "
            f"[Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    try:
        return compile(source, os.path.abspath(path), "exec")
    except BaseException as error:
        _show_without_our_frames(error.with_traceback(None))
        raise


def _as_main(call) -> None:
    try:
        call()
    except SystemExit:
        raise
    except BaseException as error:
        _show_without_our_frames(error)
        raise


def _show_without_our_frames(error: BaseException) -> None:
    """Makes the interpreter's last words about ``error`` begin in the program's own code."""
    user_hook = sys.excepthook

    def hook(kind, value, traceback):
        if value is error:
            value = value.with_traceback(traceback := _program_part(traceback))
        user_hook(kind, value, traceback)

    sys.excepthook = hook


def _program_part(traceback):
    """The part of a traceback below this file's frames."""
    part = traceback
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == __file__:
            part = traceback.tb_next
        traceback = traceback.tb_next
    return part
