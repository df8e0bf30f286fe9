"""The experiments that the recorder runs on PyTorch and the sweeps on the module under test.

Each takes (torch, row) and yields (key, call, outcome) with outcomes as plain data; a sweep passes
when its outcomes equal the recorded ones. A key names the element type, the call and the variant.
"""

from __future__ import annotations

import warnings

from .build import LAYOUTS, Builder, resolve
from .outcome import agrees, dtype_name, encode, raised
from .spec import ALL, Call, T, numbers

GRADIENT_TYPES = ("float64", "float32", "complex128")


def attempt(run, *args):
    """run(*args), or the exception it raised as data."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(*args)
    except Exception as error:
        return raised(error)


def perform(torch, row, call: Call, builder: Builder, function=None, **extra):
    """The live result of one call."""
    args, kwargs = builder.arguments(call)
    if row.seed is not None:
        torch.manual_seed(row.seed)
    return (function or resolve(torch, row.name))(*args, **kwargs, **extra)


def plain(torch, row, call: Call, dtype: str, device=""):
    """The encoded result of one call on dense inputs."""
    return encode(torch, perform(torch, row, call, Builder(torch, dtype, "", device)))


def cases(row, dtypes=None):
    """(element type, index, call) of every call of a row."""
    for dtype in dtypes or row.dtypes:
        for n, call in enumerate(row.calls):
            if dtype in row.dtypes and call.serves(dtype):
                yield dtype, n, call


def main_cases(torch, row):
    """The calls in the first element type that each of them accepts, float32 preferred."""
    order = [d for d in ("float32", "int64", "complex64", *ALL) if d in row.dtypes]
    for n, call in enumerate(row.calls):
        fits = [d for d in dict.fromkeys(order) if call.serves(d)]
        dtype = next((d for d in fits if accepted(torch, row, call, d)), None)
        if dtype:
            yield dtype, n, call


def accepted(torch, row, call, dtype) -> bool:
    """Whether the call runs in an element type."""
    return not isinstance(attempt(perform, torch, row, call, Builder(torch, dtype)), dict)


def values(torch, row):
    """Every call in every element type: values, element types, shapes, strides, refusals."""
    for dtype, n, call in cases(row):
        yield f"{dtype}/{n}", call, attempt(plain, torch, row, call, dtype)


def errors(torch, row):
    """The row's failing calls, and calls with a string in the place of each tensor (not for
    aten.NAME: what PyTorch says there is its dispatcher's)."""
    for n, call in enumerate(row.fails):
        dtype = next(d for d in row.dtypes if call.serves(d))
        yield f"fail/{n}", call, attempt(plain, torch, row, call, dtype)
    for call in row.calls[: 0 if row.name.startswith("aten.") else 1]:
        dtype = next(d for d in row.dtypes if call.serves(d))
        for place, arg in enumerate(call.args):
            if isinstance(arg, T) and not (place == 0 and row.name.startswith("Tensor.")):
                wrong = Call((*call.args[:place], "text", *call.args[place + 1 :]), call.kwargs)
                yield f"text/{place}", wrong, attempt(plain, torch, row, wrong, dtype)


def layouts(torch, row):
    """Other memory layouts give the values of the dense call; result strides are recorded."""
    if not row.layouts or row.uninitialised or row.seed is not None:
        return
    for dtype, n, call in main_cases(torch, row):
        for layout in LAYOUTS:
            yield (
                f"{dtype}/{n}/{layout}",
                call,
                attempt(_layout_outcome, torch, row, call, dtype, layout),
            )


def _layout_outcome(torch, row, call, dtype, layout):
    other = perform(torch, row, call, Builder(torch, dtype, layout))
    dense = "expanded_dense" if layout == "expanded" else ""
    plain = perform(torch, row, call, Builder(torch, dtype, dense))
    return {
        "agrees": agrees(torch, other, plain, row),
        "result": encode(torch, other, with_values=False),
    }


def meta(torch, row):
    """On the meta device: shapes, element types and strides of the result."""
    for dtype, n, call in main_cases(torch, row) if row.meta else ():
        yield f"{dtype}/{n}", call, attempt(plain, torch, row, call, dtype, "meta")


def inplace_function(torch, row):
    """The in-place form of a row's op, or None."""
    head, _, last = row.name.rpartition(".")
    if head in ("", "Tensor") and not last.endswith("_"):
        method = getattr(torch.Tensor, f"{last}_", None)
        return method if callable(method) else None
    if row.inplace_flag:
        function = resolve(torch, row.name)
        return lambda *args, **kwargs: function(*args, inplace=True, **kwargs)
    return None


def inplace(torch, row):
    """x.op_(...) leaves in x what op(x, ...) returns, returns x and counts one version."""
    function = inplace_function(torch, row)
    if function is None:
        return
    for dtype, n, call in cases(row):
        if call.args and isinstance(call.args[0], T):
            yield f"{dtype}/{n}", call, attempt(_inplace_outcome, torch, row, call, dtype, function)


def _inplace_outcome(torch, row, call, dtype, function):
    builder = Builder(torch, dtype)
    result = perform(torch, row, call, builder, function)
    changed = builder.tensors[0]
    found = {"self": result is changed, "version": changed._version}
    plain = perform(torch, row, call, Builder(torch, dtype))
    if dtype_name(plain.dtype) != dtype or not agrees(torch, changed, plain, row):
        found["value"] = encode(torch, changed)
    return found


def out(torch, row):
    """out= of several kinds: empty, strided, of the wrong shape, of other element types."""
    if not _takes_out(torch, row):
        return
    for dtype, n, call in main_cases(torch, row):
        for variant in OUTS if row.outs else ("empty", "strided"):
            yield (
                f"{dtype}/{n}/{variant}",
                call,
                attempt(_out_outcome, torch, row, call, dtype, variant),
            )


def _takes_out(torch, row) -> bool:
    if row.name.startswith("Tensor.") or row.uninitialised or row.outs is None:
        return False
    for dtype, _, call in main_cases(torch, row):
        outcome = attempt(_out_outcome, torch, row, call, dtype, "empty")
        if "raises" not in outcome:
            return True
    return False


def _empty(torch, like):
    return torch.empty([0], dtype=like.dtype)


def _strided(torch, like):
    shape = list(like.shape)
    return torch.zeros(shape[::-1], dtype=like.dtype).permute(*reversed(range(len(shape))))


def _wrong_shape(torch, like):
    return torch.zeros([7], dtype=like.dtype)


OUTS = {
    "empty": _empty,
    "strided": _strided,
    "wrong_shape": _wrong_shape,
    "as_float64": lambda torch, like: torch.zeros(list(like.shape), dtype=torch.float64),
    "as_int64": lambda torch, like: torch.zeros(list(like.shape), dtype=torch.int64),
    "expanded": lambda torch, like: torch.zeros([1], dtype=like.dtype).expand(list(like.shape)),
}


def _out_outcome(torch, row, call, dtype, variant):
    plain = perform(torch, row, call, Builder(torch, dtype))
    several = isinstance(plain, (list, tuple))
    outs = [OUTS[variant](torch, p) for p in (plain if several else [plain])]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = tuple(outs) if several else outs[0]
        result = perform(torch, row, call, Builder(torch, dtype), out=given)
    results = list(result) if several else [result]
    wanted = [p.to(o.dtype) for p, o in zip(plain if several else [plain], outs, strict=True)]
    return {
        "agrees": agrees(torch, outs, wanted, row),
        "self": all(r is o for r, o in zip(results, outs, strict=True)),
        "result": [encode(torch, o, with_values=False) for o in outs],
        "warns": sum("resized" in str(w.message) for w in caught),
    }


def overlap(torch, row):
    """Written memory that overlaps itself or an input."""
    function = inplace_function(torch, row)
    for dtype, n, call in main_cases(torch, row):
        if not call.args or not isinstance(call.args[0], T):
            continue
        if function is not None:
            yield (
                f"{dtype}/{n}/inplace_expanded",
                call,
                attempt(_expanded_self, torch, row, call, dtype, function),
            )
            if len(call.args) > 1 and isinstance(call.args[1], T) and call.args[0].shape:
                yield (
                    f"{dtype}/{n}/inplace_shifted",
                    call,
                    attempt(_shifted, torch, row, call, dtype, function),
                )
        break
    if _takes_out(torch, row):
        for dtype, n, call in main_cases(torch, row):
            for variant in ("out_shifted", "out_same"):
                yield (
                    f"{dtype}/{n}/{variant}",
                    call,
                    attempt(_out_over_input, torch, row, call, dtype, variant),
                )


def _expanded_self(torch, row, call, dtype, function):
    perform(torch, row, call, Builder(torch, dtype, "expanded"), function)
    return True


class _ShiftedBuilder(Builder):
    """Makes all tensors of the first one's shape as neighbouring windows of one storage."""

    def tensor(self, spec: T):
        if self.tensors and spec.shape != self.specs[0].shape:
            return super().tensor(spec)
        if not self.tensors:
            flat = numbers(spec, spec.dtype or self.dtype, 0)
            flat = flat + flat[:1] * 2
            self.store = self.torch.tensor(flat, dtype=getattr(self.torch, self.dtype))
        count = len(self.store) - 2
        start = min(len(self.tensors), 2)
        made = self.store[start : start + count].reshape(list(spec.shape))
        self.tensors.append(made)
        self.specs.append(spec)
        return made


def _shifted(torch, row, call, dtype, function):
    perform(torch, row, call, _ShiftedBuilder(torch, dtype), function)
    return True


def _out_over_input(torch, row, call, dtype, variant):
    plain = perform(torch, row, call, Builder(torch, dtype))
    builder = _ShiftedBuilder(torch, dtype)
    args, kwargs = builder.arguments(call)
    same = isinstance(plain, torch.Tensor) and plain.shape == builder.tensors[0].shape
    if not same or plain.dtype != builder.tensors[0].dtype or not plain.numel():
        return None
    if variant == "out_same":
        builder = Builder(torch, dtype)
        args, kwargs = builder.arguments(call)
        target = builder.tensors[0]
    else:
        target = builder.store[1:-1].reshape(list(plain.shape))
    resolve(torch, row.name)(*args, **kwargs, out=target)
    return {"agrees": agrees(torch, target, plain, row)} if variant == "out_same" else True


def cotangent(torch, result, seed: int):
    """A deterministic gradient of the shape and type of a result."""
    spec = T(tuple(result.shape), low=-2, high=2)
    flat = numbers(spec, dtype_name(result.dtype), 1000 + seed)
    return torch.tensor(flat, dtype=result.dtype).reshape(list(result.shape))


def tensors_in(torch, value) -> list:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in tensors_in(torch, v)]
    return []


def gradients(torch, row):
    """Gradients of every input for a fixed cotangent, and the names of the nodes."""
    if not row.grad:
        return
    for dtype, n, call in cases(row, GRADIENT_TYPES):
        outcome = attempt(_gradient_outcome, torch, row, call, dtype)
        if outcome is not None:
            yield f"{dtype}/{n}", call, outcome


def _gradient_outcome(torch, row, call, dtype):
    builder = Builder(torch, dtype, requires_grad=True)
    args, kwargs = builder.arguments(call)
    inputs = [x for x in builder.tensors if x.requires_grad]
    if row.seed is not None:
        torch.manual_seed(row.seed)
    found = tensors_in(torch, resolve(torch, row.name)(*args, **kwargs))
    outputs = [x for x in found if x.requires_grad]
    if not inputs or not outputs:
        return {"differentiable": False} if inputs else None
    names = [x.grad_fn.name() if x.grad_fn is not None else "leaf" for x in found]
    seeds = [cotangent(torch, x, k) for k, x in enumerate(outputs)]
    grads = torch.autograd.grad(outputs, inputs, seeds, allow_unused=True)
    return {"nodes": names, "grads": [encode(torch, g) for g in grads]}


def checkable(row, torch, order: int):
    """The small float64 and complex128 calls on which finite differences are tried."""
    if not (row.grad and row.gradcheck):
        return
    left = {"float64": 3 if order == 1 else 2, "complex128": 1}
    limit = 30 if order == 1 else 20
    for dtype, n, call in cases(row, ("float64", "complex128")):
        builder = Builder(torch, dtype, requires_grad=True)
        try:
            builder.arguments(call)
        except Exception:
            continue
        size = sum(x.numel() for x in builder.tensors if x.requires_grad)
        if 0 < size <= limit and left[dtype]:
            left[dtype] -= 1
            yield dtype, n, call


def checked_function(torch, row, call, dtype):
    """(function of the differentiable inputs, the inputs) of one call."""
    builder = Builder(torch, dtype, requires_grad=True)
    builder.arguments(call)
    inputs = tuple(x for x in builder.tensors if x.requires_grad)

    def function(*given):
        replay = _Replay(torch, dtype, builder.tensors, given)
        found = tensors_in(torch, perform(torch, row, call, replay))
        return tuple(x for x in found if x.requires_grad)

    return function, inputs


class _Replay(Builder):
    """Hands out tensors made before, the differentiable ones replaced by those given."""

    def __init__(self, torch, dtype, made, given):
        super().__init__(torch, dtype)
        self.made, self.given = iter(made), iter(given)

    def tensor(self, spec: T):
        made = next(self.made)
        return next(self.given) if made.requires_grad else made


def _check(order: int):
    """The experiment of derivatives of an order; `keys` limits it to calls where PyTorch passes."""

    def experiment(torch, row, check, keys=None):
        for dtype, n, call in checkable(row, torch, order):
            if keys is not None and f"{dtype}/{n}" not in keys:
                continue

            def run(dtype=dtype, call=call):
                function, inputs = checked_function(torch, row, call, dtype)
                return bool(check(function, inputs)) if function(*inputs) else None

            outcome = attempt(run)
            if outcome is not None:
                yield f"{dtype}/{n}", call, outcome

    experiment.__name__ = "gradcheck" if order == 1 else "gradgradcheck"
    return experiment


gradcheck = _check(1)
gradgradcheck = _check(2)


def promotion(torch, row):
    """Result types of every pair of element types: tensors, 0-d tensors and numbers."""
    if not row.promotion:
        return
    function = resolve(torch, row.name)
    pair = Call((T((2,)), T((2,))), {})
    for a in ALL:
        for b in ALL:
            for label, shape in (("", (2,)), ("0d", ())):

                def run(a=a, b=b, shape=shape):
                    left = Builder(torch, a).tensor(T((2,), low=1))
                    right = Builder(torch, b).tensor(T(shape, low=1))
                    return dtype_name(function(left, right).dtype)

                yield f"{a},{b}{label}", pair, attempt(run)
        for number in (True, 2, 2.5, 1 + 2j):

            def run(a=a, number=number):
                return dtype_name(function(Builder(torch, a).tensor(T((2,), low=1)), number).dtype)

            yield f"{a},{number}", pair, attempt(run)


def _same_by_name(torch, row, call, dtype, name):
    got = perform(torch, row, call, Builder(torch, dtype), resolve(torch, name))
    want = perform(torch, row, call, Builder(torch, dtype))
    return row.uninitialised or agrees(torch, got, want, row)


def aliases(torch, row):
    """Other names of the op, and its method form, give the same result."""
    for dtype, n, call in main_cases(torch, row):
        others = list(row.alias)
        if "." not in row.name and call.args and isinstance(call.args[0], T):
            method = getattr(torch.Tensor, row.name, None)
            others += [f"Tensor.{row.name}"] if callable(method) else []
        for name in others:
            yield f"{dtype}/{n}/{name}", call, attempt(_same_by_name, torch, row, call, dtype, name)
        break


PLAIN = (values, errors, layouts, meta, inplace, out, overlap, gradients, promotion, aliases)
BY_FINITE_DIFFERENCES = (gradcheck, gradgradcheck)
