"""Tuples from numbers, and the keys of state dictionaries."""

from __future__ import annotations

from ..functional._shapes import (  # noqa: F401
    _list_with_default,
    _ntuple,
    _pair,
    _quadruple,
    _single,
    _triple,
)


def _reverse_repeat_tuple(t, n):
    """(a, b) -> (b, b, a, a) for n = 2: the order that padding takes."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Strip ``prefix`` from the keys of ``state_dict`` (and of its metadata), in place."""
    for key in list(state_dict.keys()):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata.keys()):
        # The empty key names the module itself and keeps its place.
        if len(key) == 0:
            continue
        stripped = key.replace(".", "") if key == prefix.replace(".", "") else key
        if stripped == prefix.replace(".", ""):
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
