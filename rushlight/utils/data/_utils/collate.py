"""Batches from samples: stacking tensors, arrays and numbers through any nesting."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import rushlight as torch

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, "
    "dicts or lists; found {}"
)


def _is_text_or_object(array) -> bool:
    return any(kind in array.dtype.str for kind in "SaUO")


def _rebuilt(original, pairs, mutable: bool, plain):
    """A container like ``original`` with other items, or ``plain`` where its type cannot."""
    try:
        if not mutable:
            return type(original)(plain(pairs))
        clone = copy.copy(original)
        for key, value in pairs:
            clone[key] = value
        return clone
    except TypeError:
        return plain(pairs)


def _plain_list(pairs) -> list:
    return [value for _, value in pairs]


def default_convert(data):
    """``data`` with every numpy array and number in it turned into a tensor."""
    kind = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if kind.__name__ == "ndarray" and _is_text_or_object(data):
            return data
        return torch.as_tensor(data)
    if isinstance(data, Mapping):
        pairs = [(key, default_convert(data[key])) for key in data]
        return _rebuilt(data, pairs, isinstance(data, MutableMapping), dict)
    if isinstance(data, tuple):
        items = [default_convert(item) for item in data]
        return kind(*items) if hasattr(data, "_fields") else items
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        pairs = [(i, default_convert(item)) for i, item in enumerate(data)]
        return _rebuilt(data, pairs, isinstance(data, MutableSequence), _plain_list)
    return data


def collate(batch, *, collate_fn_map=None):
    """One sample-like structure from a list of samples.

    Args:
        collate_fn_map: from type to ``function(batch, *, collate_fn_map)``; the exact type of
            the first sample is looked up first, then the map's types in order.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            for collate_type, candidate in collate_fn_map.items():
                if isinstance(first, collate_type):
                    function = candidate
                    break
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
        if kind.__module__.startswith("numpy") and collate_fn_map is default_collate_fn_map:
            return _collate_numpy(batch)
    if isinstance(first, Mapping):
        pairs = [
            (key, collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map))
            for key in first
        ]
        return _rebuilt(first, pairs, isinstance(first, MutableMapping), dict)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(items, collate_fn_map=collate_fn_map) for items in zip(*batch)))
    if isinstance(first, Sequence):
        size = len(first)
        if not all(len(sample) == size for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(items, collate_fn_map=collate_fn_map) for items in zip(*batch)]
        if isinstance(first, tuple):
            return columns
        pairs = list(enumerate(columns))
        return _rebuilt(first, pairs, isinstance(first, MutableSequence), _plain_list)
    raise TypeError(default_collate_err_msg_format.format(kind))


def _collate_numpy(batch):
    # numpy may never have been imported; its types are known by their module.
    import numpy

    first = batch[0]
    if isinstance(first, numpy.ndarray):
        return collate_numpy_array_fn(batch, collate_fn_map=default_collate_fn_map)
    if isinstance(first, (numpy.bool_, numpy.number, numpy.object_)):
        return collate_numpy_scalar_fn(batch, collate_fn_map=default_collate_fn_map)
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """The tensors of a batch, stacked along a leading dimension."""
    # PyTorch's workers stack into shared memory, which a graph cannot follow; nor could it pass on.
    in_worker = torch.utils.data.get_worker_info() is not None
    if in_worker and torch.is_grad_enabled() and any(sample.requires_grad for sample in batch):
        raise RuntimeError(
            "stack(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    return torch.stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """The arrays of a batch as one stacked tensor."""
    if _is_text_or_object(batch[0]):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([torch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """The numpy numbers of a batch as a tensor of their type."""
    return torch.as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    """The numbers of a batch as a float64 tensor."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """The numbers of a batch as a tensor."""
    return torch.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Text stays a list."""
    return batch


default_collate_fn_map: dict = {
    torch.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch):
    """A batch from a list of samples.

    Tensors and arrays are stacked along a leading dimension, numbers become a tensor (floats a
    float64 one), text stays a list; mappings, tuples and lists are batched item by item.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
