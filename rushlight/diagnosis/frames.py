"""The user's frames of a traceback: the expression that failed in each, and its operands."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from types import CodeType, FrameType

from .source import Source

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MISSING = object()


def is_user_code(code: CodeType) -> bool:
    """Whether a code object comes from the user's program: not ours, not an installed library."""
    file = code.co_filename
    if file.startswith(("<", _PACKAGE)):
        return False
    return not any(part in file for part in ("site-packages", "dist-packages", "lib/python3"))


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

    def value(self, node: ast.AST, default=_MISSING):
        """The value of a name, an attribute chain, a constant index or a literal; no call is made.

        Raises LookupError without a default: what would have to be computed is not known.
        """
        try:
            return _value(node, self.frame)
        except LookupError:
            if default is _MISSING:
                raise
            return default


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


def _value(node: ast.AST, frame: FrameType):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for room in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in room:
                return room[node.id]
        raise LookupError(node.id)
    if isinstance(node, ast.Attribute):
        return _attribute(_value(node.value, frame), node.attr)
    if isinstance(node, ast.Subscript):
        holder = _value(node.value, frame)
        if isinstance(holder, (list, tuple, dict)) or _is_module(holder):
            try:
                return holder[_value(node.slice, frame)]
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
