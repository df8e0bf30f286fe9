"""Calls that PyTorch breaks up or answers itself: indexing, conversions, sizes, data."""

from __future__ import annotations

import rushlight as torch

from .._symbols import _Symbolic

_END = 9223372036854775807
SPECIAL: dict = {}


def _handles(*names: str):
    def register(function):
        SPECIAL.update(dict.fromkeys(names, function))
        return function

    return register


def kinds_of_getter(name: str) -> str:
    """The name under which a property's value is computed."""
    return {"T": "numpy_T", "H": "matrix_H", "data": "detach"}.get(name, f"get {name}"
            if name not in ("mT", "mH", "real", "imag") else name)  # fmt: skip


def op(trace, name: str, overload: str, args: tuple, function, kwargs=None):
    """Records ``aten.name.overload`` of these arguments, computed by ``function``."""
    from .. import _aten

    schema = next(
        s for s in _aten.schemas(name) if (s.overload_name or "default") == overload
    )
    results = trace.run(function, args, {})
    return trace.add_node(schema, args, kwargs or {}, results)


def _property(name: str):
    def answer(trace, func, args, kwargs):
        return func(args[0])

    SPECIAL[f"get {name}"] = answer


for _name in (
    "dtype layout requires_grad is_leaf ndim grad grad_fn is_cuda is_sparse is_quantized itemsize "
    "is_mkldnn is_nested is_xpu is_mps names output_nr _version is_sparse_csr retains_grad _base "
    "is_mtia is_vulkan is_ort is_xla is_ipu is_hpu is_maia volatile name _backward_hooks"
).split():
    _property(_name)


@_handles("get shape")
def _shape(trace, func, args, kwargs):
    return trace.sizes(trace.entry(args[0]))


@_handles("get device")
def _device(trace, func, args, kwargs):
    return torch.device("cpu")


@_handles("get is_meta")
def _is_meta(trace, func, args, kwargs):
    return False


@_handles("get is_cpu")
def _is_cpu(trace, func, args, kwargs):
    return True


@_handles("size")
def _size(trace, func, args, kwargs):
    sizes = trace.sizes(trace.entry(args[0]))
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    if dim is None:
        return sizes
    func(args[0], dim)
    return sizes[dim]


@_handles("numel", "nelement")
def _numel(trace, func, args, kwargs):
    sizes = trace.sizes(trace.entry(args[0]))
    total = 1
    for size in sizes:
        total = total * size
    return total


@_handles("__len__")
def _len(trace, func, args, kwargs):
    if args[0].dim() == 0:
        return func(args[0])
    size = trace.sizes(trace.entry(args[0]))[0]
    return size.__index__()


@_handles(
    "dim", "ndimension", "is_floating_point", "is_complex", "element_size", "is_contiguous",
    "get_device", "stride", "storage_offset", "is_signed", "is_conj", "is_neg", "requires_grad_",
    "is_inference", "is_same_size", "__hash__", "__repr__", "__format__", "is_tensor",
)  # fmt: skip
def _plain(trace, func, args, kwargs):
    return trace.run(func, args, kwargs)[0]


@_handles("item")
def _item(trace, func, args, kwargs):
    entry = trace.entry(args[0])
    if entry.constant is not None:
        return entry.constant.item()
    if args[0].dtype.is_floating_point:
        return trace.unknown(entry, float)
    if args[0].dtype == torch.bool:
        number = trace.unknown(entry, int)
        return number == 1
    return trace.unknown(entry, int)


@_handles("__bool__", "__float__", "__int__", "__index__", "is_nonzero")
def _by_data(trace, func, args, kwargs):
    entry = trace.entry(args[0])
    if entry.constant is not None:
        return func(entry.constant)
    name = f"{'zuf' if args[0].dtype.is_floating_point else 'u'}{trace.unbacked}"
    trace.refuse_guard(f"Eq({name}, 1)" if "bool" in func.__name__ else name)


@_handles("numpy", "__array__")
def _numpy(trace, func, args, kwargs):
    raise RuntimeError(".numpy() is not supported for tensor subclasses.")


@_handles("tolist", "nonzero", "masked_select", "unique", "__contains__")
def _unknown_size(trace, func, args, kwargs):
    raise NotImplementedError(
        f"torch.export cannot record {func.__name__}: the size of its result depends on data"
    )


# Constants.


@_handles("tensor", "as_tensor", "new_tensor", "from_numpy")
def _constant(trace, func, args, kwargs):
    if any(isinstance(v, _Symbolic) for v in args):
        return trace.run(func, args, kwargs)[0]
    if func.__name__ == "as_tensor" and isinstance(args[0], torch.Tensor):
        return args[0]
    if func.__name__ == "new_tensor":
        made = torch.tensor(args[1], dtype=kwargs.get("dtype") or args[0].dtype)
    else:
        made = func(*args, **kwargs)
    return lifted(trace, made, detach=func.__name__ != "as_tensor")


def lifted(trace, made, detach: bool):
    """A constant as an input of the graph, and what the program gets of it."""
    trace.entry(made)
    copy = op(trace, "lift_fresh_copy", "default", (made,), lambda x: x.clone())
    if detach:
        copy = op(trace, "detach_", "default", (copy,), lambda x: x.detach_())
    trace.entry(copy).constant = made
    return copy


# Conversions.


def _checked(trace, x):
    from .. import _aten

    schema = _aten.schemas("_assert_tensor_metadata")[0]
    named = {"dtype": x.dtype, "device": torch.device("cpu"), "layout": torch.strided}
    trace.follow_gradient()
    trace.graph.call_function(
        torch.ops.aten._assert_tensor_metadata.default, (trace.written(x),), named,
        name="_assert_tensor_metadata_default",
    )  # fmt: skip
    return schema


def _to_dtype(trace, x, dtype, rest: tuple = ()):
    _checked(trace, x)
    return op(trace, "to", "dtype", (x, dtype, *rest), lambda x, d, *r: x.to(d, *r))


_TYPES = {
    "float": torch.float32, "double": torch.float64, "half": torch.float16, "int": torch.int32,
    "bfloat16": torch.bfloat16, "long": torch.int64, "bool": torch.bool, "short": torch.int16,
    "char": torch.int8, "byte": torch.uint8,
}  # fmt: skip


@_handles(*_TYPES)
def _cast(trace, func, args, kwargs):
    return _to_dtype(trace, args[0], _TYPES[func.__name__])


@_handles("type", "type_")
def _type(trace, func, args, kwargs):
    if len(args) < 2:
        return str(args[0].dtype)
    return _to_dtype(trace, args[0], args[1])


@_handles("cpu")
def _cpu(trace, func, args, kwargs):
    return _to_layout(trace, args[0], None)


def _to_layout(trace, x, dtype):
    _checked(trace, x)
    named = {"dtype": dtype or x.dtype, "layout": torch.strided, "device": torch.device("cpu")}
    return op(trace, "to", "dtype_layout", (x,), lambda x: x.to(named["dtype"]), named)


@_handles("to")
def _to(trace, func, args, kwargs):
    x, *rest = args
    given = [*rest, *kwargs.values()]
    if any(isinstance(v, torch.Tensor) for v in given):
        _checked(trace, x)
        dtype = next(v for v in given if isinstance(v, torch.Tensor)).dtype
        args = (x, torch.device("cpu"), dtype)
        return op(trace, "to", "device", args, lambda x, _, dtype: x.to(dtype))
    dtype = next((v for v in given if isinstance(v, torch.dtype)), None)
    if any(isinstance(v, (str, torch.device)) for v in given):
        return _to_layout(trace, x, dtype)
    return _to_dtype(trace, x, dtype or x.dtype)


@_handles("norm")
def _norm(trace, func, args, kwargs):
    named = dict(zip(("self", "p", "dim", "keepdim", "dtype"), args, strict=False))
    named.update(kwargs)
    p = named.get("p", "fro")
    if isinstance(p, str) and p != "fro":
        return trace.run(func, args, kwargs)[0]
    dim, keepdim = named.get("dim"), named.get("keepdim", False)
    x = (named.get("self") if "self" in named else named.get("input"),)
    if dim is not None:
        x += (2 if p in ("fro", None) else p, [dim] if isinstance(dim, int) else list(dim))
        x += (True,) if keepdim else ()
    elif p not in ("fro", None, 2):
        x += (p,)
    return op(trace, "linalg_vector_norm", "default", x, torch.linalg.vector_norm)


@_handles("std", "var", "std_mean", "var_mean")
def _spread(trace, func, args, kwargs):
    from . import _calls

    if len(args) == 1 and not kwargs:
        return op(trace, func.__name__, "correction", args, func)
    return trace.record(_calls.bind(func.__name__, args, kwargs), func, args, kwargs)


@_handles("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
def _loss(trace, func, args, kwargs):
    from . import _calls

    pair = op(trace, "broadcast_tensors", "default", (list(args[:2]),),
              lambda pair: list(torch.broadcast_tensors(*pair)))  # fmt: skip
    args = (*pair, *args[2:])
    return trace.record(_calls.bind(func.__name__, args, kwargs), func, args, kwargs)


@_handles("_rdiv")
def _reciprocal(trace, func, args, kwargs):
    inverse = op(trace, "reciprocal", "default", args[:1], torch.reciprocal)
    return op(trace, "mul", "Tensor", (inverse, args[1]), torch.mul)


@_handles("_rpow")
def _rpow(trace, func, args, kwargs):
    return op(trace, "pow", "Scalar", (args[1], args[0]), torch.pow)


@_handles("unflatten")
def _unflatten(trace, func, args, kwargs):
    from . import _calls

    named = dict(zip(("self", "dim", "sizes"), args, strict=False)) | kwargs
    args = (named["self"], named["dim"], list(named["sizes"]))
    return trace.record(_calls.bind("unflatten", args, {}), func, args, {})


@_handles("split")
def _split(trace, func, args, kwargs):
    named = dict(zip(("self", "size", "dim"), args, strict=False))
    named.update({{"split_size": "size", "split_size_or_sections": "size"}.get(k, k): v
                  for k, v in kwargs.items()})  # fmt: skip
    size, dim = named["size"], named.get("dim", 0)
    rest = (dim,) if dim != 0 else ()
    whole = not isinstance(size, (list, tuple))
    name, overload = ("split", "Tensor") if whole else ("split_with_sizes", "default")
    arguments = (named["self"], size if whole else list(size), *rest)
    return op(trace, name, overload, arguments, lambda x, s, d=0: list(x.split(s, d)))


# Indexing.


@_handles("__getitem__")
def _getitem(trace, func, args, kwargs):
    x, left, tensors = _walk(trace, args[0], args[1])
    if x is args[0] and not tensors:
        return op(trace, "alias", "default", (x,), lambda x: x[...])
    if not tensors:
        return x
    return op(trace, "index", "Tensor", (x, left), lambda x, i: x[_plain_index(i)])


def _plain_index(indices):
    return tuple(slice(None) if i is None else i for i in indices)


def _walk(trace, x, index):
    """What whole numbers, slices and None select; the tensors that are left."""
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(
        (i.dim() if i.dtype == torch.bool else 1) if isinstance(i, torch.Tensor)
        else i is not None and i is not Ellipsis and not isinstance(i, bool) for i in items
    )  # fmt: skip
    if Ellipsis in [i for i in items if not isinstance(i, (torch.Tensor, _Symbolic))]:
        at = next(k for k, i in enumerate(items) if i is Ellipsis)
        items[at : at + 1] = [_Rest] * (x.dim() - used)
    dim, tensors = 0, []
    for item in items:
        if item is _Rest:
            dim += 1
        elif item is None:
            x = op(trace, "unsqueeze", "default", (x, dim), torch.unsqueeze)
            dim += 1
        elif isinstance(item, slice):
            if isinstance(index, tuple) and _is_whole(trace, x, dim, item):
                dim += 1
                continue
            x = _sliced(trace, x, dim, item)
            dim += 1
        elif isinstance(item, (torch.Tensor, list, tuple)):
            if not isinstance(item, torch.Tensor):
                item = lifted(trace, torch.tensor(item), detach=False)
            tensors += [None] * (dim - len(tensors)) + [item]
            dim += item.dim() if item.dtype == torch.bool else 1
        elif isinstance(item, bool):
            raise NotImplementedError("torch.export cannot record an index that is a bool")
        else:
            x = op(trace, "select", "int", (x, dim, item), torch.select)
    return x, tensors, bool(tensors)


def _is_whole(trace, x, dim: int, item: slice) -> bool:
    """Whether a slice is known to keep all of a dimension."""
    size = trace.sizes(trace.entry(x))[dim]
    bounds = (item.start, item.stop, item.step, size)
    if any(isinstance(b, (_Symbolic, torch.Tensor)) for b in bounds):
        return False
    return item.indices(size) == (0, size, 1)


class _Rest:
    """A dimension that an ellipsis leaves as it is."""


def _sliced(trace, x, dim: int, item: slice):
    step = 1 if item.step is None else item.step
    start = 0 if item.start is None else item.start
    stop = _END if item.stop is None else item.stop
    rest = (step,) if step != 1 else ()

    def cut(x, dim, start, stop, step=1):
        return x[(slice(None),) * dim + (slice(start, stop, step),)]

    return op(trace, "slice", "Tensor", (x, dim, start, stop, *rest), cut)


@_handles("__setitem__")
def _setitem(trace, func, args, kwargs):
    x, index, value = args
    number = not isinstance(value, torch.Tensor)
    if number:
        value = lifted(trace, torch.tensor(value, dtype=x.dtype), detach=False)
    whole = index is Ellipsis or index == slice(None) if not isinstance(
        index, (torch.Tensor, tuple, list)) else False  # fmt: skip
    target, left, tensors = (x, None, False) if whole else _walk(trace, x, index)
    if tensors:
        op(trace, "index_put_", "default", (target, left, value),
           lambda x, i, v: _put(x, i, v))  # fmt: skip
    elif number:
        op(trace, "fill_", "Tensor", (target, value), lambda x, v: x.fill_(v))
    else:
        op(trace, "copy_", "default", (target, value), lambda x, v: x.copy_(v))


def _put(x, indices, value):
    x[_plain_index(indices)] = value
    return x
