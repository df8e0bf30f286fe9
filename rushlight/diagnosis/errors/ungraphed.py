"""backward() of what has no graph, or is no single number: where the path was cut."""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass

import rushlight
from rushlight import nn

from .. import changes, construction, frames, upstream, values
from ..finding import Edit, Fix, Related, shortened
from ..registry import explains, kind
from ..source import Source
from . import Raised
from .leaves import takes_requires_grad

kind(
    "loss-without-graph",
    "backward() was called on a loss that no graph hangs on",
    """
"element 0 of tensors does not require grad" means: nothing that needs a gradient is reached from
this loss. The forward pass ran under torch.no_grad(); or the path is cut, by detach(), .data,
.item(), numpy, torch.tensor(...) of a tensor, argmax, rounding, a comparison or a conversion to
integers; or all parameters are frozen; or the tensor to be learned was made without
requires_grad=True. Setting requires_grad on the loss itself silences the error, and nothing
learns.
""",
)
kind(
    "backward-non-scalar",
    "backward() was called on more than one number",
    """
backward() without arguments starts from a single number. A loss with reduction="none", or a
difference squared and never averaged, has one number per element. Reduce it:
loss.mean().backward(), or sum(), which weighs each element by 1 however many there are.
""",
)

_CUTS = {
    "detach": "detach() ends the graph",
    "item": "item() gives a Python number",
    "numpy": "numpy() leaves the graph",
    "tolist": "tolist() gives Python numbers",
    "argmax": "argmax gives positions, which have no gradient",
    "argmin": "argmin gives positions, which have no gradient",
    "argsort": "argsort gives positions, which have no gradient",
    "long": "integers have no gradient",
    "int": "integers have no gradient",
    "bool": "bools have no gradient",
    "byte": "integers have no gradient",
}
_COPIES = {"tensor", "from_numpy", "as_tensor", "Tensor", "FloatTensor"}
_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp)
_MODES = {"no_grad", "inference_mode"}


@dataclass
class Cut:
    """A place where the path from the loss to the parameters ends, and ways past it."""

    spot: upstream.Spot
    why: str
    fixes: list[Fix]
    inner: ast.AST | None = None  # what was cut off
    at: object = None  # the frame that it stands in


@explains(
    RuntimeError, r"element (\d+) of tensors does not require grad and does not have a grad_fn"
)
def no_graph(raised: Raised):
    """Follows the loss back to what cut it off."""
    at = raised.innermost
    receiver = _loss(at)
    if receiver is None:
        return None
    search = _Search(raised)
    search.expression(receiver, at.source, at, 0)
    loss = upstream.value(at, receiver)
    evidence = []
    if values.is_tensor(loss):
        name = at.source.segment(receiver)
        evidence.append(values.sentence(name, loss, ", requires_grad False"))
    related = at.related("backward, which needs the graph")
    sure, likely = search.on_the_way()
    cuts = sure or search.switched_off() or search.frozen() or likely or search.plain_leaf(at)
    if not cuts:
        return None
    cut = cuts[0]
    related += [Related(c.spot.file, c.spot.line, c.why) for c in cuts[1:3]]
    fixes = [f for c in cuts for f in c.fixes]
    if len(cuts) > 1:
        edits = [c.fixes[0].edits for c in cuts if c.fixes]
        places = [(e.file, e.line) for group in edits for e in group]
        if len(set(places)) == len(places):
            fixes.append(Fix("all of these", [e for group in edits for e in group]))
    return raised.finding(
        "loss-without-graph",
        f"the loss has no graph: {cut.why} (line {cut.spot.line})",
        cut.spot.place,
        evidence=[*evidence, *(_evidence(c) for c in cuts[:3])],
        related=related,
        fixes=fixes,
    )


def _evidence(cut: Cut) -> str:
    text = cut.spot.text.splitlines()[0]
    return f"{cut.spot.where}  {text}: {cut.why}"


def _loss(at):
    node = at.node
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and not upstream.is_module_name(at, node.func.value):
        if node.func.attr == "backward" and values.is_tensor(upstream.value(at, node.func.value)):
            return node.func.value
        call = [a for a in node.args if values.is_tensor(upstream.value(at, a))]
        return call[0] if call else None  # accelerator.backward(loss)
    return node.args[0] if node.args else None


class _Search:
    """Walks expressions back from the loss, through names, functions and modules' forward."""

    def __init__(self, raised: Raised):
        self.raised = raised
        self.cuts: list[Cut] = []
        self.seen: set[int] = set()
        self.arguments: dict = {}  # (function, parameter): the expression that a call gave it
        self.modules: list = []
        self.tensors: list = []

    def expression(self, node: ast.AST, source: Source, at, depth: int) -> None:
        if node is None or id(node) in self.seen or depth > 30 or len(self.seen) > 400:
            return
        self.seen.add(id(node))
        if at is not None and isinstance(node, (ast.Name, ast.Attribute)):
            held = at.value(node, None)
            if values.is_tensor(held):
                if held.requires_grad:
                    return
                self.tensors.append((node, held, at))
                self._made(held, depth)
        if self._mode(node, source):
            return
        if self._cut(node, source, at):
            return
        if isinstance(node, (ast.Name, ast.Attribute)):
            self._name(node, source, at, depth)
        if isinstance(node, ast.Call):
            self._call(node, source, at, depth)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr, ast.keyword, ast.comprehension)):
                self.expression(child, source, at, depth + 1)

    def _made(self, tensor, depth: int) -> None:
        """What made a tensor without a graph, where its line is known."""
        spot = upstream.of_tensor(tensor)
        if spot is None or not isinstance(spot.node, ast.expr) or id(spot.node) in self.seen:
            return
        frame = next((f for f in reversed(self.raised.frames) if f.file == spot.file), None)
        if frame is not None and frame.source.function_of(
            frame.node
        ) is not spot.source.function_of(spot.node):
            frame = None
        self.expression(spot.node, spot.source, frame, depth + 1)

    def _mode(self, node: ast.AST, source: Source) -> bool:
        """Under ``with no_grad()``, or in a function decorated with it."""
        walk = node
        while walk is not None:
            if isinstance(walk, ast.With):
                for item in walk.items:
                    if _is_off(item.context_expr):
                        self._add_mode(walk, item, source)
                        return True
            if isinstance(walk, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in walk.decorator_list:
                    if _is_off(decorator):
                        self._add_decorator(decorator, source)
                        return True
                break
            walk = getattr(walk, "parent", None)
        return False

    def _add_mode(self, block: ast.With, item, source: Source) -> None:
        spot = upstream.Spot(source, block)
        if any(c.spot.node is block for c in self.cuts):
            return
        text = source.segment(item.context_expr)
        fixes = []
        if len(block.items) == 1:
            fixes.append(Fix(f"without {text}", [changes.dedent_body(source, block)]))
        on = f"{changes.torch_name(source)}.enable_grad()"
        fixes.append(source.fix(item.context_expr, on, f"{on} instead"))
        head = upstream.Spot(source, item.context_expr)
        self.cuts.append(Cut(_Head(spot, head.text), f"it ran under {text}", fixes))

    def _add_decorator(self, decorator, source: Source) -> None:
        if any(c.spot.node is decorator for c in self.cuts):
            return
        spot = upstream.Spot(source, decorator)
        text = source.segment(decorator)
        edit = Edit(source.file, decorator.lineno, decorator.end_lineno, "")
        self.cuts.append(Cut(spot, f"it ran under @{text}", [Fix(f"without @{text}", [edit])]))

    def _cut(self, node: ast.AST, source: Source, at) -> bool:
        found = _cutting(node)
        if found is None:
            return False
        inner, why, replacement = found
        statement = source.statement_of(node)
        if isinstance(statement, ast.Assign):  # a name that it binds means the value before
            names = {n.id for n in ast.walk(inner) if isinstance(n, ast.Name)}
            bound = {
                n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)
            }
            at = None if names & bound else at
        held = upstream.value(at, inner) if at is not None else self._given(inner, source)
        if values.is_tensor(held) and not held.requires_grad:
            return False
        if (
            not values.is_tensor(held)
            and replacement is None
            and at is not None
            and held is not None
        ):
            return False
        if upstream.called(node) in _COPIES and not _holds_graph(held, inner, at):
            return False
        fixes = []
        if replacement is not None:
            text = source.segment(inner)
            if isinstance(held, (list, tuple)) or isinstance(inner, _DISPLAYS):
                text = f"{changes.torch_name(source)}.stack({text})"
            said = f"{shortened(source.segment(node))} -> {text}"
            if ast.unparse(statement) == f"{text} = {ast.unparse(node)}":  # nothing is left to do
                fixes.append(Fix(f"without {text} = ...", [source.remove(statement)]))
            else:
                fixes.append(source.fix(node, text, said))
        self.cuts.append(Cut(upstream.Spot(source, node), why, fixes, inner, at))
        return True

    def _given(self, node, source: Source):
        """What a call gave to a parameter of its function, where it is known."""
        name = getattr(node, "id", None)
        spot = self.arguments.get((source.function_of(node), name)) if name else None
        return upstream.value(spot.at, spot.node) if spot is not None and spot.at else None

    def _name(self, node, source: Source, at, depth: int) -> None:
        spot = None
        if at is not None:
            spot = upstream.bound(self.raised, at, node)
            held = at.value(node, None)
            if isinstance(held, nn.Module):
                self.modules.append(held)
        elif isinstance(node, ast.Name):
            scope = source.function_of(node)
            statement = source.last_assignment(node.id, node.lineno, scope)
            value = getattr(statement, "value", None)
            spot = upstream.Spot(source, value) if value is not None else None
            if spot is None:
                spot = self.arguments.get((scope, node.id))
        elif source.class_of(node) is not None and ast.unparse(node.value) == "self":
            spot = _kept_before(node, source)
        if spot is not None:
            self.expression(spot.node, spot.source, spot.at, depth + 1)
            statement = spot.statement
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                before = spot.source.last_assignment(
                    statement.target.id, statement.lineno, spot.source.function_of(statement)
                )
                if before is not None and getattr(before, "value", None) is not None:
                    self.expression(before.value, spot.source, spot.at, depth + 1)

    def _call(self, node: ast.Call, source: Source, at, depth: int) -> None:
        target = at.value(node.func, None) if at is not None else None
        if target is None and at is not None and isinstance(node.func, ast.Attribute):
            holder = at.value(node.func.value, None)
            target = getattr(type(holder), node.func.attr, None) if holder is not None else None
        if isinstance(target, nn.Module):
            self.modules.append(target)
            self._bind(node, type(target).forward, source, at)
            for module in list(target.modules())[:200]:
                kind_ = type(module)
                if not values.is_ours(kind_):
                    self._function(kind_.forward, depth)
        elif isinstance(target, (types.FunctionType, types.MethodType)):
            self._bind(node, target, source, at)
            self._function(target, depth)

    def _bind(self, call: ast.Call, function, source: Source, at) -> None:
        """Notes which expressions a call gives to the parameters of a function of the user's."""
        found = upstream.definition(function)
        if found is None:
            return
        names = [a.arg for a in found[1].args.args]
        for place, name in enumerate(n for n in names if n not in ("self", "cls")):
            given = construction.argument(call, place, name)
            if given is not None:
                self.arguments[found[1], name] = upstream.Spot(source, given, at)

    def _function(self, function, depth: int) -> None:
        for spot in upstream.returned(function):
            self.expression(spot.node, spot.source, None, depth + 1)

    def on_the_way(self) -> tuple[list[Cut], list[Cut]]:
        """The cuts behind which something learns: surely, and as far as the source tells."""
        ranks = [(cut, self._behind(cut)) for cut in self.cuts]
        return [c for c, rank in ranks if rank == 2], [c for c, rank in ranks if rank == 1]

    def _behind(self, cut: Cut) -> int:
        if cut.inner is None:
            return 2
        reach = _Reach(self.raised, self.arguments)
        reach.expression(cut.inner, cut.spot.source, cut.at, 0)
        return reach.rank

    # ---- Where nothing cuts

    def switched_off(self) -> list[Cut]:
        """Gradients are off for the whole program: set_grad_enabled(False) somewhere."""
        if rushlight.is_grad_enabled():
            return []
        sources = upstream.user_sources(self.raised)
        for spot in upstream.calls(sources, "set_grad_enabled"):
            if _is_off(spot.node):
                fix = spot.source.replace((spot.node.args[0], "True"))
                return [Cut(spot, "it switched gradients off", [Fix("True", [fix])])]
        return []

    def frozen(self) -> list[Cut]:
        """All parameters that the loss could reach are frozen: by which line."""
        parameters = [p for m in self.modules for p in m.parameters()]
        if not parameters or any(p.requires_grad for p in parameters):
            return []
        count = len({id(p) for p in parameters})
        for source in upstream.user_sources(self.raised):
            for node in ast.walk(source.tree):
                spot, fix = upstream.Spot(source, node), None
                if upstream.called(node) == "requires_grad_" and node.args:
                    if ast.unparse(node.args[0]) == "False":
                        fix = source.replace((node.args[0], "True"))
                elif isinstance(node, ast.Assign) and ast.unparse(node.value) == "False":
                    target = node.targets[0]
                    if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                        fix = source.replace((node.value, "True"))
                if fix is not None:
                    why = f"all {count} parameters are frozen"
                    return [Cut(spot, why, [Fix("requires_grad True", [fix])])]
        return []

    def plain_leaf(self, at) -> list[Cut]:
        """Nothing requires grad: the tensor whose gradient is asked for, or that a step changes."""
        wanted = set()
        for source in upstream.user_sources(self.raised):
            for node in ast.walk(source.tree):
                if isinstance(node, ast.Attribute) and node.attr == "grad":
                    wanted.add(ast.unparse(node.value))
                if upstream.called(node) in ("SGD", "Adam", "AdamW", "LBFGS", "RMSprop"):
                    for part in ast.walk(node):
                        if isinstance(part, (ast.Name, ast.Attribute)):
                            wanted.add(ast.unparse(part))
        floating = [(n, t, f) for n, t, f in self.tensors if t.is_floating_point()]
        chosen = [x for x in floating if ast.unparse(x[0]) in wanted]
        if not chosen:
            return []
        spot = upstream.of_tensor(chosen[0][1])
        if spot is None or not isinstance(spot.node, ast.Call):
            return []
        text = changes.method(spot.source, spot.node, "requires_grad_()")
        if takes_requires_grad(spot.node):
            text = changes.with_keyword(spot.source, spot.node, "requires_grad", "True")
        fix = spot.fix(text)
        return [Cut(spot, f"{ast.unparse(chosen[0][0])} does not require grad", [fix])]


class _Reach(_Search):
    """Walks back from what was cut off; ``rank`` says whether something that learns is there.

    2 for a tensor that requires grad or a module with such parameters, 1 for a parameter or an
    attribute of self that is not known, 0 for mere data.
    """

    def __init__(self, raised: Raised, arguments: dict):
        super().__init__(raised)
        self.arguments, self.rank = arguments, 0

    def expression(self, node: ast.AST, source: Source, at, depth: int) -> None:
        if isinstance(node, ast.Call) and at is None:
            frame = next((f for f in reversed(self.raised.frames) if f.file == source.file), None)
            self._called(frame.value(node.func, None) if frame is not None else None)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            held = at.value(node, None) if at is not None else None
            function = source.function_of(node)
            if _has_graph(held):
                self.rank = 2
            elif at is None and isinstance(node, ast.Name) and function is not None:
                given = [a.arg for a in getattr(function.args, "args", ())]
                unknown = node.id in given and (function, node.id) not in self.arguments
                self.rank = max(self.rank, int(unknown))
        super().expression(node, source, at, depth)

    def _called(self, target) -> None:
        if isinstance(target, nn.Module) and any(p.requires_grad for p in target.parameters()):
            self.rank = 2

    def _call(self, node: ast.Call, source: Source, at, depth: int) -> None:
        if at is not None:
            self._called(at.value(node.func, None))
        super()._call(node, source, at, depth)

    def _mode(self, node: ast.AST, source: Source) -> bool:
        return False

    def _cut(self, node: ast.AST, source: Source, at) -> bool:
        return False


def _kept_before(node: ast.Attribute, source: Source) -> upstream.Spot | None:
    """What ``self.NAME`` was given: in the same function before it, else anywhere in its class."""
    statements = source.attribute_assignments(node.attr, source.class_of(node))
    mine = [s for s in statements if source.function_of(s) is source.function_of(node)]
    before = [s for s in mine if s.lineno < node.lineno]
    chosen = before[-1:] or statements[:1]
    return upstream.Spot(source, upstream.attribute_value(chosen[0], node.attr)) if chosen else None


class _Head:
    """A with statement shown as its first line."""

    def __init__(self, spot: upstream.Spot, text: str):
        self.source, self.node, self.text = spot.source, spot.node, f"with {text}:"
        self.file, self.line, self.place, self.where = spot.file, spot.line, spot.place, spot.where


def _is_off(node: ast.AST) -> bool:
    """Whether an expression switches gradients off."""
    call = node if isinstance(node, ast.Call) else None
    name = frames.last_name(call.func if call is not None else node)
    if name in _MODES:
        return not (call and call.args and ast.unparse(call.args[0]) == "False")
    return bool(
        name == "set_grad_enabled" and call and call.args and ast.unparse(call.args[0]) == "False"
    )


def _cutting(node: ast.AST):
    """(what was on the path, why it ends here, what may stand instead) for one node."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return node.value, ".data ends the graph", "inner"
    name = upstream.called(node)
    if name in _CUTS and isinstance(node.func, ast.Attribute):
        holder = node.func.value
        if node.args and isinstance(holder, ast.Name) and holder.id in ("torch", "np", "numpy"):
            return node.args[0], _CUTS[name], None
        keeps = None if name.startswith("arg") else "inner"
        return holder, _CUTS[name], keeps
    if name in _COPIES and node.args:
        first = node.args[0]
        if upstream.called(first) in ("item", "tolist") and isinstance(first.func, ast.Attribute):
            return first.func.value, f"{name}(...) of a number has no graph", "inner"
        return first, f"{name}(...) makes a new tensor without a graph", "inner"
    if name in ("float", "int") and isinstance(node.func, ast.Name) and node.args:
        return node.args[0], f"{name}(...) gives a Python number", "inner"
    if isinstance(node, ast.Compare):
        return node.left, "a comparison has no gradient", None
    return None


def _holds_graph(held, inner: ast.AST, at) -> bool:
    """Whether what a new tensor is made of is part of a graph; where unknown, whether it may be."""
    if held is not None:
        return _has_graph(held)
    if isinstance(inner, (ast.List, ast.Tuple)):
        return any(_holds_graph(upstream.value(at, e) if at else None, e, at) for e in inner.elts)
    return isinstance(inner, _DISPLAYS) or (at is None and not isinstance(inner, ast.Constant))


def _has_graph(held) -> bool:
    """Whether a tensor, or one of those in a list, is part of a graph."""
    if isinstance(held, (list, tuple)):
        return any(map(_has_graph, held))
    return values.is_tensor(held) and held.requires_grad


# ---- More than one number


@explains(RuntimeError, r"grad can be implicitly created only for scalar outputs")
def non_scalar(raised: Raised):
    """Where the loss was left unreduced."""
    at = raised.innermost
    receiver = _loss(at)
    loss = upstream.value(at, receiver) if receiver is not None else None
    if not values.is_tensor(loss):
        return None
    name = at.source.segment(receiver)
    made = upstream.of_tensor(loss)
    unreduced = _reduction(raised, at, receiver, made)
    place, related = at, at.related("backward, which wants one number")
    if unreduced is not None:
        place = unreduced.place
    elif made is not None:
        place = made.place
    if unreduced is not None and made is not None and made.place != unreduced.place:
        related.append(Related(made.file, made.line, "the loss is made"))
    text = changes.method(at.source, receiver, "mean()")
    total = changes.method(at.source, receiver, "sum()")
    fixes = [
        at.source.fix(receiver, text, f"{text}.backward()"),
        at.source.fix(receiver, total, f"{total}.backward(): each element counts 1"),
    ]
    if unreduced is not None:
        keyword = unreduced.node
        fixes.append(unreduced.source.fix(keyword, '"mean"', 'reduction="mean"'))
    evidence = [f"{name} is {values.describe(loss)}: {loss.numel()} numbers"]
    if made is not None:
        evidence.append(f"made at {made.where}: {made.text}")
    return raised.finding(
        "backward-non-scalar",
        f"{name} holds {loss.numel()} numbers; backward starts from one",
        place,
        evidence=evidence,
        related=related,
        fixes=fixes,
    )


def _reduction(raised: Raised, at, receiver, made):
    """The expression "none" in reduction="none", where the loss's call or module was given it."""
    spots = [made] if made is not None else []
    bound = upstream.bound(raised, at, receiver)
    spots += [bound] if bound is not None else []
    for spot in spots:
        for node in ast.walk(spot.node):
            found = _none(node)
            if found is not None:
                return upstream.Spot(spot.source, found)
        if isinstance(spot.node, ast.Call):
            frame = next((f for f in reversed(raised.frames) if f.file == spot.file), at)
            module = frame.value(spot.node.func, None)
            if isinstance(module, nn.Module) and getattr(module, "reduction", "") == "none":
                built = upstream.of_module(module)
                found = _none(built.node) if built is not None else None
                if found is not None:
                    return upstream.Spot(built.source, found)
    return None


def _none(node: ast.AST):
    value = changes.keyword(node, "reduction")
    if isinstance(value, ast.Constant) and value.value == "none":
        return value
    return None
