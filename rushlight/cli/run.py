"""``rushlight run``: a Python program as ``python`` would run it, with torch meaning Rushlight."""

from __future__ import annotations

import argparse
import builtins
import contextlib
import os
import re
import sys

from . import program

_BUILTINS = dict(vars(builtins))
_stderr: tuple | None = None  # while a program runs: the stream that was there, and what it is


def add(subparsers) -> None:
    """Declares the command."""
    parser = subparsers.add_parser(
        "run",
        help="run a program with torch meaning Rushlight",
        usage="rushlight run script.py [args ...]\n       rushlight run -m module [args ...]\n"
        "       rushlight run -c text [args ...]",
        description="Runs a program as python does, but 'import torch' gives it Rushlight, in "
        "this process and in its workers.",
        allow_abbrev=False,
    )
    add_target(parser)
    parser.set_defaults(command=_run)


def add_target(parser) -> None:
    """Declares the program that a command runs."""
    flag = parser.add_mutually_exclusive_group()
    for name, what in ("-m", "a module"), ("-c", "a program's text"):
        flag.add_argument(
            name, dest="flag", action="store_const", const=name, help=f"the target is {what}"
        )
    parser.add_argument(
        "target",
        metavar="script",
        help="a script, a folder or zip with __main__.py, a pyc, - for standard input, or a module",
    )
    rest = parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments for the program")
    rest.required = False  # "the following arguments are required: script" is all to be said
    parser.set_defaults(own_options=lambda: set(re.findall(r"--[\w-]+", parser.format_help())))


def apart(words: list[str]) -> list[str]:
    """-mmodule and -ctext as python takes them, in two words, where only options stand before."""
    if words and words[0] in ("run", "doctor", "profile", "xray"):
        for at, word in enumerate(words[1:], 1):
            if word[:2] in ("-m", "-c") and word[2:]:
                return [*words[:at], word[:2], word[2:], *words[at + 1 :]]
            if not word.startswith("-") or word in ("-", "-m", "-c"):
                break
    return words


def _run(options) -> int:
    as_main(program.prepared(options))
    return 0


def as_main(target: program.Program) -> None:
    """Runs the program; an error's traceback begins in the program's own code."""
    try:
        target.run()
    except SystemExit:
        raise
    except BaseException as error:
        if "rushlight.diagnosis" in sys.modules:
            target.show(in_tracebacks=False)
        _show_without_our_frames(error)
        raise


def ended(call) -> tuple[int, BaseException | None]:
    """Runs the program; the exit status that Python would have, and the error that ended it."""
    global _stderr
    _stderr, limit = (sys.stderr, _file_of_stderr()), sys.getrecursionlimit()
    try:
        call()
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0, None
        _say(str(stop.code))
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


def _say(text: str) -> None:
    """Prints on stderr what the interpreter would, if the program has left it open."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(AttributeError, ValueError):
        _write(sys.stderr, text + "\n")


def tell(text: str) -> None:
    """Says something of ours in ASCII, on the stderr that was there before the program."""
    from rushlight.diagnosis.finding import plain

    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
    stream, file = _stderr or (sys.stderr, None)
    line = plain(text) + "\n"
    try:
        _write(stream, line)
    except (AttributeError, ValueError):  # it is None or closed: python leaves its file open
        with contextlib.suppress(OSError):
            if stream is not None and file is not None and file == _file_of_stderr():
                os.write(2, line.encode())


def _write(stream, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        if sys.stderr is stream:
            sys.stderr = None  # what could not be written would fail at exit and be its status


def _file_of_stderr() -> tuple[int, int] | None:
    """Which file stderr's descriptor stands for; None where it is shut."""
    try:
        at = os.fstat(2)
    except OSError:
        return None
    return at.st_dev, at.st_ino


@contextlib.contextmanager
def until_nobody_reads():
    """A block that prints; where its reader has gone (``| head``) all ends there, well."""
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # what is left to be printed would fail at exit
        os.close(nowhere)
        raise SystemExit(0) from None


def absolute(options, *names: str) -> None:
    """Makes names of reports absolute: the program may change its folder. ``options.folder`` is
    ours. A report that has no place to go to is told of before the program runs.
    """
    options.folder = os.getcwd()
    for name in names:
        if getattr(options, name):
            path = os.path.abspath(getattr(options, name))
            place = path if os.path.exists(path) else os.path.dirname(path)
            if os.path.isdir(path) or not os.access(place, os.W_OK):
                tell(f"rushlight: --{name} {getattr(options, name)}: cannot be written")
                raise SystemExit(2)
            setattr(options, name, path)


@contextlib.contextmanager
def reporting():
    """A block that writes reports when the program has ended: with the builtins as they were
    before it, and where a file cannot be written that is told, and no more. The program's alarm
    does not ring meanwhile: under plain python it would have ended by then.
    """
    from rushlight.diagnosis.interrupts import alarm_held

    changed = dict(vars(builtins))
    vars(builtins).update(_BUILTINS)
    try:
        with alarm_held():
            yield
    except OSError as error:
        tell(f"rushlight: {error}")
    finally:
        vars(builtins).update(changed)
        for name in _BUILTINS.keys() - changed.keys():
            delattr(builtins, name)


def ended_as(status: int, error: BaseException | None) -> int:
    """The exit status; a program that Ctrl-C ended, and that was told of, ends this process so."""
    global _stderr
    _stderr = None
    if isinstance(error, KeyboardInterrupt):
        sys.excepthook = lambda *_: None
        raise error.with_traceback(None)
    return status


def command(options) -> list[str]:
    """The program and its arguments, as they were given."""
    return [*filter(None, [options.flag]), options.target, *options.args]


def described(options) -> dict[str, str]:
    """What the head of a page says of a run: its title, command and date."""
    import datetime

    name = options.target if options.flag == "-m" else os.path.basename(options.target)
    names = {"-c": "program text", "-": "standard input"}
    return {
        "title": names.get(options.flag or options.target, name),
        "command": " ".join(command(options)),
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
            _say("Error in sys.excepthook:")
            part = program_part(second.__traceback__)
            sys.__excepthook__(type(second), second.with_traceback(part), part)
            _say("\nOriginal exception was:")
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
    """The part of a traceback below the command line's frames."""
    part = traceback
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename in (__file__, program.__file__):
            part = traceback.tb_next
        traceback = traceback.tb_next
    return part
