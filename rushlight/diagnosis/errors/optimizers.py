"""Errors of building optimizers and schedules: no parameters, some twice, too many steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rushlight import _C, device, nn, no_grad

from .. import changes, construction, frames, trial, upstream, values
from ..finding import Fix, Related
from ..registry import explains, kind
from . import Raised

SECONDS = 0.2

kind(
    "parameters-empty",
    "The optimizer got no parameters",
    """
parameters() gives a generator, which can be walked once: what was counted or printed is used up and
gives nothing the second time. Keep a list: params = list(model.parameters()). A model whose layers
stand in a plain list has no parameters at all: use nn.ModuleList.
""",
)
kind(
    "parameters-twice",
    "A parameter stands in two groups of an optimizer",
    """
Each parameter belongs to one group, with one learning rate. Where a part of a model gets a rate of
its own, the other group has to leave that part out.
""",
)
kind(
    "schedule-too-short",
    "A schedule was stepped more often than it was built for",
    """
OneCycleLR counts calls of step(): total_steps is the number of batches in all epochs where it is
stepped once per batch (epochs * len(loader), or epochs= and steps_per_epoch=), the number of epochs
where it is stepped once per epoch.
""",
)
kind(
    "plateau-without-metric",
    "ReduceLROnPlateau.step() needs the number that it watches",
    """
This schedule lowers the rate when a number stops getting better, so step() takes that number: the
validation loss of the epoch, scheduler.step(val_loss).
""",
)


@explains(ValueError, r"optimizer got an empty parameter list")
def empty(raised: Raised):
    """A generator used up, or layers that the model does not know of."""
    at = raised.innermost
    given = construction.argument(at.node, 0, "params") if isinstance(at.node, ast.Call) else None
    if given is None:
        return None
    spot = upstream.bound(raised, at, given) if isinstance(given, ast.Name) else None
    if spot is not None and _is_generator(spot.node):
        text = f"list({spot.text})"
        return raised.finding(
            "parameters-empty",
            f"{given.id} is a generator, and it was used up before line {at.line}",
            spot.place,
            evidence=[f"{spot.text} can be walked once; 0 parameters were left"],
            related=at.related("the optimizer that got none"),
            fixes=[spot.fix(text)],
        )
    model = _model_of(at, given)
    if model is None:
        return None
    return _in_a_list(raised, at, model) or _all_frozen(raised, at, given, model)


def _all_frozen(raised: Raised, at, given, model):
    """Only parameters that require grad were asked for, and none does."""
    parameters = list(model.parameters())
    if not parameters or any(p.requires_grad for p in parameters):
        return None
    freezing = [n for n in ast.walk(at.source.tree) if _freezes(n) and n.lineno < at.line]
    place = (at.file, freezing[-1].lineno) if freezing else at
    name = next(map(ast.unparse, _asked(given)))
    children = [n for n, child in model.named_children() if list(child.parameters())]
    fixes = []
    if children:
        last = f"{name}[{children[-1]}]" if children[-1].isdigit() else f"{name}.{children[-1]}"
        text = f"{last}.requires_grad_(True)"
        edit = at.source.insert_before(at.statement, text)
        fixes = [Fix(f"{text}: the last layer learns", [edit])]
    return raised.finding(
        "parameters-empty",
        f"every parameter of {name} is frozen",
        place,
        evidence=[f"0 of {len(parameters)} parameters require grad"],
        related=at.related("the optimizer that got none"),
        fixes=fixes,
    )


def _freezes(node: ast.AST) -> bool:
    """``p.requires_grad = False`` and ``model.requires_grad_(False)``."""
    if isinstance(node, ast.Assign):
        value, names = node.value, {getattr(t, "attr", "") for t in node.targets}
        return "requires_grad" in names and isinstance(value, ast.Constant) and not value.value
    return upstream.called(node) == "requires_grad_" and any(
        isinstance(a, ast.Constant) and a.value is False for a in node.args
    )


def _is_generator(node: ast.AST) -> bool:
    walks = {"parameters", "named_parameters", "filter", "map", "buffers", "chain"}
    return isinstance(node, ast.GeneratorExp) or upstream.called(node) in walks


def _asked(given: ast.expr) -> Iterator[ast.expr]:
    """What ``parameters()`` is called on in an expression."""
    calls = (n for n in ast.walk(given) if frames.called(n) == "parameters")
    return (holder for holder in map(frames.receiver, calls) if holder is not None)


def _model_of(at, given):
    """The module in ``model.parameters()``."""
    for node in _asked(given):
        held = at.value(node, None)
        if held is None and isinstance(node, ast.Call):
            held = _built_again(at, node)
        if isinstance(held, nn.Module):
            return held
    return None


def _built_again(at, call: ast.Call):
    """The module of ``Net().parameters()``, which nobody holds: built once more, on meta."""
    built = at.value(call.func, None)
    if not (isinstance(built, type) and issubclass(built, nn.Module)):
        return None
    names = {**at.frame.f_globals, **_C._locals(at.frame)}

    def again():
        with no_grad(), device("meta"):
            return eval(compile(ast.Expression(call), at.file, "eval"), names)

    return trial.quietly(again, SECONDS)


def _in_a_list(raised: Raised, at, model):
    for path, module in model.named_modules():
        for name, held in vars(module).items():
            if name.startswith("_") or not isinstance(held, (list, tuple, dict)):
                continue
            items = list(held.values() if isinstance(held, dict) else held)
            if not items or not all(isinstance(v, (nn.Module, nn.Parameter)) for v in items):
                continue
            spot = upstream.attribute_of(module, name)
            if spot is None:
                continue
            kinds = "Module" if isinstance(items[0], nn.Module) else "Parameter"
            wanted = f"nn.{kinds}{'Dict' if isinstance(held, dict) else 'List'}"
            text = f"{wanted}({spot.text})"
            count = sum(
                p.numel() for v in items for p in (v.parameters() if kinds == "Module" else [v])
            )
            return raised.finding(
                "modules-in-plain-list",
                f"{path or type(module).__name__}.{name} is a plain {type(held).__name__}: "
                f"its {len(items)} {kinds.lower()}s are hidden",
                spot.place,
                evidence=[f"{count:,} values in it are missing from parameters()"],
                related=at.related("the optimizer that got none"),
                fixes=[spot.fix(text)],
            )
    return None


@explains(ValueError, r"some parameters appear in more than one parameter group")
def twice(raised: Raised):
    """The group that holds what another one has, without that."""
    at = raised.innermost
    groups = []
    for node in ast.walk(at.node) if at.node is not None else ():
        if isinstance(node, ast.Dict):
            for key, held in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "params":
                    groups.append((held, _listed(upstream.value(at, held))))
    known = [(n, {id(p) for p in ps}) for n, ps in groups if ps]
    for wide, ids in known:
        for narrow, inner in known:
            if wide is narrow or not inner < ids:
                continue
            a, b = at.source.segment(wide), at.source.segment(narrow)
            text = f"[p for p in {a} if all(p is not q for q in {b})]"
            return raised.finding(
                "parameters-twice",
                f"{a} holds all of {b}, too",
                (at.file, wide.lineno),
                evidence=[f"{len(inner)} of {len(ids)} parameters stand in both groups"],
                related=[Related(at.file, narrow.lineno, "the other group")],
                fixes=[at.source.fix(wide, text)],
            )
    return None


def _listed(found) -> list:
    if values.is_tensor(found):
        return [found]
    try:
        return list(found or ())
    except TypeError:
        return []


@explains(ValueError, r"Tried to step (\d+) times\. The specified number of total steps is (\d+)")
def too_long(raised: Raised):
    """total_steps where the schedule is built, from the loops around its step."""
    at = raised.innermost
    found = upstream.calls(upstream.user_sources(raised), "OneCycleLR", "CyclicLR")
    if not found or at.node is None:
        return None
    spot, total = found[0], int(raised.match[2])
    loops = [n for n in at.loops if isinstance(n, ast.For)]
    counts = [_turns(at.source, loop) for loop in loops]
    fixes = []
    if counts and all(counts):
        text = " * ".join(reversed(counts))
        call = spot.node
        kept = changes.arguments(spot.source, call, ("total_steps", "epochs", "steps_per_epoch"))
        new = changes.call_text(spot.source, call, None, [*kept, f"total_steps={text}"])
        fixes.append(spot.source.fix(call, new, f"total_steps={text}"))
    turns = " x ".join(str(upstream.value(at, ast.parse(c, mode="eval").body)) for c in counts if c)
    return raised.finding(
        "schedule-too-short",
        f"the schedule was built for {total} steps and is stepped {raised.match[1]} times",
        spot.place,
        evidence=[f"step() stands in {len(loops)} loops: {turns or 'more'} turns, {total} planned"],
        related=at.related("the step that is one too many"),
        fixes=fixes,
    )


def _turns(source, loop: ast.For) -> str | None:
    """How many turns a loop has, as an expression."""
    walked = loop.iter
    if upstream.called(walked) in ("enumerate", "tqdm", "trange") and walked.args:
        walked = walked.args[0]
    if upstream.called(walked) == "range" and len(walked.args) == 1:
        inner = walked.args[0]
        text = source.segment(inner)
        return text if isinstance(inner, (ast.Name, ast.Constant, ast.Attribute)) else f"({text})"
    if isinstance(walked, (ast.Name, ast.Attribute)):
        return f"len({source.segment(walked)})"
    return None


@explains(TypeError, r"ReduceLROnPlateau\.step\(\) missing 1 required positional argument")
def without_metric(raised: Raised):
    """step() with the loss at hand that is named most like a validation's."""
    at = raised.innermost
    if not isinstance(at.node, ast.Call):
        return None
    numbers = [
        name
        for name, held in at.names.items()
        if (isinstance(held, float) or (values.is_tensor(held) and held.numel() == 1))
        and any(word in name.lower() for word in ("loss", "metric", "acc", "err", "val"))
    ]
    numbers.sort(key=lambda n: ("val" not in n.lower(), "loss" not in n.lower()))
    fixes = []
    for name in numbers[:2]:
        text = changes.call_text(at.source, at.node, None, [name])
        fixes.append(at.fix(text))
    return raised.finding(
        "plateau-without-metric",
        f"{at.text}: the number to watch is missing",
        evidence=[f"0 arguments; at hand are {', '.join(numbers[:3]) or 'no losses'}"],
        fixes=fixes,
    )
