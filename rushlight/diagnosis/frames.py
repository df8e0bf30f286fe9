"""The user's frames of a traceback: the expression that failed in each, and its operands."""

from __future__ import annotations

import ast
import functools
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType

from rushlight import _C

from . import changes, trial
from .finding import Fix, Related
from .source import Source, typed

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MISSING = object()
# What text goes by that is typed into IPython, python or a console, or stands in a docstring.
_SESSIONS = "<ipython-input-", "<python-input-", "<stdin>", "<console>", "<doctest "
_MOST_TURNS = 1000
_OWN_FRAMES = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


def is_user_code(code: CodeType) -> bool:
    """Whether a code object comes from the user's program: not ours, not an installed library."""
    return is_user_path(code.co_filename)


def is_user_path(file: str) -> bool:
    """Whether a file is the user's own: not ours, not an installed library's."""
    if file.startswith(("<", _PACKAGE)):
        return file in typed or file.startswith(_SESSIONS)
    return not any(part in file for part in ("site-packages", "dist-packages", "lib/python3"))


# ---- What may be evaluated again

_CHANGING = {
    "backward", "step", "append", "pop", "popleft", "next", "extend", "load", "write", "open",
    "save", "input", "exit", "quit", "system", "popen", "remove", "unlink", "send", "put", "close",
    "insert", "update", "clear", "setattr", "exec", "eval", "mkdir", "rename", "rmtree", "dump",
}  # fmt: skip


def changes_something(node: ast.AST) -> bool:
    """Whether evaluating an expression again may do more than give its value."""
    for part in ast.walk(node):
        if isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(part, ast.Call):
            name = called(part)
            if name in _CHANGING or (name.endswith("_") and not name.endswith("__")):
                return True
    return False


def called(node: ast.AST) -> str:
    """The last name of what a call calls: ``from_numpy`` of ``torch.from_numpy(a)``, else ""."""
    if not isinstance(node, ast.Call):
        return ""
    return last_name(node.func)


def receiver(node: ast.AST) -> ast.expr | None:
    """What a method is called on: ``opt`` of ``opt.step()``."""
    method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return node.func.value if method else None


def last_name(node: ast.AST) -> str:
    """``grad`` of ``model.w.grad``, ``w`` of ``w``, else ""."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


# ---- Frames


@dataclass
class Failed:
    """One of the user's frames, and the expression in it that was being evaluated."""

    frame: FrameType
    file: str
    line: int
    function: str
    source: Source | None
    node: ast.AST | None

    @property
    def text(self) -> str:
        """The failing expression as written, or its whole line."""
        if self.source is None:
            return ""
        if self.node is None:
            return self.source.lines[self.line - 1].strip()
        return self.source.segment(self.node)

    @property
    def statement(self) -> ast.stmt | None:
        if self.source is None:
            return None
        if self.node is None:
            return self.source.statement(self.line)
        return self.source.statement_of(self.node)

    @property
    def loops(self) -> list[ast.AST]:
        """The loops around it in its function, innermost first."""
        known = self.source is not None and self.node is not None
        return self.source.loops_around(self.node) if known else []

    @property
    def went_on(self) -> bool:
        """Whether its loop has ended since, so that names may stand for other values by now."""
        loop = next(iter(self.loops), None)
        return loop is not None and not loop.lineno <= (self.frame.f_lineno or 0) <= loop.end_lineno

    def fix(self, text: str, shown: str | None = None, **parts) -> Fix:
        """The failing expression becomes other text."""
        return self.source.fix(self.node, text, shown, **parts)

    def fix_part(self, part: ast.AST, text: str, shown: str | None = None) -> Fix:
        """A part of it becomes other text; shown as the whole, which is what a trial evaluates."""
        whole = changes.with_part(self.source, self.node, part, text)
        return self.source.fix(part, text, shown or whole, call=whole)

    def related(self, role: str) -> list[Related]:
        """This line as one that belongs to a finding at another."""
        return [Related(self.file, self.line, role)]

    @functools.cached_property
    def names(self) -> dict:
        """The frame's local names, with those of the comprehension that the expression stands in.

        From Python 3.12 on a comprehension is part of the frame around it, and its names are gone
        once it has failed: they are those of its first turn that fails again.
        """
        names = dict(_C._locals(self.frame))
        if self.source is None or not isinstance(self.node, ast.expr):
            return names
        around = _comprehensions(self.node)
        own = {n.id for c in around for n in ast.walk(c.target) if isinstance(n, ast.Name)}
        inlined = self.frame.f_code.co_name not in _OWN_FRAMES
        if not own or not inlined or changes_something(self.node):
            return names
        failing = compile(ast.unparse(self.node), "<trial>", "eval")
        turns = [*itertools.islice(_turns(self.frame, names, around), _MOST_TURNS)]

        def first() -> int | None:
            for number, turn in enumerate(turns):
                try:
                    eval(failing, self.frame.f_globals, dict(turn))
                except Exception:
                    return number
            return None

        found = trial.apart(first)
        return names if found is None else turns[found]

    def value(self, node: ast.AST, default=_MISSING):
        """The value of a name, an attribute chain, a constant index or a literal; no call is made.

        Raises LookupError without a default: what would have to be computed is not known.
        """
        try:
            return _value(node, self)
        except LookupError:
            if default is _MISSING:
                raise
            return default


def message_of(error: BaseException) -> str:
    """The text of an error, also where its own ``__str__`` fails."""
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"


def user_frames(traceback) -> list[Failed]:
    """The user's frames of a traceback, outermost first."""
    frames = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_user_code(code):
            frames.append(_failed(traceback))
        traceback = traceback.tb_next
    return frames


def _failed(traceback) -> Failed:
    code, frame = traceback.tb_frame.f_code, traceback.tb_frame
    source = Source.of(code.co_filename)
    node = None
    positions = list(code.co_positions())
    at = traceback.tb_lasti // 2
    if source is not None and at < len(positions) and None not in positions[at]:
        line, end_line, column, end_column = positions[at]
        node = source.node_at(line, end_line, column, end_column)
    return Failed(frame, code.co_filename, traceback.tb_lineno, code.co_qualname, source, node)


def _comprehensions(node: ast.AST) -> list[ast.comprehension]:
    """The loops of the comprehensions that an expression is part of, outermost first."""
    loops: list[ast.comprehension] = []
    while isinstance(node, ast.expr) and not isinstance(node, (ast.Lambda, ast.GeneratorExp)):
        node = node.parent
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
            loops = [*node.generators, *loops]
    return loops


def _turns(frame: FrameType, names: dict, loops: list[ast.comprehension]) -> Iterator[dict]:
    """The names that each turn of nested loops sees; what they iterate over is evaluated again."""
    if not loops:
        yield names
        return
    loop, *inner = loops
    target = ast.unparse(loop.target)
    bound = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
    binding = f"[{{{', '.join(f'{n!r}: {n}' for n in bound)}}} for {target} in (_item,)][0]"
    for item in trial.value(frame, names, f"list({ast.unparse(loop.iter)})") or ():
        turn = {**names, **(trial.value(frame, {"_item": item}, binding) or {})}
        if all(trial.value(frame, turn, ast.unparse(test)) for test in loop.ifs):
            yield from _turns(frame, turn, inner)


def _value(node: ast.AST, at: Failed):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for room in (at.names, at.frame.f_globals, at.frame.f_builtins):
            if node.id in room:
                return room[node.id]
        raise LookupError(node.id)
    if isinstance(node, ast.Attribute):
        return _attribute(_value(node.value, at), node.attr)
    if isinstance(node, ast.Subscript):
        holder = _value(node.value, at)
        if isinstance(holder, (list, tuple, dict)) or _is_module(holder):
            try:
                return holder[_value(node.slice, at)]
            except (KeyError, IndexError, TypeError) as error:
                raise LookupError(str(error)) from error
        raise LookupError("an index of what is computed")
    raise LookupError(type(node).__name__)


def _attribute(holder, name: str):
    """An attribute that can be read without running the user's code."""
    if isinstance(holder, type(os)):
        return getattr(holder, name, None) if name in vars(holder) else _raise(name)
    if _is_module(holder):
        for table in ("_parameters", "_buffers", "_modules"):
            found = vars(holder).get(table, {})
            if name in found:
                return found[name]
    try:
        room = vars(holder)
    except TypeError:
        room = {}
    if name in room:
        return room[name]
    for base in type(holder).__mro__:
        if name in vars(base):
            kind = vars(base)[name]
            if not hasattr(kind, "__get__"):
                return kind
            break
    return _raise(name)


def _raise(name: str):
    raise LookupError(name)


def _is_module(value) -> bool:
    from rushlight.nn import Module

    return isinstance(value, Module)
