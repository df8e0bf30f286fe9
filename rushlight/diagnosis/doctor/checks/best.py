"""The best value so far: one that no later value can beat, or that is the worst of all."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field
from typing import ClassVar

from rushlight import _C

from ... import construction, decided, upstream, values
from ...finding import Fix
from ...frames import Failed, called
from ...registry import Check, check, kind
from ...source import Source
from .. import places
from ..places import found

kind(
    "best-value-at-wrong-end",
    "The best value so far begins where none can beat it, or is the worst one",
    """
if val_loss < best_loss: keeps the smallest loss, and needs a start that every loss is below:
float("inf"). From 0.0 on no loss is ever smaller, and the best checkpoint is never written; the
same holds for > and a start of infinity. With the comparison the other way round, the checkpoint
of the largest loss, or of the smallest accuracy, is kept as the best one.
""",
)

TO_BE_SMALL = re.compile(
    r"(?i)loss|(^|[._])(errs?|errors?|nlls?|ppl|perplexity|r?mse|mae|wer|cer)\d*$"
)
TO_BE_LARGE = re.compile(r"(?i)(^|[._])(accs?|\w*accuracy|f1|auc|m?iou|dice|bleu|psnr)\d*$")
NEGATED = re.compile(r"(?i)^-|(^|_)(neg|minus|inv)")
LEAST_VALUES = 2
MOST_VALUES = 256
FAR = 1e5  # a start that no score reaches
ORDERS = {ast.Lt: True, ast.LtE: True, ast.Gt: False, ast.GtE: False}  # whether small ones are kept
_PLAIN = (ast.Call, ast.Name, ast.Attribute, ast.Subscript)
TURNED = {ast.Lt: ">", ast.LtE: ">=", ast.Gt: "<", ast.GtE: "<="}


@dataclass
class _Keeping:
    """``if value < best: best = value``, or ``best = min(best, value)``; what was seen of it."""

    source: Source
    node: ast.Compare | ast.Call
    value: ast.expr
    best: ast.expr
    keeps_smallest: bool
    seen: list[float] = field(default_factory=list)
    bests: list[float] = field(default_factory=list)

    def look(self, value, best) -> None:
        if value is None or best is None or len(self.seen) >= MOST_VALUES:
            return
        if not self.seen or self.seen[-1] != value:
            self.seen.append(value)
        if not self.bests or self.bests[-1] != best:
            self.bests.append(best)

    @property
    def never_beaten(self) -> bool:
        """Whether all values seen were on the wrong side of a start that never changed."""
        if len(self.seen) < LEAST_VALUES or len(self.bests) != 1:
            return False
        start = self.bests[0]
        if self.keeps_smallest:
            return start <= 0 and min(self.seen) > start
        return start >= FAR and max(self.seen) < start

    @property
    def is_to_be_small(self) -> bool | None:
        """Whether small values are the better ones, by names and by the start; None: unknown."""
        texts = [ast.unparse(node) for node in (self.value, self.best)]
        scope = self.source.function_of(self.value)
        bound = self.source.last_assignment(texts[0], self.value.lineno, scope)
        for part in _assigned([bound]):
            if _text(places.bound_to(part)) == texts[0] and isinstance(_core(part), _PLAIN):
                texts.append(_text(part))
        for text in texts:
            if NEGATED.search(text.rpartition(".")[2]):
                return None
            if TO_BE_SMALL.search(text) or TO_BE_LARGE.search(text):
                return bool(TO_BE_SMALL.search(text))
        return self.bests[0] > 0 if self.bests and math.isinf(self.bests[0]) else None

    @property
    def is_worst(self) -> bool:
        """Whether what is called the best was the worst of the values seen."""
        if "best" not in ast.unparse(self.best).lower() or len(self.seen) < LEAST_VALUES + 1:
            return False
        if self.is_to_be_small is None or self.is_to_be_small == self.keeps_smallest:
            return False
        worst = min if self.keeps_smallest else max
        best = self.bests[-1]
        return best in (worst(self.seen), worst(self.seen[:-1])) and len(set(self.seen)) > 1


@dataclass
class _Scope:
    """A function, or a file's top: its keepings, and calls that may lead to those of objects."""

    source: Source
    keepings: list[_Keeping]
    calls: list[ast.Call]
    inner: dict = field(default_factory=dict)  # by call: (keepings of its method, the method)


@check
class Best(Check):
    kinds = ("best-value-at-wrong-end",)
    needs: ClassVar = {"*": ("step", 2, "fewer than 2 optimizer steps")}

    def start(self, doctor):
        self.scopes = {}
        doctor.watch.on("step", self.look)
        doctor.watch.on("mode", self.look)

    def look(self, *_):
        """Reads what the functions that run now hold."""
        for frame in places.user_frames(3):
            known = self.scopes.get(id(frame.f_code))
            if known is None:
                known = self.scopes[id(frame.f_code)] = (frame.f_code, _scope_of(frame.f_code))
            if known[1] is not None:
                self.look_at(known[1], frame)

    def look_at(self, scope, frame):
        at = Failed(frame, scope.source.file, frame.f_lineno, "", scope.source, None)
        for one in scope.keepings:
            one.look(_number(at.value(one.value, None)), _number(at.value(one.best, None)))
        for call in tuple(scope.calls):
            if not self.look_into(scope, call, at):
                scope.calls.remove(call)

    def look_into(self, scope, call, at) -> bool:
        """An object that is told a value, ``stopper.step(val_loss)``, and keeps the best itself."""
        holder = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        keeper = at.value(holder, None)
        if id(call) not in scope.inner:
            name = call.func.attr if holder is not call.func else "__call__"
            owner = type(keeper)
            is_users = not values.is_ours(owner) and owner.__module__ not in ("builtins", "types")
            scope.inner[id(call)] = _method(owner, name) if is_users else []
        for one, method in scope.inner[id(call)]:
            number = construction.place_of(method, one.value.id)
            given = construction.argument(call, number, one.value.id)
            held = values.attributes(keeper).get(one.best.attr)
            if given is not None:
                one.look(_number(at.value(given, None)), _number(held))
        return bool(scope.inner[id(call)])

    def findings(self, doctor):
        seen = [known[1] for known in self.scopes.values() if known[1] is not None]
        keepings = {id(k): k for scope in seen for k in scope.keepings}
        for scope in seen:
            keepings |= {id(k): k for inner in scope.inner.values() for k, _ in inner}
        return [self.finding(k) for k in keepings.values() if k.never_beaten or k.is_worst]

    def finding(self, one):
        source, start = one.source, decided.follow(one.source, one.best, [])
        first = _constant(start.node)
        value, best = source.segment(one.value), source.segment(one.best)
        count, low, high = len(one.seen), min(one.seen), max(one.seen)
        if not one.never_beaten:
            title = f"{best} is the worst {value} so far"
            said = "largest" if one.is_to_be_small else "smallest"
            evidence = f"of {count} values seen, {low:.4g} to {high:.4g}, {best} kept the {said}"
        elif first is None:
            return None
        else:
            title = f"{best} begins at {first:g}, and no {value} is kept"
            side = "below" if one.keeps_smallest else "above"
            evidence = (
                f"{count} values seen, {low:.4g} to {high:.4g}: 0 of them were {side} {first:g}"
            )
        at, edits, text = (source.file, one.node.lineno), [], ""
        small = one.keeps_smallest if one.is_to_be_small is None else one.is_to_be_small
        if small != one.keeps_smallest:
            edits, text = [_turned(one)], "the comparison the other way round"
        if first is not None and (first <= 0 if small else first >= FAR):
            wanted = 'float("inf")' if small else '-float("inf")'
            at = at if edits else start.place
            edits, text = [*edits, start.edit(wanted)], text or start.fix(wanted).text
        return found(
            "best-value-at-wrong-end", "wrong result", at, title, [evidence],
            [((source.file, one.node.lineno), "compared here")], [Fix(text, edits)],
        )  # fmt: skip


def _turned(one: _Keeping):
    """The comparison, or min and max, the other way round."""
    source, node = one.source, one.node
    if isinstance(node, ast.Call):
        name = "max" if called(node) == "min" else "min"
        return source.replace((node.func, name))
    left, right = source.segment(node.left), source.segment(node.comparators[0])
    return source.replace((node, f"{left} {TURNED[type(node.ops[0])]} {right}"))


def _scope_of(code) -> _Scope | None:
    """What a function's code compares and calls in its loops; None where that is nothing."""
    source = Source.of(code.co_filename)
    if source is None:
        return None
    function = None
    for node in ast.walk(source.tree) if code.co_name != "<module>" else ():
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            lines = [node.lineno, *(d.lineno for d in node.decorator_list)]
            function = node if min(lines) == code.co_firstlineno else function
    if function is None and code.co_name != "<module>":
        return None
    own = [n for n in ast.walk(function or source.tree) if source.function_of(n) is function]
    in_loops = [n for n in own if source.loops_around(n)]
    calls = [
        n for n in in_loops
        if isinstance(n, ast.Call) and (n.args or n.keywords)
        and isinstance(n.func, (ast.Name, ast.Attribute))
    ]  # fmt: skip
    scope = _Scope(source, _keepings(source, in_loops), calls)
    return scope if scope.keepings or scope.calls else None


def _method(owner: type, name: str) -> list[tuple[_Keeping, ast.FunctionDef]]:
    """The keepings in a method of a class of the user's, of one of its arguments in ``self``."""
    written = upstream.definition(getattr(owner, name, None))
    if written is None or not isinstance(written[1], ast.FunctionDef):
        return []
    source, method = written
    names = construction.all_parameters(method)
    return [
        (k, method)
        for k in _keepings(source, list(ast.walk(method)))
        if isinstance(k.value, ast.Name) and k.value.id in names
        and isinstance(k.best, ast.Attribute) and ast.unparse(k.best.value) == "self"
    ]  # fmt: skip


def _keepings(source: Source, nodes: list) -> list[_Keeping]:
    return [k for n in nodes for k in (*_compared(source, n), *_folded(source, n))]


def _compared(source: Source, node):
    """``if value < best: best = value``; in the other branch it is the other way round."""
    if not isinstance(node, ast.If):
        return
    tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    for test in tests:
        if not isinstance(test, ast.Compare) or type(test.ops[0]) not in ORDERS:
            continue
        sides = [_core(s) for s in (test.left, test.comparators[0])]
        for block, is_kept in ((node.body, True), (node.orelse, False)):
            bound = {_text(v): _text(places.bound_to(v)) for v in _assigned(block)}
            for value, best in (sides, sides[::-1]):
                if bound.get(_text(value)) == _text(best):
                    is_small = ORDERS[type(test.ops[0])] == (value is sides[0])
                    yield _Keeping(source, test, value, best, is_small == is_kept)


def _folded(source: Source, node):
    """``best = min(best, value)``."""
    call = node.value if isinstance(node, ast.Assign) else None
    if called(call) not in ("min", "max") or len(call.args) != 2 or len(node.targets) != 1:
        return
    if isinstance(call.func, ast.Name):
        for best, value in (call.args, call.args[::-1]):
            if _text(node.targets[0]) == _text(best):
                yield _Keeping(source, call, _core(value), best, call.func.id == "min")


def _assigned(block: list):
    """The values that the statements of a block bind to something."""
    for statement in block:
        if isinstance(statement, ast.Assign):
            value = statement.value
            yield from value.elts if isinstance(value, ast.Tuple) else [value]


def _core(node: ast.expr) -> ast.expr:
    """``loss`` of ``loss.item()``, ``float(loss)`` and ``loss - margin``."""
    while True:
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            node = node.left
        elif isinstance(node, ast.Call) and called(node) == "float" and len(node.args) == 1:
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        else:
            return node


def _text(node) -> str:
    return ast.unparse(_core(node)) if node is not None else ""


def _constant(node) -> float | None:
    """The number that an expression writes down: 0.0, -1, float("inf"), math.inf, sys.maxsize."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _constant(node.operand)
        return None if inner is None else -inner
    if called(node) in ("float", "tensor") and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, ast.Attribute) and node.attr in ("inf", "maxsize"):
        return math.inf
    try:
        return float(node.value) if isinstance(node, ast.Constant) else None
    except (TypeError, ValueError):
        return None


def _number(value) -> float | None:
    """A number, or that of a tensor of one."""
    if isinstance(value, _C.TensorBase):
        small = value.numel() == 1 and value.device.type == "cpu"
        value = value.item() if small else None
    return float(value) if isinstance(value, (int, float)) and value == value else None
