"""Errors of numpy arrays on their way in: strides that run backwards, dtypes without a tensor's."""

from __future__ import annotations

import ast

from .. import changes, upstream, values
from ..registry import explains, kind
from . import Raised, try_calls

kind(
    "numpy-negative-stride",
    "A numpy array runs backwards: a tensor cannot have its strides",
    """
a[::-1], a[..., ::-1] (BGR to RGB), np.flip and np.rot90 give views that step backwards through the
same memory. Tensors have no negative strides. A copy in the new order does: a[:, ::-1].copy(), or
np.ascontiguousarray(a); or flip the tensor: torch.from_numpy(a).flip(1).
""",
)
kind(
    "numpy-dtype",
    "A numpy array has a dtype that tensors lack",
    """
Arrays of objects, strings or dates have no tensor. An object array usually comes from rows of
unequal lengths, or from a table in which one column is text or has a missing value: select the
columns with numbers and say astype("float32").
""",
)
kind(
    "mean-of-whole-numbers",
    "The mean of bools or whole numbers was asked",
    """
mean() divides, and its result has its input's dtype: there is no mean in bool or int64. Comparing
gives bools, argmax and labels are int64. Convert first: (prediction == labels).float().mean(), or
say mean(dtype=torch.float32).
""",
)


@explains(TypeError, r"Got unsupported ScalarType BFloat16")
def bfloat16(raised: Raised):
    """t.numpy() of bfloat16, which numpy does not know: float() before it."""
    at = raised.innermost
    known = [k for k in upstream.tensors(at) if values.dtype_name(k[1].dtype) == "bfloat16"]
    if not known:
        return None
    part, tensor = known[0]
    fix = at.fix_part(part, changes.method(at.source, part, "float()"))
    return raised.finding(
        "numpy-dtype",
        "numpy has no bfloat16",
        evidence=[values.sentence(at.source.segment(part), tensor)],
        fixes=try_calls(raised, [fix]),
    )


_FLIPS = {"flip", "fliplr", "flipud", "rot90"}


@explains(ValueError, r"At least one stride in the given numpy array is negative")
def negative(raised: Raised):
    """The slice with a negative step, or the flip, that the array came from."""
    at = raised.innermost
    if not isinstance(at.node, ast.Call) or not at.node.args:
        return None
    argument = at.node.args[0]
    array = upstream.value(at, argument)
    evidence = []
    if hasattr(array, "strides"):
        evidence.append(
            f"{at.source.segment(argument)}: {values.describe(array)}, strides {array.strides}"
        )
    fixes, place = [], at
    spot = upstream.Spot(at.source, argument, at)
    for _ in range(6):
        found = _backwards(spot.node)
        if found is not None or not isinstance(spot.node, (ast.Name, ast.Attribute)):
            break
        spot = upstream.bound(raised, spot.at or at, spot.node) or spot
        if isinstance(spot.node, ast.Name) and spot.at is None:
            break
    if found is None and isinstance(spot.node, ast.Call):
        target = (spot.at or at).value(spot.node.func, None)
        if not hasattr(target, "__code__"):
            target = type(target).__call__ if callable(target) else None
        for inside in upstream.returned(target):
            turned = _backwards(inside.node)
            if turned is not None:
                spot, found = inside, turned
    if found is not None and (spot.file, found.lineno) != (at.file, at.line):
        place = (spot.file, found.lineno)
        text = changes.method(spot.source, found, "copy()")
        fixes.append(spot.source.fix(found, text))
        evidence.append(f"{spot.source.segment(found)} runs backwards through its array")
    fix = at.fix_part(argument, changes.method(at.source, argument, "copy()"))
    fixes += try_calls(raised, [fix])
    return raised.finding(
        "numpy-negative-stride",
        "a tensor cannot step backwards through memory: copy the array",
        place,
        evidence=evidence,
        related=at.related("the call that failed"),
        fixes=fixes,
    )


def _backwards(node: ast.AST) -> ast.expr | None:
    """The part of an expression that turns an array round."""
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript):
            steps = [s.step for s in ast.walk(part.slice) if isinstance(s, ast.Slice)]
            if any(isinstance(s, ast.UnaryOp) and isinstance(s.op, ast.USub) for s in steps):
                return part
        if upstream.called(part) in _FLIPS:
            return part
    return None


@explains(TypeError, r"can't convert np.ndarray of type numpy\.(\w+)")
def objects(raised: Raised):
    """An array of objects: what its items are."""
    at = raised.innermost
    parts = upstream.operands(at)
    array = next((v for v in (upstream.value(at, p) for p in parts) if hasattr(v, "dtype")), None)
    if array is None:
        return None
    kinds = sorted({type(item).__name__ for item in array.ravel()[:1000]})
    evidence = [f"{values.describe(array)}; its items are {', '.join(kinds)}"]
    part = next(p for p in parts if upstream.value(at, p) is not None)
    fix = at.fix_part(part, changes.method(at.source, part, 'astype("float32")'))
    fixes = try_calls(raised, [fix])
    spot = upstream.bound(raised, at, part)
    asked = changes.keyword(spot.node, "dtype") if spot is not None else None
    if asked is None or not fixes:
        return raised.finding(
            "numpy-dtype", f"no tensor has numpy's {raised.match[1]}", evidence=evidence,
            fixes=fixes,
        )  # fmt: skip
    fixes.insert(0, spot.source.fix(asked, '"float32"', 'dtype="float32"'))
    return raised.finding(
        "numpy-dtype",
        f"the array was made of objects: no tensor has numpy's {raised.match[1]}",
        (spot.file, spot.line),
        evidence=evidence,
        related=at.related("the call that failed"),
        fixes=fixes,
    )


@explains(
    (RuntimeError, NotImplementedError),
    r"could not infer output dtype|std and var only support floating point"
    r"|[Ee]xpected a floating point or complex tensor as input"
    r"|not implemented for '(?:Long|Int|Bool|Short|Byte|Char)'",
)
def mean(raised: Raised):
    """t.mean(), torch.mean(t), std and var of bools and integers."""
    at = raised.innermost
    known = [k for k in upstream.tensors(at) if not k[1].is_floating_point()]
    if not known:
        return None
    part, tensor = known[0]
    fix = at.fix_part(part, changes.method(at.source, part, "float()"))
    return raised.finding(
        "mean-of-whole-numbers",
        f"{at.text}: {values.dtype_name(tensor.dtype)} has no {upstream.called(at.node) or 'such'}",
        evidence=[values.sentence(at.source.segment(part), tensor)],
        fixes=try_calls(raised, [fix]),
    )
