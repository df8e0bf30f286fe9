"""A program as ``python`` finds and runs it: a script, a module, a folder, a zip, a pyc, stdin."""

from __future__ import annotations

import builtins
import codecs
import contextlib
import functools
import importlib.machinery
import importlib.util
import linecache
import os
import re
import stat
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

from rushlight import _alias


@dataclass
class Program:
    """What a command line names.

    ``run`` runs it as ``__main__``; ``file`` is the one its code comes from, if that is known
    before; ``repeatable``: whether it can be run again with changes of its text; ``text`` is that
    of a program without a file.
    """

    run: Callable[[], None]
    file: str | None = None
    repeatable: bool = True
    text: str | None = None

    def show(self, in_tracebacks: bool = True) -> None:
        """Makes the text of a program without a file known, for reports about its lines."""
        if self.text is not None:
            from rushlight.diagnosis.source import typed

            typed[self.file] = self.text
            if in_tracebacks:
                lines = self.text.splitlines(keepends=True)
                linecache.cache[self.file] = (len(self.text), None, lines, self.file)


def prepared(options, changed: dict[str, str] | None = None) -> Program:
    """Makes this process ready for the program that a command's options name.

    ``changed`` maps files to the text that is to run in their place, for trials of a change.
    """
    _alias.install()
    if changed:
        _change_sources(changed)
    flag, target = options.flag, options.target
    sys.argv = [flag or target, *options.args]
    if flag == "-m":
        _set_first_path(_absolute(""))
        return Program(lambda: _run_module(target))
    if flag == "-c":
        _set_first_path("")
        run = functools.partial(_run_text, target, "<string>")
        return Program(run, "<string>", False, target)
    if target == "-":
        _set_first_path("")
        return _typed()
    return _at(_absolute(target), changed)


def _at(path: str, changed: dict[str, str] | None) -> Program:
    """The program in a folder or file."""
    import pkgutil

    if pkgutil.get_importer(path) is not None:
        if sys.flags.safe_path:
            sys.path.insert(0, path)
        else:
            sys.path[0] = path
        return Program(lambda: _run_module("__main__", False), None, os.path.isdir(path))
    _set_first_path(_folder_of(path))
    data = _read(path)
    if path.endswith(".pyc") or data[:2] == importlib.util.MAGIC_NUMBER[:2]:
        load = importlib.machinery.SourcelessFileLoader
        return Program(lambda: exec(_unpacked(data), _fresh_main(path, load)), None, False)
    text = changed.get(os.path.abspath(path)) if changed else None
    lines = None if text is None else text.splitlines(keepends=True)
    is_file = stat.S_ISREG(os.stat(path).st_mode)
    if not is_file:  # a pipe: its text is not to be had again
        lines = data.decode(errors="replace").splitlines(keepends=True)
    if lines is not None:
        linecache.cache[path] = (len(data), None, lines, path)
    load = importlib.machinery.SourceFileLoader
    source = data if text is None else text
    return Program(lambda: exec(_compiled(source, path), _fresh_main(path, load)), path, is_file)


def _typed() -> Program:
    """The program on standard input; at a terminal line by line, as it is typed."""
    if sys.stdin is not None and sys.stdin.isatty():
        return Program(_interact, None, False)
    source = b"" if sys.stdin is None else sys.stdin.buffer.read()
    names = {"__file__": "<stdin>", "__cached__": None}
    run = functools.partial(_run_text, source, "<stdin>", **names)
    return Program(run, "<stdin>", False, source.decode(errors="replace"))


def _absolute(path: str) -> str:
    """A path from the root, spelled on as it is given; python does not normalize it either."""
    try:
        return os.path.join(os.getcwd(), path) if path not in ("", ".") else os.getcwd()
    except OSError:
        return path


def _folder_of(script: str) -> str:
    """Where a script's own modules are: beside the file that a link leads to."""
    with contextlib.suppress(OSError):
        link = os.readlink(script)
        if os.sep in link:
            script = os.path.join(os.path.dirname(script), link)
    with contextlib.suppress(OSError):
        script = os.path.realpath(script, strict=True)
    return os.path.dirname(script)


def _set_first_path(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _change_sources(changed: dict[str, str]) -> None:
    """Modules of the program are read from ``changed`` where it has their file."""
    read = importlib.machinery.SourceFileLoader.get_data

    def get_data(self, path):
        text = changed.get(os.path.abspath(path))
        if text is None and path.endswith(".pyc"):
            source = self.path
            if os.path.abspath(source) in changed:
                raise OSError("compiled from the file as it was")
        return read(self, path) if text is None else text.encode()

    importlib.machinery.SourceFileLoader.get_data = get_data
    for file, text in changed.items():
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


# ---- As __main__


def _run_module(name: str, alter_argv: bool = True) -> None:
    import runpy

    _fresh_main()
    runpy._run_module_as_main(name, alter_argv)


def _run_text(source: str | bytes, file: str, **names) -> None:
    main = _fresh_main()
    main.update(names)
    exec(_compiled(source, file), main)


def _interact() -> None:
    import code

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (input() edits lines with it)
    code.interact(local=_fresh_main(), exitmsg="")


def _fresh_main(path: str | None = None, loader=None) -> dict:
    """A new ``__main__`` in place of the command line's own; returns its namespace."""
    module = types.ModuleType("__main__")
    module.__builtins__ = builtins
    module.__annotations__ = {}
    module.__loader__ = importlib.machinery.BuiltinImporter
    if path is not None:
        module.__file__ = path
        module.__cached__ = None
        module.__loader__ = loader("__main__", path)
    sys.modules["__main__"] = module
    return module.__dict__


# ---- Text and code


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        # As python says it, with its exit status.
        print(
            f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        raise SystemExit(2) from None


def _compiled(source: str | bytes, file: str) -> types.CodeType:
    """A program's code, free of this file's ``__future__``; what is no text is told with its line.

    python reads a program as a file, and words it differently from ``compile``.
    """
    encoding = None
    if isinstance(source, bytes):
        encoding = _declared(source)
        if encoding is None:
            _check_utf8(source, file)
        _check_null(source, file)
    try:
        return compile(source, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        if encoding is None or error.lineno:
            raise
        known = error.msg.startswith("encoding problem")
        raise SyntaxError(error.msg if known else f"encoding problem: {encoding}") from None


def _declared(source: bytes) -> str | None:
    """The encoding that a comment in the first two lines names (PEP 263)."""
    for line in source.removeprefix(codecs.BOM_UTF8).split(b"\n", 2)[:2]:
        named = re.match(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", line)
        if named:
            return named[1].decode()
        if line.strip()[:1] not in (b"", b"#"):
            return None
    return None


def _check_null(source: bytes, file: str) -> None:
    before, null, _ = source.partition(b"\0")
    if null:
        line = before.rpartition(b"\n")[2].decode(errors="replace")
        at = (file, before.count(b"\n") + 1, 0, line + "\n")
        raise SyntaxError("source code cannot contain null bytes", at)


def _check_utf8(source: bytes, file: str) -> None:
    try:
        source.decode()
    except UnicodeDecodeError as error:
        first = error.start
        raise SyntaxError(
            f"Non-UTF-8 code starting with '\\x{source[first]:02x}' in file {file} on line "
            f"{source.count(10, 0, first) + 1}, but no encoding declared; see "
            "https://peps.python.org/pep-0263/ for details"
        ) from None


def _unpacked(data: bytes) -> types.CodeType:
    """The code of a pyc."""
    import marshal

    if data[:4] != importlib.util.MAGIC_NUMBER:
        raise RuntimeError("Bad magic number in .pyc file")
    try:
        code = marshal.loads(data[16:])
    except (EOFError, ValueError, TypeError):
        code = None
    if not isinstance(code, types.CodeType):
        raise RuntimeError("Bad code object in .pyc file")
    return code
