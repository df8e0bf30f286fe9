"""Where a value came from: live values first, names followed back through the user's source."""

from __future__ import annotations

import ast
import gc
import numbers
import sys
import traceback
import types
from collections.abc import Iterator
from dataclasses import dataclass

from rushlight import _C, nn

from . import changes, construction, frames, trial, values
from .finding import Fix, shortened
from .frames import called, changes_something
from .source import Source


@dataclass(frozen=True)
class Spot:
    """An expression or statement of the user's program; ``at`` the frame that runs it, if any."""

    source: Source
    node: ast.AST
    at: frames.Failed | None = None

    @property
    def line(self) -> int:
        return self.node.lineno

    @property
    def file(self) -> str:
        return self.source.file

    @property
    def place(self) -> tuple[str, int]:
        return self.source.file, self.node.lineno

    @property
    def where(self) -> str:
        """``file.py:12``."""
        return values.line_of(self.file, self.line)

    @property
    def text(self) -> str:
        return self.source.segment(self.node)

    @property
    def named(self) -> str:
        """What stands here in short, and where: ``loss.backward() at train.py:12``."""
        return f"{shortened(self.text)} at {self.where}"

    @property
    def statement(self) -> ast.stmt:
        return self.source.statement_of(self.node)

    def fix(self, text: str, shown: str | None = None, **parts) -> Fix:
        """What stands here becomes other text."""
        return self.source.fix(self.node, text, shown, **parts)

    def fix_part(self, part: ast.AST, text: str) -> Fix:
        """A part of what stands here becomes other text; shown as the whole."""
        return self.source.fix(part, text, changes.with_part(self.source, self.node, part, text))


def of_place(origin) -> Spot | None:
    """The expression that a recorded place (``_C._origin`` and its like) stands for."""
    if origin is None:
        return None
    source = Source.of(origin[0])
    node = source.node_at(*origin[2:]) if source else None
    return Spot(source, node) if node is not None else None


def of_tensor(value) -> Spot | None:
    """The user's expression that made a tensor."""
    return of_place(_C._origin(value)) if values.is_tensor(value) else None


def of_module(module) -> Spot | None:
    """The user's call that built a module."""
    steps = construction.steps_to(module)
    return Spot(steps[0].source, steps[0].call) if steps else None


STACKS = ("TransformerEncoder", "TransformerDecoder")


def options_of(layer) -> Spot | None:
    """The call with a layer's options: of a stack of layers that of the layer it repeats."""
    spot = of_module(layer)
    if spot is None or type(layer).__name__ not in STACKS:
        return spot
    node = spot.node.args[0] if spot.node.args else None
    if isinstance(node, (ast.Name, ast.Attribute)):
        scope = spot.source.function_of(node) or spot.source.tree
        before = [
            s.value
            for s in ast.walk(scope)
            if isinstance(s, ast.Assign)
            and s.lineno <= spot.line
            and ast.unparse(s.targets[0]) == ast.unparse(node)
        ]
        node = before[-1] if before else node
    return Spot(spot.source, node) if isinstance(node, ast.Call) else None


def value(at: frames.Failed, node: ast.AST):
    """What an expression is now: read if it can be, else evaluated again in its frame, or None.

    Evaluating again is for errors at the top only, where the program has ended; expressions that
    change something in place, wait or bind names are left alone.
    """
    found = at.value(node, _UNKNOWN)
    if found is not _UNKNOWN:
        return found
    if not isinstance(node, ast.expr) or at.source is None or changes_something(node):
        return None
    return trial.value(at.frame, at.names, ast.unparse(node))


_UNKNOWN = object()


def is_number(at: frames.Failed, node: ast.AST, number: int) -> bool:
    """Whether an expression is known to be a whole number; no tensor is compared."""
    held = at.value(node, None) if isinstance(node, ast.expr) else None
    return isinstance(held, numbers.Integral) and held == number


def operands(at: frames.Failed) -> list[ast.expr]:
    """The parts that a failing expression works on: operands, or receiver and arguments."""
    node = at.node
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    if isinstance(node, ast.Attribute):
        return [node.value]
    if isinstance(node, ast.Call):
        parts = changes.given(node)
        if isinstance(node.func, ast.Attribute) and not is_module_name(at, node.func.value):
            parts.insert(0, node.func.value)
        return parts
    return []


def is_module_name(at: frames.Failed, node: ast.AST) -> bool:
    """Whether an expression is a Python module such as ``torch`` or ``nn.functional``."""
    return isinstance(at.value(node, None), type(sys))


def tensors(at: frames.Failed) -> list[tuple[ast.expr, object]]:
    """The operands of the failing expression that are tensors, each with its value."""
    known = [(part, value(at, part)) for part in operands(at)]
    return [(part, v) for part, v in known if values.is_tensor(v)]


def inner_locals(error: BaseException) -> Iterator[dict]:
    """The local names of the library's frames below the user's last one, innermost first."""
    found = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        found = [] if frames.is_user_code(frame.f_code) else [*found, _C._locals(frame)]
    yield from reversed(found)


def inner(error: BaseException, name: str):
    """A local name of the library's frames, the outermost that has it, or None."""
    found = None
    for names in inner_locals(error):
        found = names.get(name, found)
    return found


# ---- Following names


def bound(raised, at: frames.Failed, node: ast.AST) -> Spot | None:
    """The expression whose value a name or attribute has: its last assignment, seen from a frame.

    A parameter is followed to the caller's argument. None where nothing is assigned.
    """
    if isinstance(node, ast.Name):
        return _bound_name(raised, at, node)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        holder = at.value(node.value, None)
        return attribute_of(holder, node.attr) if holder is not None else None
    return None


def _bound_name(raised, at, node) -> Spot | None:
    scope = at.source.function_of(at.node if at.node is not None else node)
    line = getattr(at.node, "lineno", at.line)
    if scope is not None:
        statement = at.source.last_assignment(node.id, line, scope)
        if statement is not None:
            return part_bound(Spot(at.source, statement, at), node.id)
        if node.id in construction.all_parameters(scope):
            return _argument(raised, at, scope, node.id)
        return global_name(at.file, node.id, at)
    statement = at.source.last_assignment(node.id, line) or at.source.last_assignment(
        node.id, sys.maxsize
    )
    return part_bound(Spot(at.source, statement, at), node.id) if statement is not None else None


def global_name(file: str, name: str, at=None) -> Spot | None:
    """The last assignment of a name at the top of a file, or of one that it imports it from."""
    source = Source.of(file)
    statement = source.last_assignment(name, sys.maxsize) if source else None
    if statement is not None:
        return part_bound(Spot(source, statement, at), name)
    return None


def part_bound(spot: Spot, name: str) -> Spot | None:
    """The part of an assigned value that a name gets."""
    statement = spot.node
    if isinstance(statement, ast.For):
        return Spot(spot.source, statement.iter, spot.at)
    if getattr(statement, "value", None) is None:
        return None
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple):
        for target in statement.targets:
            if isinstance(target, ast.Tuple) and len(target.elts) == len(statement.value.elts):
                for part, given in zip(target.elts, statement.value.elts, strict=True):
                    if isinstance(part, ast.Name) and part.id == name:
                        return Spot(spot.source, given, spot.at)
    return Spot(spot.source, statement.value, spot.at)


def _argument(raised, at, scope: ast.FunctionDef, name: str) -> Spot | None:
    where = next((i for i, f in enumerate(raised.frames) if f.frame is at.frame), 0)
    if where == 0:
        return None
    caller = raised.frames[where - 1]
    call = caller.node
    if not isinstance(call, ast.Call):
        return None
    node = construction.argument(call, construction.place_of(scope, name), name)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return bound(raised, caller, node) or Spot(caller.source, node, caller)
    return Spot(caller.source, node, caller) if node is not None else None


def current(raised, spot: Spot):
    """What a name is now, in a running frame of its function; an attribute in any of its file."""
    function = spot.source.function_of(spot.node)
    for at in reversed(raised.frames):
        if at.file != spot.file or at.node is None:
            continue
        if isinstance(spot.node, ast.Attribute) or at.source.function_of(at.node) is function:
            found = at.value(spot.node, None)
            if found is not None:
                return found
    return _of_a_live_object(raised, spot)


def _of_a_live_object(raised, spot: Spot):
    """``self.NAME`` of an object of that class that the user's frames hold, alone or in another."""
    owner = spot.source.class_of(spot.node)
    if owner is None or not isinstance(spot.node, ast.Attribute):
        return None
    for held in raised.held():
        inside = held.modules() if isinstance(held, nn.Module) else [held]
        for item in [*inside, *values.attributes(held).values()]:
            if type(item).__name__ == owner.name:
                return values.attributes(item).get(spot.node.attr)
    return None


def class_source(kind: type) -> tuple[Source, ast.ClassDef] | None:
    """The source of a class of the user's."""
    source = Source.of_module(kind.__module__)
    return next(classes([source] if source else [], kind.__name__), None)


def classes(sources: list[Source], name: str) -> Iterator[tuple[Source, ast.ClassDef]]:
    """The definitions of classes of that name."""
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield source, node


def attribute_of(holder, name: str) -> Spot | None:
    """The value in ``self.NAME = value`` of an object's class, the last one."""
    for kind in type(holder).__mro__:
        if values.is_ours(kind) or kind.__module__ == "builtins":
            continue
        found = class_source(kind)
        if found is None:
            continue
        source, node = found
        statements = source.attribute_assignments(name, node)
        if statements:
            first = min(statements, key=lambda s: s.lineno)
            return Spot(source, attribute_value(first, name))
    return None


def attribute_value(statement: ast.Assign, name: str) -> ast.expr:
    """The part of ``self.a, self.b = x, y`` that an attribute gets."""
    if isinstance(statement.value, ast.Tuple):
        for target in statement.targets:
            if isinstance(target, ast.Tuple) and len(target.elts) == len(statement.value.elts):
                for part, given in zip(target.elts, statement.value.elts, strict=True):
                    if isinstance(part, ast.Attribute) and part.attr == name:
                        return given
    return statement.value


def definition(function) -> tuple[Source, ast.FunctionDef | ast.Lambda] | None:
    """(source, its def or lambda) of a function or method of the user's, behind its wrappers."""
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if not isinstance(function, types.FunctionType) or not frames.is_user_code(code):
        return None
    source = Source.of(code.co_filename)
    for node in ast.walk(source.tree) if source else ():
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if min([node.lineno, *(d.lineno for d in node.decorator_list)]) == code.co_firstlineno:
                return source, node
        elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
            names = [a.arg for a in node.args.args]
            if node.lineno == code.co_firstlineno and names == [*code.co_varnames[: len(names)]]:
                return source, node
    return None


def returned(function) -> list[Spot]:
    """The expressions that a function of the user's returns."""
    found = definition(function)
    if found is None:
        return []
    source, node = found
    if isinstance(node, ast.Lambda):
        return [Spot(source, node.body)]
    return [
        Spot(source, part.value)
        for part in ast.walk(node)
        if isinstance(part, ast.Return)
        and part.value is not None
        and source.function_of(part) is node
    ]


def gives_nothing(statement: ast.Return) -> bool:
    """Whether it is ``return`` or ``return None``."""
    value = statement.value
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


# ---- The user's files


def user_sources(raised) -> list[Source]:
    """The user's files of a traceback, innermost first, then those of the modules imported."""
    files = [f.file for f in reversed(raised.frames)]
    return sources_of(files)


def program_sources() -> list[Source]:
    """The user's files among the modules that were imported, and the program itself."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    named = [main] if isinstance(main, str) and frames.is_user_path(main) else []
    return sources_of(named)


def sources_of(files: list[str]) -> list[Source]:
    """Files as given, then the user's among those of the modules that were imported."""
    held = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    own = (f for f in held if isinstance(f, str) and f.endswith(".py") and frames.is_user_path(f))
    return [s for s in map(Source.of, dict.fromkeys([*files, *own])) if s is not None]


def calls(sources: list[Source], *names: str) -> list[Spot]:
    """All calls of functions or classes with one of these last names."""
    return [
        Spot(source, node)
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and called(node) in names
    ]


def data_tensor(raised, wanted) -> object:
    """The tensor of a dataset that a batch was taken from, where a loader's dataset has one.

    A batch has the dataset's dtype and trailing shape; the dataset is found through the loop.
    """
    from rushlight.utils.data import TensorDataset

    for dataset in datasets(raised):
        dataset = whole_dataset(dataset)
        if isinstance(dataset, TensorDataset):
            rows = [(t, t.shape[1:]) for t in dataset.tensors]
        else:
            rows = [(t, t.shape) for t in _sample(dataset)]
        for tensor, shape in rows:
            if tensor.dtype == wanted.dtype and shape == wanted.shape[1:]:
                return tensor
    return None


def whole_dataset(dataset):
    """The dataset that subsets and other wrappers take their rows from."""
    while hasattr(dataset, "dataset"):
        dataset = dataset.dataset
    return dataset


def datasets(raised) -> list:
    """The datasets of the loaders that are alive."""
    return [loader.dataset for loader in loaders(raised)]


def loaders(raised) -> list:
    """The loaders that the user's frames hold; where they hold none, those that are alive."""
    from rushlight.utils.data import DataLoader

    found = []
    for at in reversed(raised.frames):
        for held in [*_C._locals(at.frame).values(), *at.frame.f_globals.values()]:
            if isinstance(held, DataLoader) and held not in found:
                found.append(held)
    return found or _made_again(raised) or [o for o in gc.get_objects() if type(o) is DataLoader]


def _made_again(raised) -> list:
    """The loader of a loop over a call's result, which nothing holds any more: called again."""
    from rushlight.utils.data import DataLoader

    for at in reversed(raised.frames):
        for loop in at.loops:
            for node in ast.walk(loop.iter) if isinstance(loop, ast.For) else ():
                found = value(at, node) if isinstance(node, ast.Call) else None
                if isinstance(found, DataLoader):
                    return [found]
    return []


def first_item(dataset):
    """A copy of a dataset's first item; None where it has none."""
    return trial.apart(lambda: dataset[0])


def _sample(dataset) -> list:
    """The tensors of a dataset's first item, which know where they were made."""
    item = trial.quietly(lambda: dataset[0])
    items = item.values() if isinstance(item, dict) else item
    items = items if isinstance(items, (list, tuple)) else [items]
    return [t for t in items if values.is_tensor(t)]


def beginning(raised, tensor) -> Spot | None:
    """Where a tensor entered: its own expression, or that of the dataset it was taken from."""
    spot = of_tensor(tensor)
    if spot is not None and isinstance(spot.node, ast.Call):
        return spot
    whole = data_tensor(raised, tensor)
    if whole is None:
        return spot
    return _of_which_an_item(of_tensor(whole)) or spot


def _of_which_an_item(spot: Spot | None) -> Spot | None:
    """For ``self.y[i]`` of a dataset, the value that ``self.y`` was given."""
    node = spot.node if spot is not None else None
    held = node.value if isinstance(node, ast.Subscript) else None
    owner = spot.source.class_of(node) if held is not None else None
    if owner is None or not isinstance(held, ast.Attribute):
        return spot
    statements = spot.source.attribute_assignments(held.attr, owner)
    values_ = [attribute_value(s, held.attr) for s in statements]
    made = next((v for v in values_ if isinstance(v, ast.Call)), None)
    return Spot(spot.source, made) if made is not None else spot
