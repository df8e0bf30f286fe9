"""Errors of what a call was given: modules for parameters, text and fractions for whole numbers."""

from __future__ import annotations

import ast

from rushlight import nn
from rushlight.utils.data import DataLoader, Dataset

from .. import changes, frames, upstream, values
from ..finding import Edit, Fix
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "module-for-parameters",
    "A module was passed where its parameters are wanted",
    """
Optimizers and clip_grad_norm_ take parameters: model.parameters(), not the model.
""",
)
kind(
    "number-as-text",
    "A number came in as text",
    """
argparse gives text unless it is told a type: add_argument("--lr", type=float, default=0.01). Values
of configuration files and environment variables are text, too: float(value), int(value).
""",
)
kind(
    "size-not-whole",
    "A size is a fraction or a tensor, and a whole number is wanted",
    """
/ gives a float, also where it divides evenly: d / 2 is 4.0. Sizes are whole numbers: d // 2. A
tensor of one value becomes a number with int(t) or t.item().
""",
)
kind(
    "loader-used-wrongly",
    "A DataLoader was used as what it is not",
    """
A DataLoader is walked by a for loop: for x, y in loader. It has no positions (loader.dataset[0] is
a sample, next(iter(loader)) a batch), and its batches carry no numbers: for i, (x, y) in
enumerate(loader).
""",
)
kind(
    "dataset-without-length",
    "A dataset has no __len__",
    """
A DataLoader asks a map-style dataset for its length to draw indices from. Define __len__; a stream
without a length is an IterableDataset with __iter__.
""",
)
kind(
    "container-called",
    "A ModuleList or ModuleDict was called",
    """
ModuleList and ModuleDict hold modules and have no forward: loop over them and call each. A chain in
which each layer gets the result of the one before is an nn.Sequential.
""",
)
kind(
    "parameter-assigned",
    "A tensor was assigned to the name of a parameter",
    """
A parameter's name takes parameters only. New values are written into it
(with torch.no_grad(): p.copy_(t)), or it is replaced by nn.Parameter(t). A value computed from it
in forward belongs to a local name: self.w = self.w * 2 would replace what the optimizer holds.
""",
)
kind(
    "argument-missing",
    "A loss or module was called without an argument that it needs",
    """
A loss takes the prediction and the target: criterion(model(x), y).
""",
)
kind(
    "self-missing",
    "A method's definition lacks self",
    """
Python passes the object itself as a method's first argument: def forward(self, x).
""",
)
kind(
    "list-for-tensor",
    "A list of tensors was used like a tensor",
    """
Lists have no mean() or backward(), and torch.tensor copies numbers, not tensors with a graph.
torch.stack(list) makes one tensor of them and keeps their graphs.
""",
)


def _fix(at, node, text: str) -> Fix:
    return at.source.fix(node, text, text.splitlines()[0])


@explains(TypeError, r"'(\w+)' object is not iterable")
def module(raised: Raised):
    """``SGD(model, lr)`` and ``clip_grad_norm_(model, 1.0)``."""
    at = raised.innermost
    for part in at.node.args if isinstance(at.node, ast.Call) else ():
        held = at.value(part, None)
        if isinstance(held, nn.Module) and type(held).__name__ == raised.match[1]:
            text = changes.method(at.source, part, "parameters()")
            count = sum(1 for _ in held.parameters())
            return raised.finding(
                "module-for-parameters",
                f"{at.source.segment(part)} is a module: its parameters are wanted",
                evidence=[f"{values.describe(held)} has {count} parameters"],
                fixes=[_fix(at, part, text)],
            )
    return None


@explains(TypeError, r"(not supported between instances of|unsupported operand).*'str'")
def text(raised: Raised):
    """A number of argparse's without type=, or another text that reads as a number."""
    at = raised.innermost
    for part in [*changes.given(at.node), *upstream.operands(at)]:
        held = at.value(part, None)
        kind_ = _number_kind(held)
        if kind_ is None:
            continue
        name = frames.last_name(part)
        new = f"{kind_}({at.source.segment(part)})"
        fixes, place = [_fix(at, part, new)], at
        for spot in upstream.calls(upstream.user_sources(raised), "add_argument"):
            flags = [a.value for a in spot.node.args if isinstance(a, ast.Constant)]
            if name in [str(f).lstrip("-").replace("-", "_") for f in flags]:
                typed = changes.with_keyword(spot.source, spot.node, "type", kind_)
                fixes.insert(0, spot.fix(typed))
                place = spot.place
        return raised.finding(
            "number-as-text",
            f"{at.source.segment(part)} is the text {held!r}, and a number is wanted",
            place,
            evidence=[f"{at.source.segment(part)} = {held!r}"],
            related=at.related("the call that failed"),
            fixes=fixes,
        )
    return None


def _number_kind(held) -> str | None:
    if not isinstance(held, str):
        return None
    for kind_ in (int, float):
        try:
            kind_(held)
        except ValueError:
            continue
        return kind_.__name__
    return None


@explains(
    TypeError,
    r"must be tuple of ints|must be int, not (float|Tensor)|type must be tuple of ints"
    r"|'float' object cannot be interpreted as an integer",
)
def sizes(raised: Raised):
    """``d / 2`` and tensors among sizes."""
    at = raised.innermost
    for part in changes.given(at.node):
        held = upstream.value(at, part)
        if values.is_tensor(held):
            new = f"int({at.source.segment(part)})"
            return _size(raised, at, at, part, held, [_fix(at, part, new)])
        if not isinstance(held, float):
            continue
        spot = upstream.Spot(at.source, part, at)
        for _ in range(4):
            if not isinstance(spot.node, (ast.Name, ast.Attribute)):
                break
            spot = upstream.bound(raised, spot.at or at, spot.node) or spot
            if spot.node is part:
                break
        node = spot.node
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = spot.source.segment(node.left), spot.source.segment(node.right)
            new = f"{left} // {right}"
            fix = spot.source.fix(node, new)
            return _size(raised, at, spot, part, held, [fix])
        return _size(raised, at, at, part, held, [_fix(at, part, f"int({ast.unparse(part)})")])
    return None


def _size(raised: Raised, at, where, part, held, fixes):
    place = (where.file, where.line)
    name = at.source.segment(part)
    shown = values.describe(held) if values.is_tensor(held) else repr(held)
    return raised.finding(
        "size-not-whole",
        f"{name} is {shown}, and a whole number is wanted",
        place,
        evidence=[f"{name} = {shown} among the sizes of {at.text.splitlines()[0][:50]}"],
        related=at.related("used here"),
        fixes=fixes,
    )


# ---- Loaders and datasets


@explains(
    (TypeError, ValueError),
    r"'DataLoader' object is not (an iterator|subscriptable)"
    r"|(too many|not enough) values to unpack",
)
def loader(raised: Raised):
    """``next(loader)``, ``loader[0]`` and ``for i, (x, y) in loader``."""
    at = raised.innermost
    node, statement = at.node, at.statement
    if isinstance(statement, ast.For) and "unpack" in raised.message:
        target, walked = statement.target, statement.iter
        nested = isinstance(target, ast.Tuple) and any(
            isinstance(e, (ast.Tuple, ast.List)) for e in target.elts
        )
        if not nested or not isinstance(upstream.value(at, walked), DataLoader):
            return None
        part, text = walked, f"enumerate({at.source.segment(walked)})"
        title = "a loader's batches carry no number: enumerate gives them one"
    elif isinstance(node, ast.Call) and node.args:
        part, text = node.args[0], f"iter({at.source.segment(node.args[0])})"
        title = "a loader is walked by an iterator: iter(loader) makes one"
    elif isinstance(node, ast.Subscript):
        part, text = node, f"next(iter({at.source.segment(node.value)}))"
        title = "a loader has no positions: it is walked"
    else:
        return None
    line = getattr(part, "lineno", at.line)
    return raised.finding(
        "loader-used-wrongly",
        title,
        (at.file, line),
        evidence=[f"{at.source.segment(part)} at line {line} is a DataLoader or a batch of one"],
        fixes=[_fix(at, part, text)],
    )


@explains(TypeError, r"object of type '(\w+)' has no len\(\)")
def without_length(raised: Raised):
    """__len__ from the attribute that __getitem__ reads."""
    inner = list(upstream.inner_locals(raised.error))
    held = [n.get(name) for n in inner for name in ("self", "data_source", "dataset")]
    held += [getattr(o, "data_source", None) for o in held] + [
        v for f in raised.frames for v in f.names.values()
    ]
    dataset = next((o for o in held if type(o).__name__ == raised.match[1]), None)
    found = upstream.class_source(type(dataset)) if isinstance(dataset, Dataset) else None
    if found is None:
        return None
    (source, owner), at = found, raised.innermost
    sized = [n for n, v in vars(dataset).items() if hasattr(v, "__len__") and n[:1] != "_"]
    reads = ast.unparse(owner)
    sized.sort(key=lambda n: f"self.{n}[" not in reads)
    method = next(
        (m for m in owner.body if getattr(m, "name", "") == "__getitem__"), owner.body[-1]
    )
    fixes = []
    if sized:
        text = f"def __len__(self):\n    return len(self.{sized[0]})\n"
        fixes.append(Fix(f"__len__: len(self.{sized[0]})", [source.insert_before(method, text)]))
    return raised.finding(
        "dataset-without-length",
        f"{owner.name} has no __len__",
        (source.file, owner.lineno),
        evidence=[f"its attributes with a length: {', '.join(sized[:4]) or 'none, 0 of them'}"
                  if not sized else
                  f"len(self.{sized[0]}) is {len(getattr(dataset, sized[0]))}"],
        related=at.related("asked for its length"),
        fixes=fixes,
    )  # fmt: skip


# ---- Modules


@explains(NotImplementedError, r'Module \[Module(List|Dict)\] is missing the required "forward"')
def container(raised: Raised):
    """``self.layers(x)`` of a ModuleList: an nn.Sequential of the same layers."""
    at = raised.innermost
    called = at.value(at.node.func, None) if isinstance(at.node, ast.Call) else None
    spot = upstream.of_module(called) if isinstance(called, nn.Module) else None
    if spot is None or not isinstance(called, nn.ModuleList) or not spot.node.args:
        return None
    source, given = spot.source, spot.node.args[0]
    func = source.segment(spot.node.func)
    new = func[: len(func) - len("ModuleList")] + "Sequential"
    inner = f"*{changes.atom(source, given)}"
    if isinstance(given, (ast.List, ast.Tuple)):
        inner = ", ".join(source.segment(e) for e in given.elts)
    text = f"{new}({inner})"
    return raised.finding(
        "container-called",
        f"{at.source.segment(at.node.func)} is a ModuleList: it cannot be called",
        spot.place,
        evidence=[f"it holds {len(called)} modules and has no forward"],
        related=at.related("the call that failed"),
        fixes=[source.fix(spot.node, text, f"{new}(...)")],
    )


@explains(TypeError, r"cannot assign '.*' as parameter '(\w+)'")
def assigned(raised: Raised):
    """nn.Parameter around it; a local name for what forward computes."""
    at, name = raised.innermost, raised.match[1]
    statement = at.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    goal, source = ast.unparse(statement.targets[0]), at.source
    function = source.function_of(statement)
    reads = [
        n
        for n in ast.walk(function or statement)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load) and ast.unparse(n) == goal
    ]
    inside = [n for n in reads if n.lineno <= statement.end_lineno and n.lineno >= statement.lineno]
    if inside and function is not None:
        edits = [source.replace((statement.targets[0], name))]
        edits += [source.replace((n, name)) for n in reads if n.lineno > statement.end_lineno]
        fix = Fix(f"{name} = {source.segment(statement.value)}: a local name", edits)
        said = "a parameter's name cannot hold what forward computes from it"
    else:
        text = f"{changes.prefix_for(source, 'nn')}.Parameter({source.segment(statement.value)})"
        fix = source.fix(statement.value, text, f"{goal} = {text}")
        said = "a parameter's name takes parameters, not plain tensors"
    value = upstream.value(at, statement.value)
    return raised.finding(
        "parameter-assigned", said,
        evidence=[(f"{goal} is a parameter; {source.segment(statement.value)} is "
                  f"{values.describe(value)}")],
        fixes=[fix],
    )  # fmt: skip


@explains(TypeError, r"(\w+)\.forward\(\) missing 1 required positional argument: '(\w+)'")
def missing(raised: Raised):
    """The tensor at hand that is named like what a loss or a module lacks, or a batch's entry."""
    at, wanted = raised.innermost, raised.match[2]
    if not isinstance(at.node, ast.Call):
        return None
    like = ("y", "target", "targets", "label", "labels", "yb", "y_true", "gt", "tgt")
    room = {**at.frame.f_globals, **at.names}
    found = [n for n in (like if wanted in like else ()) if values.is_tensor(room.get(n))]
    found += [n for n, v in at.names.items() if values.is_tensor(v) and wanted in n.lower()]
    held = [n for n, v in room.items() if isinstance(v, dict) and values.is_tensor(v.get(wanted))]
    found += [f'{n}["{wanted}"]' for n in held]
    used = {n.id for n in ast.walk(at.node) if isinstance(n, ast.Name)}
    fixes = []
    for name in dict.fromkeys(n for n in found if n not in used):
        text = changes.call_text(
            at.source, at.node, None, [*changes.arguments(at.source, at.node), name]
        )
        fixes.append(at.fix(text, call=text))
    return raised.finding(
        "argument-missing",
        f"{at.source.segment(at.node.func)} needs its argument {wanted}, too",
        evidence=[f"arguments given: {len(at.node.args)}; at hand: {', '.join(found) or '-'}"],
        fixes=try_calls(raised, fixes),
    )


@explains(TypeError, r"(\w+)\.(\w+)\(\) takes (\d+) positional arguments? but (\d+) were given")
def without_self(raised: Raised):
    """``def forward(x)`` in a class."""
    if int(raised.match[4]) != int(raised.match[3]) + 1:
        return None
    for source, owner in upstream.classes(upstream.user_sources(raised), raised.match[1]):
        named = (f for f in owner.body if getattr(f, "name", "") == raised.match[2])
        function = next(named, None)
        if not isinstance(function, ast.FunctionDef):
            continue
        names = [a.arg for a in function.args.args]
        if names[:1] in (["self"], ["cls"]) or function.decorator_list:
            return None
        line, at = source.lines[function.lineno - 1], raised.innermost
        rest = "self, " if names else "self"
        text = line.replace(f"{function.name}(", f"{function.name}({rest}", 1)
        edit = Edit(source.file, function.lineno, function.lineno, text)
        return raised.finding(
            "self-missing",
            f"{owner.name}.{function.name} has no self",
            (source.file, function.lineno),
            evidence=[f"{raised.match[4]} arguments arrive, {raised.match[3]} have a name"],
            related=at.related("the call that failed"),
            fixes=[Fix(text.strip(), [edit])],
        )
    return None


# ---- Lists


@explains(
    (AttributeError, ValueError, RuntimeError, TypeError),
    r"'list' object has no attribute|only one element tensors can be converted"
    r"|expects a non-empty TensorList|expected a non-empty list of Tensors",
)
def lists(raised: Raised):
    """``losses.mean()``, ``torch.tensor(outs)`` and ``torch.stack([])``."""
    at, node = raised.innermost, raised.innermost.node
    part = node.value if isinstance(node, ast.Attribute) else None
    if isinstance(node, ast.Call) and node.args:
        part = node.args[0]
    held = upstream.value(at, part) if part is not None else None
    if not isinstance(held, (list, tuple)):
        return None
    name, torch = at.source.segment(part), changes.torch_name(at.source)
    if not held:
        text = f"{at.source.segment(node)} if {name} else {torch}.empty(0)"
        text = text if isinstance(node.parent, (ast.Assign, ast.Return)) else f"({text})"
        return raised.finding(
            "list-for-tensor",
            f"{name} is empty: there is nothing to put together",
            evidence=[f"{name} has 0 entries"],
            fixes=[_fix(at, node, text)],
        )
    if not all(values.is_tensor(t) for t in held):
        return None
    stacked = f"{torch}.stack({name})"
    goal = part if isinstance(node, ast.Attribute) else node
    return raised.finding(
        "list-for-tensor",
        f"{name} is a list of {len(held)} tensors, not a tensor",
        evidence=[f"{name}[0] is {values.describe(held[0])}"],
        fixes=[_fix(at, goal, stacked)],
    )


@explains(
    TypeError, r"'(torch\.|rushlight\.)?Size' object is not callable|'\w+' object is not subscr"
)
def shape(raised: Raised):
    """``x.shape(0)`` and ``x.size[0]``."""
    at, node = raised.innermost, raised.innermost.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        text = f"{at.source.segment(node.func)}[{at.source.segment(node.args[0])}]"
    elif isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "size":
        text = f"{at.source.segment(node.value)}({at.source.segment(node.slice)})"
    else:
        return None
    holder = getattr(node, "func", None) or node.value
    held = upstream.value(at, holder.value)
    if not values.is_tensor(held):
        return None
    return raised.finding(
        "shape-unpacked",
        f"{at.text}: shape is a tuple, size() a method",
        evidence=[f"{at.source.segment(holder.value)} is {values.describe(held)}"],
        fixes=[_fix(at, node, text)],
    )
