"""Trying a change of how layers are built: the model built anew on `meta`, and called on shapes.

A change of one layer may pass the call that failed and fail a line later, so all of the model's
forward is run. Definitions of the changed file are executed again in a copy of its names; the call
that built the model, as it reads after the change, is evaluated with them.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass

from rushlight import _C

from . import construction, frames, trial, upstream, values
from .finding import Fix, apply_edits
from .source import Source

SECONDS = 0.2


@dataclass
class Ending:
    """How a call on shapes ended: the result's shape, or the error's class and line."""

    shape: str | None = None
    error: str | None = None
    line: int | None = None
    text: str = ""


class Rebuilt:
    """The model whose forward raised, and the call of it, to be tried with changed sources."""

    def __init__(self, raised):
        self.raised = raised
        modules = raised.modules()
        self.root = modules[0] if modules else None
        self.caller = self._caller() if self.root is not None else None
        steps = construction.steps_to(self.root) if self.root is not None else []
        self.built = steps[0] if steps else None

    def _caller(self):
        """The user's frame that called the model."""
        for at in self.raised.frames:
            if isinstance(at.node, ast.Call) and upstream.value(at, at.node.func) is self.root:
                return at
        return None

    @property
    def is_known(self) -> bool:
        """Whether the model, built and called in the same way again, fails in the same way."""
        if self.caller is None or self.built is None:
            return False
        ending = self.run([])
        error = self.raised.error
        return (
            ending is not None
            and ending.error == type(error).__qualname__
            and ending.text == str(error).split("\n")[0]
        )

    def run(self, edits: list) -> Ending | None:
        """Builds and calls the model with edits applied; None where that tells nothing."""
        import rushlight as torch

        def again() -> Ending | None:
            with torch.no_grad(), torch.device("meta"):
                return self._run(edits)

        return trial.apart(again, SECONDS)

    def _run(self, edits: list) -> Ending | None:
        names = self._definitions(edits)
        call = self._built_call(edits)
        if names is None or call is None:
            return None
        model = eval(call, names)
        model.train(self.root.training)
        used = {type(m) for m in model.modules()}
        if any(kind not in used for kind in self.fresh):
            return None  # it was built from the classes as they were
        arguments = self._arguments()
        if arguments is None:
            return None
        args, kwargs = arguments
        try:
            result = model(*args, **kwargs)
        except Exception as error:
            return self._failed(error)
        return Ending(shape=values.shape_of(result) if values.is_tensor(result) else "")

    def _definitions(self, edits: list) -> dict | None:
        """The caller's names, the classes and functions of the changed files defined anew."""
        names = {**self.caller.frame.f_globals, **_C._locals(self.caller.frame)}
        self.fresh = []  # classes that edits stand in, as they are now
        for file in {e.file for e in edits} | {self.built.source.file}:
            source = Source.of(file)
            if source is None:
                return None
            mine = [e for e in edits if e.file == file]
            tree = ast.parse(apply_edits(source.text, mine))
            tree.body = [n for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))]
            home = self._home(file)
            if file == self.caller.file:
                room, before = names, {}
            elif home is not None:
                room, before = dict(vars(home)), dict(vars(home))
            else:
                return None
            exec(compile(tree, file, "exec", dont_inherit=True), room)
            for name, value in list(names.items()):  # what was imported from there
                if name in before and before[name] is value and room.get(name) is not value:
                    names[name] = room[name]
            around = [_class_around(source, e) for e in mine]
            if None in around and file != self.built.source.file:
                return None
            self.fresh += [room[n.name] for n in around if n is not None]
        return names

    @staticmethod
    def _home(file: str):
        """The module that a file was imported as."""
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) == file:
                return module
        return None

    def _built_call(self, edits: list):
        """The call that built the model, as the changed source has it, compiled."""
        source, node = self.built.source, self.built.call
        mine = [e for e in edits if e.file == source.file]
        path = _path(node)
        changed = ast.parse(apply_edits(source.text, mine))
        found = _follow(changed, path)
        if not isinstance(found, ast.Call):
            return None
        in_classes = all(_class_around(source, e) is not None for e in mine)
        if not in_classes and ast.dump(found) == ast.dump(node):
            return None  # what they change is not run again
        return compile(ast.Expression(found), source.file, "eval")

    def _arguments(self):
        """The call's arguments, as meta tensors of the same shapes."""
        import rushlight as torch
        from rushlight.utils._pytree import tree_map

        def shaped(value):
            def part(one):
                return one.detach().to("meta") if isinstance(one, torch.Tensor) else one

            return tree_map(part, value)  # a recurrent layer's states are a tuple

        args, kwargs = [], {}
        for node in self.caller.node.args:
            if isinstance(node, ast.Starred):
                return None
            with torch.device("cpu"):
                args.append(shaped(_again(self.caller, node)))
        for keyword in self.caller.node.keywords:
            if keyword.arg is None:
                return None
            with torch.device("cpu"):
                kwargs[keyword.arg] = shaped(_again(self.caller, keyword.value))
        return args, kwargs

    def _failed(self, error: BaseException) -> Ending:
        found = frames.user_frames(error.__traceback__)
        last = found[-1] if found else None
        return Ending(
            error=type(error).__qualname__,
            line=last.line if last is not None else None,
            text=str(error).split("\n")[0],
        )


def _again(at, node: ast.expr):
    """What an argument is: read where it can be, else evaluated in its frame."""
    found = at.value(node, None)
    if found is None:
        code = compile(ast.unparse(node), "<trial>", "eval")
        found = eval(code, at.frame.f_globals, dict(_C._locals(at.frame)))
    return found


def _class_around(source: Source, edit) -> ast.ClassDef | None:
    """The class at the top of a file that an edit stands in."""
    for node in source.tree.body:
        inside = node.lineno <= edit.line and edit.end_line <= node.end_lineno
        if inside and isinstance(node, ast.ClassDef):
            return node
    return None


def _path(node: ast.AST) -> list[tuple]:
    """The way from the top of a tree to a node: (field, place in it or None)."""
    path = []
    while (parent := getattr(node, "parent", None)) is not None:
        for name, value in ast.iter_fields(parent):
            if value is node:
                path.append((name, None))
            elif isinstance(value, list) and any(v is node for v in value):
                path.append((name, next(i for i, v in enumerate(value) if v is node)))
        node = parent
    return path[::-1]


def _follow(node: ast.AST, path: list[tuple]):
    for name, place in path:
        node = getattr(node, name, None)
        if place is not None:
            node = node[place] if isinstance(node, list) and place < len(node) else None
        if node is None:
            return None
    return node


def tried(raised, fixes: list[Fix]) -> tuple[list[Fix], list[str]]:
    """Fixes with edits, tried on shapes: those that pass or could not be tried, and the failures.

    Each failure is a sentence: what was tried, and the line that would then fail.
    """
    open_ones = [f for f in fixes if f.edits and f.tried is None]
    rebuilt = Rebuilt(raised) if open_ones else None
    if rebuilt is None or rebuilt.root is None or not rebuilt.is_known:
        return fixes, []
    kept, refused = [], []
    name = type(rebuilt.root).__name__
    for fix in fixes:
        ending = rebuilt.run(fix.edits) if fix in open_ones else None
        if ending is None:
            kept.append(fix)
        elif ending.error is None:
            gives = f"; gives {ending.shape}" if ending.shape else ""
            fix.tried = f"tried: all of {name}.forward, on shapes{gives}"
            kept.append(fix)
        else:
            where = f"line {ending.line}" if ending.line else name
            then = f"{where.capitalize()} would then fail: {ending.text}"
            refused.append(f"Tried, not offered: {fix.text}. {then}")
    kept.sort(key=lambda f: f.tried is None)
    return kept, refused
