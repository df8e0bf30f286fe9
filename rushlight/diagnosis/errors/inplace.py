"""Errors of in-place changes: of leaves, of views, of what backward still needs."""

from __future__ import annotations

import ast
import itertools

from rushlight import _C, nn

from .. import changes, frames, graphs, upstream, values
from ..blocks import block_of
from ..finding import Fix, Related, shortened
from ..registry import explains, kind
from . import Raised
from .carried import carried, root_of

kind(
    "inplace-leaf",
    "A leaf that requires grad was changed in place while gradients are recorded",
    """
A parameter's update by hand (`w -= lr * w.grad`) must not become part of the graph: put it under
torch.no_grad(). The same holds for initial values written into a parameter, and torch.nn.init does
that by itself. `w = w - lr * w.grad` raises nothing and is worse: w is then a result, no longer the
leaf, and its grad stays None.
""",
)
kind(
    "inplace-view",
    "A view was changed in place that autograd cannot follow",
    """
unbind, split and chunk return several views at once, and iterating over a tensor does the same: a
change in place of one of them cannot be recorded. Write the result to a new name (`row = row + 1`)
and stack the new tensors, or take one view by indexing. Views made under no_grad, and what a
custom function returns, have the same limit: clone them first.
""",
)
kind(
    "inplace-after-hook",
    "An in-place layer follows a module with a full backward hook",
    """
A full backward hook wraps the module's inputs and outputs in a function of its own, and what that
returns are views that must not be changed. nn.ReLU(inplace=True) after such a module, `+=` on its
output and the like try to. Take the layer without inplace=True; the memory it saves is one
activation.
""",
)
kind(
    "inplace-saved",
    "A value that backward needs was changed in place",
    """
Many operations keep an input or their result for the backward pass: sigmoid, tanh, exp, relu and
softmax their result, a product both factors, a Linear its input and weight. A change in place
after that (`h[:, 0] = 0`, `h += 1`, `relu_()`, an optimizer's step between forward and backward)
makes the kept value wrong; the version counter notices. Change a copy (`h = h.clone()` before the
write), write the operation out of place, or move the step behind the last backward.
""",
)
kind(
    "inference-tensor",
    "A tensor made in inference mode is used where gradients are recorded",
    """
Tensors made under torch.inference_mode() carry no version counter and can never take part in a
graph. Features computed that way and then trained on fail. torch.no_grad() costs little more and
gives ordinary tensors; or clone the tensor outside of the block.
""",
)


@explains(RuntimeError, r"leaf Variable that requires grad is being used in an in-place operation")
def leaf(raised: Raised):
    """w -= lr * w.grad, w[0] = 0, w.fill_(1): under no_grad, with the updates that follow."""
    at = raised.innermost
    statement = at.statement
    if at.source is None or statement is None:
        return None
    tensor = next((v for _, v in upstream.tensors(at) if v.requires_grad), None)
    evidence = []
    if tensor is not None:
        origin = values.made_at(tensor)
        evidence.append(
            f"{_target_text(at)} is a leaf, {values.describe(tensor)}, requires_grad True"
            + (f", made at {origin}" if origin else "")
        )
    head = f"with {changes.torch_name(at.source)}.no_grad():"
    run = _run_of_updates(statement)
    fixes = []
    if not isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.FunctionDef)):
        edit = changes.within_all(at.source, run, head)
        fixes.append(Fix(f"{head} around it", [edit]))
    return raised.finding(
        "inplace-leaf",
        f"{at.source.segment(statement).splitlines()[0]} changes a leaf while autograd records",
        evidence=evidence,
        fixes=fixes,
    )


def _target_text(at) -> str:
    parts = upstream.operands(at)
    return at.source.segment(parts[0]) if parts else at.text


def _run_of_updates(statement: ast.stmt) -> list[ast.stmt]:
    """A statement and those right after it that change something in place as well."""
    block = block_of(statement)
    after = block[block.index(statement) + 1 :]
    return [statement, *itertools.takewhile(_is_update, after)]


def _is_update(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AugAssign):
        return True
    if isinstance(statement, ast.Expr):
        name = upstream.called(statement.value)
        return name.endswith("_") and not name.endswith("__")
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)


# ---- Views


@explains(RuntimeError, r"Output (\d+) of BackwardHookFunction\w* is a view and is being modified")
def after_hook(raised: Raised):
    """The layer with inplace=True, or the user's own in-place operation."""
    at = raised.innermost
    layer = next((m for m in reversed(raised.modules()) if getattr(m, "inplace", False)), None)
    hooked = _hooked(raised)
    if layer is None:
        edit = _out_of_place(at.source, at.node)
        if edit is None:
            return None
        fix, place = edit, at
    else:
        spot = upstream.of_module(layer)
        if spot is None:
            return None
        text = _not_inplace(spot)
        fix = spot.fix(text)
        place = spot.place
    related = at.related("the call that failed")
    evidence = [f"the operation before it, {hooked}, has a full backward hook"] if hooked else []
    for spot in upstream.calls(upstream.user_sources(raised), "register_full_backward_hook")[:1]:
        related.append(Related(spot.file, spot.line, "the hook"))
    return raised.finding(
        "inplace-after-hook",
        "an in-place operation follows a module with a full backward hook",
        place,
        evidence=evidence,
        related=related,
        fixes=[fix],
    )


def _hooked(raised: Raised) -> str:
    for module in raised.modules():
        for name, child in module.named_modules():
            if getattr(child, "_backward_hooks", None):
                return f"{name or 'the model'} ({type(child).__name__})"
    return ""


def _not_inplace(spot) -> str:
    if changes.keyword(spot.node, "inplace") is not None:
        return changes.without_keyword(spot.source, spot.node, "inplace")
    kept = [a for a in changes.arguments(spot.source, spot.node) if a != "True"]
    return changes.call_text(spot.source, spot.node, None, kept)


@explains(
    RuntimeError,
    r"is a view and is being modified inplace|A view was created in (no_grad|inference) mode"
    r"|is a view and its base or another view of its base has been modified inplace",
)
def view(raised: Raised):
    """One of several views changed in place."""
    at = raised.innermost
    fix = _out_of_place(at.source, at.node)
    known = upstream.tensors(at)
    evidence, related = [], []
    if known:
        part, tensor = known[0]
        spot = upstream.of_tensor(tensor)
        evidence.append(f"{at.source.segment(part)} is {values.describe(tensor)}, a view")
        if spot is not None and spot.place != (at.file, at.line):
            evidence.append(f"made with others by {spot.text}")
            related.append(Related(spot.file, spot.line, "the views are made"))
    return raised.finding(
        "inplace-view",
        f"{at.source.segment(at.statement).splitlines()[0]} changes one of several views",
        evidence=evidence,
        related=related,
        fixes=[fix] if fix else [],
    )


def _out_of_place(source, node: ast.AST) -> Fix | None:
    """The same without changing what is there: x = x + y for x += y, x.relu() for x.relu_()."""
    if source is None or node is None:
        return None
    statement = source.statement_of(node)
    plain = (ast.Name, ast.Attribute)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, plain):
        text = changes.out_of_place(source, statement)
        return source.fix(statement, text)
    call = _inplace_call(statement)
    if call is not None:
        return _call_out_of_place(source, statement, call)
    target = _written_target(statement)
    if target is not None and isinstance(target.value, (ast.Name, ast.Attribute)):
        name = source.segment(target.value)
        edit = source.insert_before(statement, f"{name} = {name}.clone()")
        return Fix(f"{name} = {name}.clone() on a line before it", [edit])
    return None


def _written_target(statement: ast.stmt):
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Subscript):
        return statement.target
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        return statement.targets[0]
    return None


def _inplace_call(statement: ast.stmt):
    for node in ast.walk(statement):
        name = upstream.called(node)
        if name.endswith("_") and not name.endswith("__"):
            return node
        keyword = changes.keyword(node, "inplace")
        if isinstance(keyword, ast.Constant) and keyword.value is True:
            return node
    return None


def _call_out_of_place(source, statement: ast.stmt, call: ast.Call) -> Fix | None:
    name = upstream.called(call)
    if not name.endswith("_"):
        text = changes.without_keyword(source, call, "inplace")
        if isinstance(statement, ast.Expr) and call.args:
            text = f"{source.segment(call.args[0])} = {text}"
        return source.fix(call, text)
    if not isinstance(call.func, ast.Attribute):
        return None
    holder = call.func.value
    if name in ("zero_", "fill_", "copy_", "uniform_", "normal_"):
        whole = source.segment(holder)
        if isinstance(holder, ast.Subscript):
            whole = source.segment(holder.value)
        edit = source.insert_before(statement, f"{whole} = {whole}.clone()")
        return Fix(f"{whole} = {whole}.clone() on a line before it", [edit])
    text = changes.call_text(
        source, call, f"{source.segment(holder)}.{name[:-1]}", changes.arguments(source, call)
    )
    if isinstance(statement, ast.Expr) and statement.value is call:
        if not isinstance(holder, (ast.Name, ast.Attribute)):
            return None
        text = f"{source.segment(holder)} = {text}"
    return source.fix(call, text)


# ---- What backward needs

_SAVE_RESULTS = {
    "Sigmoid",
    "Tanh",
    "Exp",
    "Relu",
    "Sqrt",
    "Rsqrt",
    "Softmax",
    "LogSoftmax",
    "Reciprocal",
    "Tan",
    "Expm1",
    "Elu",
    "CumProd",
}


@explains(
    RuntimeError,
    r"modified by an inplace operation: \[torch\.\w+ \[([\d, ]*)\]\]"
    r"(?:, which is output \d+ of (?:torch::autograd::)?(\w+?)(?:Backward\d*)?,)? "
    r"is at version (\d+); "
    r"expected version (\d+)",
)
def saved(raised: Raised):
    """Who saved it, who changed it."""
    at = raised.innermost
    shape = tuple(int(n) for n in raised.match[1].split(",") if n.strip())
    name, version = raised.match[2], int(raised.match[3])
    root = root_of(raised)
    if root is None:
        return None
    changed, writer = _changed(raised, root, name, shape, version)
    if writer is not None:
        finding = _kept_by_retaining(raised, at, root, upstream.of_place(writer))
        if finding is not None:
            return finding
    else:
        return _by_a_layer(raised, at, root, name, shape)
    spot = upstream.of_place(writer)
    saver = _saver(root, name, shape)
    keeps = upstream.of_place(_C._origin(saver)) if saver is not None else None
    related, rows = at.related("backward, which needs it"), []
    if keeps is not None:
        related.append(Related(keeps.file, keeps.line, "saved it"))
        rows.append((keeps.where, _line(keeps), f"saved it at version {raised.match[4]}"))
    rows.append((spot.where, _line(spot), f"changed it: version {version}"))
    evidence = values.table(rows)
    if saver is not None:
        evidence.append(f"{saver.name()} needs the {shape} values as they were")
    fixes = _other_ways(raised, at, spot, changed) + _copy_of_what_is_read(keeps, spot)
    return raised.finding(
        "inplace-saved",
        f"line {spot.line} changes in place what backward still needs",
        spot.place,
        evidence=evidence,
        related=related,
        fixes=fixes,
    )


def _kept_by_retaining(raised: Raised, at, root, spot):
    """``retain_graph=True`` where a value of the step before brings its graph along."""
    retained = changes.keyword(at.node, "retain_graph")
    if not isinstance(retained, ast.Constant) or not retained.value or not _is_step(spot):
        return None
    seen = set()
    for node in graphs.nodes(root):
        entered = upstream.of_place(_C._origin(node))
        if entered is None or entered.node in seen:
            continue
        seen.add(entered.node)
        changed = f"line {spot.line} has changed the weights that it needs"
        evidence = [f"retain_graph=True keeps the graph of the step before, and {changed}"]
        finding = carried(raised, at, entered, evidence)
        if finding is not None:
            text = changes.without_keyword(at.source, at.node, "retain_graph")
            edit = at.source.replace((at.node, text))
            for fix in finding.fixes:
                if all(e.file != edit.file or e.line != edit.line for e in fix.edits):
                    fix.edits.append(edit)
            return finding
    return None


def _is_step(spot) -> bool:
    return "step" in (upstream.called(spot.node), upstream.called(statement_call(spot.statement)))


def _by_a_layer(raised: Raised, at, root, name, shape):
    """A module with inplace=True wrote over it, and nothing else is known to have."""
    saver = _saver(root, name, shape)
    built = [upstream.of_module(layer) for layer in _inplace_layers(raised)]
    for source in [] if any(built) else upstream.user_sources(raised):  # none is alive: as written
        built += [upstream.Spot(source, node) for node in ast.walk(source.tree) if _asks(node)]
    for spot in built:
        if spot is None:
            continue
        keeps = upstream.of_place(_C._origin(saver)) if saver is not None else None
        related = at.related("backward, which needs it")
        rows = [(spot.where, _line(spot), "writes over its input")]
        if keeps is not None:
            related.append(Related(keeps.file, keeps.line, "saved it"))
            rows.insert(0, (keeps.where, _line(keeps), f"saved the {shape} values"))
        text = _not_inplace(spot)
        return raised.finding(
            "inplace-saved",
            f"{spot.text} writes over what backward still needs",
            spot.place,
            evidence=values.table(rows),
            related=related,
            fixes=[spot.fix(text)],
        )
    return None


def _asks(node: ast.AST) -> bool:
    """Whether a call says inplace=True."""
    value = changes.keyword(node, "inplace") if isinstance(node, ast.Call) else None
    return isinstance(value, ast.Constant) and value.value is True


def _line(spot) -> str:
    return shortened(spot.source.segment(spot.statement))


def _changed(raised: Raised, root, of: str | None, shape: tuple, version: int):
    """The live tensor that stands at that version, and the line that wrote it last."""
    found = list(graphs.leaves(root)) if of is None else []
    for value in raised.held():
        listed = value if isinstance(value, (list, tuple)) else (value,)
        near = [*listed[:50], *list(values.attributes(value).values())[:50]]
        found += [v for v in near if values.is_tensor(v)]
    at_version = [t for t in found if _version(t) == version and _C._last_writer(t) is not None]
    same = [t for t in at_version if tuple(t.shape) == shape]
    reordered = [t for t in at_version if sorted(t.shape) == sorted(shape)]
    views = [t for t in at_version if t.grad_fn is not None]
    for tensor in [*same, *reordered, *views]:
        return tensor, _C._last_writer(tensor)
    for node in graphs.nodes(root):  # it has no name any more: the graph knows the change
        spot = upstream.of_place(_C._origin(node))
        if spot is None:
            continue
        statement = spot.statement
        is_write = isinstance(statement, ast.AugAssign) or _written_target(statement) is not None
        if is_write or _inplace_call(statement) is not None:
            return None, _C._origin(node)
    return None, None


def _version(tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:
        return -1


def _saver(root, name: str | None, shape: tuple):
    """The node that kept the value: the op itself where it keeps its result, else a consumer."""
    if name is None:
        for node, following in graphs.edges(root):
            variable = getattr(following, "variable", None)
            if variable is not None and sorted(variable.shape) == sorted(shape):
                return node
        return None
    makers = [n for n in graphs.nodes(root) if n.name().startswith(name)]
    if name in _SAVE_RESULTS:
        return makers[0] if makers else None
    for node, following in graphs.edges(root):
        if following in makers and node.name() != "CopySlices":
            return node
    return makers[0] if makers else None


def _copy_of_what_is_read(keeps, spot) -> list[Fix]:
    """``states[t + 1] = f(states[t])``: what was saved is a view of what is written; a copy is not.

    The whole of it has to be copied at each turn; a list of the rows costs less.
    """
    statement = spot.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if keeps is None or not isinstance(target, ast.Subscript):
        return []
    name, function = ast.unparse(target.value), spot.source.function_of(statement)
    changes_ = []
    for node in ast.walk(statement.value):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == name:
            changes_.append((node, changes.method(spot.source, node, "clone()")))
    if not changes_ or function is not spot.source.function_of(statement):
        return []
    return [Fix(f"{changes_[0][1]}: a copy of what is read", [spot.source.replace(*changes_)])]


def _other_ways(raised: Raised, at, spot, changed) -> list[Fix]:
    if _is_step(spot):
        return _step_later(at, spot)
    fix = _out_of_place(spot.source, spot.node)
    if fix is not None:
        return [fix]
    for layer in _inplace_layers(raised):
        built = upstream.of_module(layer)
        if built is not None:
            text = _not_inplace(built)
            return [built.fix(text)]
    return []


def statement_call(statement: ast.stmt):
    """The call that a statement consists of."""
    return statement.value if isinstance(statement, ast.Expr) else statement


def _step_later(at, spot) -> list[Fix]:
    """The optimizer's step moves behind the backward that still needs the old weights."""
    step, backward = spot.statement, at.statement
    if step not in block_of(backward) or step.lineno >= backward.lineno:
        return []
    text = spot.source.segment(step)
    edits = [spot.source.remove(step), spot.source.insert_after(backward, text)]
    return [Fix(f"{text} after line {backward.lineno}", edits)]


def _inplace_layers(raised: Raised):
    for value in raised.held():
        for module in value.modules() if isinstance(value, nn.Module) else ():
            if getattr(module, "inplace", False):
                yield module


@explains(
    RuntimeError,
    r"Inference tensors cannot be saved for backward|Inplace update to inference tensor outside"
    r"|requires_grad=True on inference tensor",
)
def inference(raised: Raised):
    """inference_mode in the user's files, replaced by no_grad."""
    at = raised.innermost
    fixes, place = [], at
    for source in upstream.user_sources(raised):
        for node in ast.walk(source.tree):
            if frames.last_name(node) != "inference_mode":
                continue
            text = source.segment(node).replace("inference_mode", "no_grad")
            edits = [source.replace((node, text))]
            if isinstance(node, ast.Name):
                text = f"{changes.torch_name(source)}.no_grad"
                edits = [source.replace((node, text))]
            fixes.append(Fix(f"{text}()", edits))
            if place is at:
                place = (source.file, node.lineno)
    known = [(p, v) for p, v in upstream.tensors(at) if v.is_inference()]
    evidence = [
        f"{at.source.segment(p)} {values.describe(v)} was made in inference mode"
        + (f" at {values.made_at(v)}" if values.made_at(v) else "")
        for p, v in known
    ]
    for part, _ in known[:1]:
        edit = changes.after(at.source, part, "clone()")
        fixes.append(Fix(changes.method(at.source, part, "clone()"), [edit]))
    return raised.finding(
        "inference-tensor",
        "a tensor of inference mode cannot take part in a graph",
        place,
        evidence=evidence,
        related=at.related("the operation that failed"),
        fixes=fixes,
    )
