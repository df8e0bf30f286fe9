"""vmap: a function of one sample becomes one of many."""

from __future__ import annotations

import functools

import rushlight as torch
from rushlight.utils import _pytree as pytree

from .. import _C

__all__ = ["map_outputs", "vmap"]


def _name(func) -> str:
    return getattr(func, "__name__", None) or repr(func)


class running:
    """While a transform runs, what would break into its graphs is refused."""

    __slots__ = ()

    def __enter__(self):
        _C._count_transforms(1)

    def __exit__(self, kind, value, trace):
        _C._count_transforms(-1)


class level(running):
    """A level of the core, from entering (``enter(*args)`` tells its number) to leaving."""

    __slots__ = ("args", "enter")

    def __init__(self, enter, *args):
        self.enter, self.args = enter, args

    def __enter__(self):
        number = self.enter(*self.args)
        _C._count_transforms(1)
        return number

    def __exit__(self, kind, value, trace):
        _C._count_transforms(-1)
        _C._leave_level()


# ---- Inputs


def _flat_inputs(func, in_dims, args: tuple) -> tuple:
    """The leaves of the arguments, the mapped dimension of each, and their structure (None: a
    flat tuple)."""
    name = _name(func)
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a "
            f"(potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    if isinstance(in_dims, int) and all(isinstance(x, torch.Tensor) for x in args):
        return args, [_checked_dim(name, in_dims, x, in_dims) for x in args], None
    leaves, spec = pytree.tree_flatten(args)
    dims = pytree._broadcast_to_and_flatten(in_dims, spec, is_leaf=lambda x: x is None)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the "
            f"structure of `inputs`. in_dims has structure {pytree.tree_structure(in_dims)} but "
            f"inputs has structure {spec}."
        )
    found = [_checked_dim(name, in_dims, x, d) for x, d in zip(leaves, dims, strict=True)]
    return leaves, found, spec


def _checked_dim(name: str, in_dims, leaf, dim):
    start = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if dim is not None and not isinstance(dim, int):
        raise ValueError(
            f"{start}Got in_dim={dim} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if dim is None:
        return None
    if not isinstance(leaf, torch.Tensor):
        raise ValueError(
            f"{start}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if dim < -leaf.dim() or dim >= leaf.dim():
        raise ValueError(
            f"{start}Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= dim < "
            f"{leaf.dim()}.".replace("<= dim <", "<= in_dim <")
        )
    return dim + leaf.dim() if dim < 0 else dim


def _batch_size(leaves: list, dims: list) -> int:
    sizes = [x.size(d) for x, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return sizes[0]


# ---- Outputs


def _flat_out_dims(func, out_dims, outputs, spec) -> list:
    def refuse():
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible "
            f"with the structure of `outputs`. out_dims has structure "
            f"{pytree.tree_structure(out_dims)} but outputs has structure {spec}."
        )

    if isinstance(outputs, torch.Tensor):
        if out_dims is None or isinstance(out_dims, int):
            return [out_dims]
        if isinstance(out_dims, tuple) and len(out_dims) == 1:
            return [out_dims[0]]
        refuse()
    dims = pytree._broadcast_to_and_flatten(out_dims, spec, is_leaf=lambda x: x is None)
    return refuse() if dims is None else dims


def _check_out_dims(func, out_dims) -> None:
    if isinstance(out_dims, int):
        return
    leaves = pytree.tree_leaves(out_dims, is_leaf=lambda x: x is None)
    if not all(d is None or isinstance(d, int) for d in leaves):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
            "python collection of ints representing where in the outputs the vmapped dimension "
            "should appear."
        )


def map_outputs(func, outputs, out_dims, number: int, size: int) -> tuple:
    """Values of the level below and their mapped dimensions (None: the same for all), in order."""
    if isinstance(outputs, torch.Tensor) and isinstance(out_dims, int):
        leaves, spec, dims = [outputs], pytree.treespec_leaf(), [out_dims]
    else:
        leaves, spec = pytree.tree_flatten(outputs)
        dims = _flat_out_dims(func, out_dims, outputs, spec)
    found = []
    for leaf, dim in zip(leaves, dims, strict=True):
        if not isinstance(leaf, torch.Tensor):
            if dim is None:
                found.append((leaf, None))
                continue
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type "
                f"{type(leaf)}. Did you mean to set out_dims= to None for output?"
            )
        below = _C._unwrap(leaf, number)
        value, batched = (leaf, False) if below is None else below[:2]
        if dim is None and batched:
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when "
                "out_dim is None"
            )
        if dim is not None and not batched:
            value = value.expand(size, *value.shape)
        found.append((value, dim))
    return found, spec


def _placed(found: list) -> list:
    return [v if d is None or d == 0 else v.movedim(0, d) for v, d in found]


# ---- vmap


def _run(func, leaves, dims, spec, size, out_dims, randomness, kwargs):
    values = [
        x if d is None or d == 0 else x.movedim(d, 0) for x, d in zip(leaves, dims, strict=True)
    ]
    with level(_C._enter_vmap, size, randomness) as number:
        wrapped = [
            x if d is None else _C._wrap_batched(x, number)
            for x, d in zip(values, dims, strict=True)
        ]
        inputs = wrapped if spec is None else pytree.tree_unflatten(wrapped, spec)
        outputs = func(*inputs, **kwargs)
        found, structure = map_outputs(func, outputs, out_dims, number, size)
    placed = _placed(found)
    return placed[0] if structure.is_leaf() else pytree.tree_unflatten(placed, structure)


def _in_chunks(func, leaves, dims, spec, size, out_dims, randomness, chunk_size, kwargs):
    parts = []
    for start in range(0, size, chunk_size):
        length = min(chunk_size, size - start)
        part = [
            x if d is None else x.narrow(d, start, length)
            for x, d in zip(leaves, dims, strict=True)
        ]
        parts.append(_run(func, part, dims, spec, length, out_dims, randomness, kwargs))
    flat = [pytree.tree_flatten(p) for p in parts]
    structure = flat[0][1]
    places = _flat_out_dims(func, out_dims, parts[0], structure)
    joined = [
        column[0] if d is None else torch.cat(column, d)
        for d, column in zip(places, zip(*(f[0] for f in flat), strict=True), strict=True)
    ]
    return pytree.tree_unflatten(joined, structure)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that applies ``func`` to every slice of its inputs at once.

    Args:
        in_dims: which dimension of each input is mapped; None for what is the same for all. An
            int for all inputs, or nested as the inputs are.
        out_dims: where the mapped dimension stands in each output; None for outputs that are the
            same for all.
        randomness: "error" refuses random ops, "same" draws once for all slices, "different"
            draws for each.
        chunk_size: at most so many slices at once, to save memory.

    Raises:
        ValueError: where ``in_dims`` or ``out_dims`` do not go with inputs or outputs.
        RuntimeError: where ``func`` looks at values (``.item()``, ``if x > 0``), or makes results
            whose shape depends on them.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(
            f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})"
        )

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        _check_out_dims(func, out_dims)
        leaves, dims, spec = _flat_inputs(func, in_dims, args)
        size = _batch_size(leaves, dims)
        common = (func, leaves, dims, spec, size, out_dims, randomness)
        if chunk_size is None or chunk_size >= size:
            return _run(*common, kwargs)
        return _in_chunks(*common, chunk_size, kwargs)

    return wrapped
