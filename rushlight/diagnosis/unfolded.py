"""Statements that share a line, for edits of whole lines: each is first given a line of its own."""

from __future__ import annotations

import ast
import functools

from .blocks import block_of
from .finding import Edit, apply_edits


def on_lines_of_their_own(make):
    """Decorator of ``make(source, *nodes and other arguments)``, which gives an Edit or None.

    Where a statement among the arguments shares a line with another, or with the head of its
    block, ``make`` gets a source in which none of the statements there does, and its edit becomes
    one of the source as it is.
    """

    @functools.wraps(make)
    def made(source, *args, **kwargs):
        runs = []
        for node in _statements(args):
            run = _sharing(source, node)
            if run and run not in runs:
                runs.append(run)
        if not runs:
            return make(source, *args, **kwargs)
        text = apply_edits(source.text, [_unfolding(source, run) for run in runs])
        unfolded = type(source)(source.file, text)
        here, there = list(ast.walk(source.tree)), list(ast.walk(unfolded.tree))
        same = {id(a): b for a, b in zip(here, there, strict=True)}
        edit = make(unfolded, *(_in(same, a) for a in args), **kwargs)
        return None if edit is None else _between(source, apply_edits(text, [edit]))

    return made


def _statements(args):
    for arg in args:
        if isinstance(arg, ast.stmt):
            yield arg
        elif isinstance(arg, list):
            yield from (a for a in arg if isinstance(a, ast.stmt))


def _in(same: dict, arg):
    if isinstance(arg, list):
        return [_in(same, a) for a in arg]
    return same.get(id(arg), arg)


def _sharing(source, node: ast.stmt) -> list[ast.stmt]:
    """The statements of a block that share lines with ``node``, or ``node`` behind its head."""
    block = block_of(node)
    first = last = block.index(node)
    while first and block[first - 1].end_lineno == block[first].lineno:
        first -= 1
    while last + 1 < len(block) and block[last + 1].lineno == block[last].end_lineno:
        last += 1
    run = block[first : last + 1]
    return run if len(run) > 1 or _head(source, run[0]).strip() else []


def _head(source, node: ast.stmt) -> str:
    """What stands before a statement on its line."""
    return source.lines[node.lineno - 1].encode()[: node.col_offset].decode()


def _unfolding(source, run: list[ast.stmt]) -> Edit:
    """Each statement of a run on lines of its own, beneath what stood before the first."""
    first, last = run[0], run[-1]
    head = _head(source, first)
    space = head[: len(head) - len(head.lstrip())]
    lines = []
    if head.strip():
        lines.append(head.rstrip())
        space += "    "
    lines += [space + source.segment(s) for s in run]
    rest = source.lines[last.end_lineno - 1].encode()[last.end_col_offset :].decode()
    rest = rest.strip().lstrip(";").strip()
    if rest:
        lines[-1] += f"  {rest}"
    return Edit(source.file, first.lineno, last.end_lineno, "\n".join(lines))


def _between(source, text: str) -> Edit:
    """The edit that makes a source this text: of the lines that differ."""
    old, new = source.lines, text.split("\n")
    most = min(len(old), len(new))
    begin = next((i for i in range(most) if old[i] != new[i]), most)
    end = next((i for i in range(most - begin) if old[-1 - i] != new[-1 - i]), most - begin)
    if begin == len(old) - end:  # only lines that come in: a line before them stands for the place
        begin -= 1
    return Edit(source.file, begin + 1, len(old) - end, "\n".join(new[begin : len(new) - end]))
