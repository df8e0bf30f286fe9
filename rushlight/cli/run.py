"""``rushlight run``: a Python program as ``python`` would run it, with torch meaning Rushlight."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import types

from rushlight import _alias


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
    add_target(parser)
    parser.set_defaults(command=_run)


def add_target(parser) -> None:
    """Declares the program that a command runs."""
    parser.add_argument("-m", dest="module", action="store_true", help="the target is a module")
    parser.add_argument(
        "target",
        metavar="script",
        help="a script, a folder or zip with __main__.py, or a module",
    )
    rest = parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments for the program")
    rest.required = False  # "the following arguments are required: script" is all to be said
    parser.set_defaults(own_options=lambda: set(re.findall(r"--[\w-]+", parser.format_help())))


def _run(options) -> int:
    as_main(prepared(options.target, options.args, options.module))
    return 0


def prepared(target: str, args: list[str], is_module: bool, changed: dict[str, str] | None = None):
    """Makes this process ready for a program; returns the function that runs it as ``__main__``.

    ``changed`` maps files to the text that is to run in their place, for trials of a change.
    """
    _alias.install()
    if changed:
        _change_sources(changed)
    sys.argv = ["-m" if is_module else target, *args]
    if is_module:
        _set_first_path(os.getcwd())
        return lambda: _run_module(target)
    if os.path.isdir(target) or target.endswith((".zip", ".pyz", ".egg")):
        _set_first_path(os.path.abspath(target))
        return lambda: _run_module("__main__", False)
    _set_first_path(os.path.dirname(os.path.realpath(target)))
    source = _read(target, (changed or {}).get(os.path.abspath(target)))
    return lambda: exec(compile(source, os.path.abspath(target), "exec"), _fresh_main(target))


def _change_sources(changed: dict[str, str]) -> None:
    """Modules of the program are read from ``changed`` where it has their file."""
    import linecache
    from importlib.machinery import SourceFileLoader

    read = SourceFileLoader.get_data

    def get_data(self, path):
        text = changed.get(os.path.abspath(path))
        if text is None and path.endswith(".pyc"):
            source = self.path
            if os.path.abspath(source) in changed:
                raise OSError("compiled from the file as it was")
        return read(self, path) if text is None else text.encode()

    SourceFileLoader.get_data = get_data
    for file, text in changed.items():
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


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


def _read(path: str, text: str | None) -> str | bytes:
    """A script's source; ``text`` if it is not None."""
    if text is not None:
        return text
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        # As python says it, with its exit status.
        print(
            f"{sys.executable}: can't open file {os.path.abspath(path)!r}: "
            f"[Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        raise SystemExit(2) from None


def as_main(call) -> None:
    """Runs the program; an error's traceback begins in the program's own code."""
    try:
        call()
    except SystemExit:
        raise
    except BaseException as error:
        _show_without_our_frames(error)
        raise


def ended(call) -> tuple[int, BaseException | None]:
    """Runs the program; the exit status that Python would have, and the error that ended it."""
    limit = sys.getrecursionlimit()
    try:
        call()
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0, None
        tell(str(stop.code))
        return 1, None
    except KeyboardInterrupt as error:
        return 130, error
    except BaseException as error:
        return 1, error
    finally:
        sys.setrecursionlimit(max(limit, sys.getrecursionlimit()))
    return 0, None


def tell_of_late(options) -> None:
    """Says which options of a command stand after the program, and so became the program's."""
    ours = options.own_options() - {"--help"}
    late = [a for a in options.args if a.partition("=")[0] in ours]
    if late:
        tell(f"rushlight: {', '.join(late)} went to the program; our options stand before it")


def tell(text: str) -> None:
    """Says something on stderr, after what the program printed, if it has left them open."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
    try:
        sys.stderr.write(text + "\n")
    except (AttributeError, ValueError):
        pass
    except OSError:
        sys.stderr = None  # what could not be written would fail again at exit and be its status


def absolute(options, *names: str) -> None:
    """Makes file names absolute: the program may change its folder. ``options.folder`` is ours."""
    options.folder = os.getcwd()
    for name in names:
        if getattr(options, name):
            setattr(options, name, os.path.abspath(getattr(options, name)))


def described(options) -> dict[str, str]:
    """What the head of a page says of a run: its title, command and date."""
    import datetime

    name = options.target if options.module else os.path.basename(options.target)
    return {
        "title": name,
        "command": " ".join([*(["-m"] if options.module else []), options.target, *options.args]),
        "date": datetime.datetime.now().isoformat(" ", "minutes"),
    }


def show_error(error: BaseException, noted: bool = True) -> None:
    """What the interpreter would print of an error that ended the program, in its own way.

    ``noted``: with the explanation as a note; False where a report that explains it follows.
    """
    from rushlight.diagnosis import hook

    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
    part = program_part(error.__traceback__)
    error = error.with_traceback(part)
    with contextlib.nullcontext() if noted else hook.silent():
        try:
            sys.excepthook(type(error), error, part)
        except BaseException as second:  # the program's own hook
            tell("Error in sys.excepthook:")
            part = program_part(second.__traceback__)
            sys.__excepthook__(type(second), second.with_traceback(part), part)
            tell("\nOriginal exception was:")
            sys.__excepthook__(type(error), error, error.__traceback__)


def _show_without_our_frames(error: BaseException) -> None:
    """Makes the interpreter's last words about ``error`` begin in the program's own code."""
    user_hook = sys.excepthook

    def hook(kind, value, traceback):
        if value is error:
            value = value.with_traceback(traceback := program_part(traceback))
        user_hook(kind, value, traceback)

    sys.excepthook = hook


def program_part(traceback):
    """The part of a traceback below this file's frames."""
    part = traceback
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == __file__:
            part = traceback.tb_next
        traceback = traceback.tb_next
    return part
