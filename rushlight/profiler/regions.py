"""Parts of a program that can be run again: a marked block, a loop's turn, a module's call."""

from __future__ import annotations

import ast
import contextlib
import sys
from dataclasses import dataclass, field

from rushlight import _C
from rushlight._ranges import record_function
from rushlight.diagnosis.frames import is_user_code
from rushlight.diagnosis.source import Source

# Who wants to know where regions begin: set while ``rushlight profile --try`` runs a program.
listeners: list = []
_UNDOABLE = "yields values, so it can not be run again by itself"


class region:
    """Marks the part of a program that ``rushlight profile --try`` measures changes of.

    As a context manager or a decorator. The block is run again and again in copies of the
    process, so it should do one piece of work, such as a training step or a request, and be
    alike each time. Elsewhere it is a named range, as ``record_function(name)`` is.

    >>> for batch in loader:
    ...     with rushlight.profiler.region():
    ...         train_step(batch)
    """

    def __init__(self, name: str = "region"):
        self.name = name
        self._range = record_function(name)

    def __enter__(self):
        if listeners:
            told(sys._getframe(1))
        self._range.__enter__()
        return self

    def __exit__(self, *error):
        return self._range.__exit__(*error)

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def marked(*args, **kwargs):
            if listeners:
                for listener in list(listeners):
                    listener(Call(function, args, kwargs))
            with record_function(self.name):
                return function(*args, **kwargs)

        return marked


def told(frame) -> None:
    """A marked block begins in a frame."""
    for listener in list(listeners):
        listener(Block.marked(frame))


@dataclass
class Call:
    """A call that can be made again."""

    function: object
    args: tuple
    kwargs: dict
    loader: object = None
    lines: tuple = ()
    trains: bool = False
    problem: str = ""

    def run(self, wrapper=contextlib.nullcontext, batch=None) -> dict:
        """Makes the call within ``wrapper()``; its outputs by name."""
        with wrapper():
            return {"result": self.function(*self.args, **self.kwargs)}

    def tensors(self) -> list:
        return [*self.args, *self.kwargs.values()]

    def replace(self, change) -> None:
        """Changes the inputs."""
        self.args = tuple(change(a) for a in self.args)
        self.kwargs = {name: change(value) for name, value in self.kwargs.items()}


@dataclass
class Block:
    """Statements of a program with the names that they see, to be run again."""

    file: str
    statements: list
    names: dict = field(default_factory=dict)
    loader: object = None  # the DataLoader that the loop around it goes through
    loop: ast.For | None = None
    counted: bool = False  # whether the loop goes through enumerate(loader)
    problem: str = ""  # why it can not be run again
    steps: bool = False  # whether an optimizer's step is known to be in it

    @classmethod
    def of(cls, frame, statements: list, loop=None) -> Block:
        """A block of a frame, as its names are now."""
        names = {**frame.f_globals, **{k: _copied(v) for k, v in _C._locals(frame).items()}}
        block = cls(frame.f_code.co_filename, statements, names)
        if any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in _own(statements)):
            block.problem = _UNDOABLE
        if isinstance(loop, ast.For):
            block.loop, block.counted = loop, _is_counted(loop.iter)
        return block

    @classmethod
    def marked(cls, frame) -> Block:
        """The block of the ``with`` statement that a frame enters now."""
        source = Source.of(frame.f_code.co_filename)
        found = None
        for node in ast.walk(source.tree) if source else ():
            if isinstance(node, ast.With):
                at = [i.context_expr for i in node.items]
                if any(e.lineno <= frame.f_lineno <= e.end_lineno for e in at):
                    found = node
        if found is None:
            return cls(frame.f_code.co_filename, [], problem="its source is not to be found")
        return cls.of(frame, found.body)

    @property
    def lines(self) -> tuple:
        """The first and the last line."""
        if not self.statements:
            return ()
        return self.statements[0].lineno, max(s.end_lineno for s in self.statements)

    @property
    def trains(self) -> bool:
        """Whether the block runs backward, as far as it can be told before it is run."""
        return self.steps or self._first_backward() < len(self.statements)

    def _first_backward(self) -> int:
        for k, statement in enumerate(self.statements):
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "backward":
                    return k
        return len(self.statements)

    @property
    def forward_lines(self) -> tuple:
        """The lines before the first backward."""
        before = self.statements[: self._first_backward()]
        return (before[0].lineno, max(s.end_lineno for s in before)) if before else ()

    def run(self, wrapper=contextlib.nullcontext, batch=None) -> dict:
        """Runs the block, what comes before its backward within ``wrapper()``; its outputs."""
        names = dict(self.names)
        names["__wrapper"], names["__Left"] = wrapper, _Left
        if batch is not None:
            names["__batch"] = (0, batch) if self.counted else batch
        with contextlib.suppress(_Left):
            exec(self._code(batch is not None), names)
        bound = {n.id for s in self.statements for n in _own([s]) if _is_bound(n)}
        return {name: names.get(name) for name in sorted(bound)}

    def _code(self, with_batch: bool):
        key = "_compiled_with_batch" if with_batch else "_compiled"
        if key not in self.__dict__:
            self.__dict__[key] = self._compiled_code(with_batch)
        return self.__dict__[key]

    def _compiled_code(self, with_batch: bool):
        # Parsed anew: the source's own tree is not to be changed.
        text = "".join(ast.unparse(s) + "\n" for s in self.statements)
        body = _AsBlock().visit(ast.parse(text)).body
        cut = self._first_backward()
        inside = ast.parse("with __wrapper():\n    pass").body[0]
        inside.body = body[:cut] or inside.body
        body = [inside, *body[cut:]]
        if with_batch:
            assign = ast.parse(f"{ast.unparse(self.loop.target)} = __batch").body
            body = [*assign, *body]
        once = ast.parse("for __once in (0,):\n    pass").body[0]
        once.body = body
        tree = ast.fix_missing_locations(ast.Module(body=[once], type_ignores=[]))
        return compile(tree, "<the region, run again>", "exec", dont_inherit=True)

    def tensors(self) -> list:
        return list(self.names.values())

    def replace(self, change) -> None:
        """Changes the values of the names that the block reads."""
        read = {n.id for s in self.statements for n in ast.walk(s) if isinstance(n, ast.Name)}
        for name in read & self.names.keys():
            self.names[name] = change(self.names[name])


class _Left(Exception):
    """A ``return`` of the block."""


class _AsBlock(ast.NodeTransformer):
    """Makes statements of a function such as may stand by themselves."""

    def visit_Return(self, node):
        raising = ast.parse("raise __Left").body[0]
        return [ast.Expr(node.value), raising] if node.value is not None else raising

    def visit_Nonlocal(self, node):
        return ast.Pass()

    def visit_FunctionDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef


def _own(statements: list):
    """The nodes of statements, without those of functions that are defined in them."""
    stack = list(statements)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(node))


def _is_bound(node) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _copied(value):
    return value.copy() if type(value) in (list, dict, set) else value


def _is_counted(node) -> bool:
    """Whether a loop's expression numbers what it goes through."""
    while isinstance(node, ast.Call) and node.args:
        if getattr(node.func, "id", "") == "enumerate":
            return True
        node = node.args[0]
    return False


def turn_around(frame):
    """(frame, loop) of the innermost loop around what runs now in the user's frames, or None."""
    while frame is not None:
        source = Source.of(frame.f_code.co_filename) if is_user_code(frame.f_code) else None
        statement = source.statement(frame.f_lineno) if source is not None else None
        if statement is not None:
            loops = [statement] if isinstance(statement, (ast.For, ast.While)) else []
            loops += source.loops_around(statement)
            if loops:
                return frame, loops[0]
        frame = frame.f_back
    return None


def at_next_turn(frame, loop, listener) -> bool:
    """Calls ``listener(block)`` when the loop's next turn begins; False if that is not seen."""
    if sys.gettrace() is not None:
        return False
    first = loop.body[0].lineno

    def trace(traced, event, _):
        if event == "line" and traced.f_lineno == first:
            sys.settrace(None)
            traced.f_trace = None
            listener(Block.of(traced, loop.body, loop))
        return trace

    frame.f_trace = trace
    sys.settrace(lambda *_: None)
    return True
