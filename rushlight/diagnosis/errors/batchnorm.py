"""BatchNorm that trains on one value per channel: no eval(), or a last batch of one sample."""

from __future__ import annotations

import ast

from rushlight import _C, nn

from .. import changes, trial, upstream, values
from ..finding import Fix
from ..registry import explains, kind
from . import Raised

kind(
    "batchnorm-one-value",
    "BatchNorm is training on a single value per channel",
    """
In training mode BatchNorm takes mean and variance of the batch, and of one value there is no
variance. When predicting a single sample, model.eval() was forgotten: the layer then uses the
averages it has learned. When the last batch of an epoch is one sample, drop it (drop_last=True) or
choose another batch size. LayerNorm and GroupNorm do not look at the batch.
""",
)


@explains(ValueError, r"Expected more than 1 value per channel when training")
def one_value(raised: Raised):
    """eval() that is missing, or a last batch of one."""
    at = raised.innermost
    layer = next((m for m in reversed(raised.modules()) if hasattr(m, "running_mean")), None)
    given = upstream.inner(raised.error, "input")
    evidence = []
    if values.is_tensor(given):
        evidence.append(f"{values.shape_of(given)} reaches BatchNorm: one value per channel")
    loader = _loader(raised) if _C.is_grad_enabled() or _trains(raised) else None
    if loader is not None:
        spot, rest = loader
        text = changes.with_keyword(spot.source, spot.node, "drop_last", "True")
        return raised.finding(
            "batchnorm-one-value",
            "the last batch of the epoch is a single sample",
            spot.place,
            evidence=[*evidence, rest],
            related=at.related("the call that failed"),
            fixes=[spot.fix(text)],
        )
    found = _model_call(raised, layer)
    if found is None:
        return raised.finding(
            "batchnorm-one-value", "BatchNorm is in training mode", evidence=evidence
        )
    frame, name = found
    place, block = _evaluation(frame)
    fix = Fix(f"{name}.eval() before it", [frame.source.insert_before(block, f"{name}.eval()")])
    count = sum(1 for m in raised.modules()[0].modules() if hasattr(m, "running_mean"))
    evidence.append(f"{name} is in training mode, {count} BatchNorm in it")
    return raised.finding(
        "batchnorm-one-value",
        f"{name}.eval() is missing before a single sample is predicted",
        place,
        evidence=evidence,
        related=at.related("the call that failed"),
        fixes=[fix],
    )


def _trains(raised: Raised) -> bool:
    """Whether a loop on the way calls backward."""
    loops = (loop for at in raised.frames for loop in at.loops)
    return any(upstream.called(n) == "backward" for loop in loops for n in ast.walk(loop))


def _loader(raised: Raised):
    """The DataLoader whose loop runs, where its last batch is a single sample."""
    from rushlight.utils.data import DataLoader

    for at in reversed(raised.frames):
        for loop in at.loops:
            for node in ast.walk(loop.iter) if isinstance(loop, ast.For) else ():
                held = at.value(node, None)
                if not isinstance(held, DataLoader) or (held.batch_size or 0) < 2:
                    continue
                count = trial.quietly(lambda d=held.dataset: len(d))
                if count is None or count % held.batch_size != 1:
                    continue
                made = upstream.bound(raised, at, node)
                if made is not None and upstream.called(made.node) == "DataLoader":
                    return made, f"{count} samples in batches of {held.batch_size}: 1 is left"
    return None


def _model_call(raised: Raised, layer):
    """The frame that calls the module that holds the layer from outside, and the module's name."""
    for at in reversed(raised.frames):
        if not isinstance(at.node, ast.Call):
            continue
        owner = _C._locals(at.frame).get("self")
        if isinstance(owner, nn.Module) and layer in list(owner.modules()):
            continue
        for part in (at.node.func, getattr(at.node.func, "value", at.node.func)):
            held = at.value(part, None)
            if isinstance(held, nn.Module) and layer in list(held.modules()):
                return at, at.source.segment(part)
    return None


def _evaluation(at):
    """The statement that begins the evaluation: a ``with no_grad()``, a loop, or the call."""
    block = at.statement
    walk = getattr(block, "parent", None)
    while walk is not None and not isinstance(walk, (ast.FunctionDef, ast.ClassDef, ast.Module)):
        if isinstance(walk, ast.With):
            names = [upstream.called(i.context_expr) for i in walk.items]
            if any(n in ("no_grad", "inference_mode") for n in names):
                block = walk
        walk = getattr(walk, "parent", None)
    return (at.file, block.lineno), block
