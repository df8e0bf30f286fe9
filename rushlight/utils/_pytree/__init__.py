"""Trees of containers: flattening them to leaves, rebuilding them, mapping over them."""

# ruff: noqa: F401  (names are imported to be found here)

from __future__ import annotations

import contextlib
from collections import deque
from functools import wraps
from types import UnionType

from .nodes import (
    BUILTIN_TYPES,
    CONSTANT_NODES,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    ConstantNode,
    GetAttrKey,
    MappingKey,
    NodeDef,
    SequenceKey,
    __getattr__,
    _deregister_pytree_node,
    _private_register_pytree_node,
    _register_pytree_node,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    node_type,
    register_constant,
    register_dataclass,
    register_pytree_node,
    tree_is_leaf,
)
from .spec import (
    LEAF_SPEC,
    LeafSpec,
    TreeSpec,
    treespec_dict,
    treespec_leaf,
    treespec_pprint,
    treespec_tuple,
)

__all__ = [
    "SUPPORTED_NODES", "Context", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey",
    "PyTree", "SequenceKey", "TreeSpec", "is_namedtuple", "is_namedtuple_class",
    "is_namedtuple_instance", "key_get", "keystr", "map_only", "register_constant",
    "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any",
    "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter",
    "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only",
    "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dict",
    "treespec_leaf", "treespec_pprint", "treespec_tuple",
]  # fmt: skip

Context = PyTree = KeyEntry = object
KeyPath = tuple
# The names that libraries import.
_get_node_type, _LEAF_SPEC, _is_leaf = node_type, LEAF_SPEC, tree_is_leaf

# Pickles name this module, as PyTorch's do.
for _kind in (ConstantNode, GetAttrKey, LeafSpec, MappingKey, SequenceKey, TreeSpec):
    _kind.__module__ = __name__


def _flatten_into(tree, leaves: list, is_leaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LEAF_SPEC
    kind = node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten_into(child, leaves, is_leaf) for child in children])


def tree_flatten(tree, is_leaf=None) -> tuple:
    """The list of leaves of ``tree`` and its structure."""
    leaves: list = []
    spec = _flatten_into(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The tree of a structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        if not isinstance(leaves, TreeSpec):
            raise TypeError(
                "Expected `treespec` to be an instance of "
                f"PyTreeSpec but got item of type {type(treespec)}."
            )
        leaves, treespec = treespec, leaves
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """The leaves one by one."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None) -> list:
    """The list of leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree of ``func`` of each leaf, with the parts of ``rests`` in its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests])))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls ``func`` on each leaf; returns ``tree``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]), maxlen=0)
    return tree


def _predicate(type_or_types_or_pred):
    chosen = type_or_types_or_pred
    if isinstance(chosen, (type, tuple, UnionType)):
        return lambda x: isinstance(x, chosen)
    if callable(chosen):
        return chosen
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred, /):
    """A decorator: the function is applied to values of these types, others stay."""
    chosen = _predicate(type_or_types_or_pred)

    def decorate(func):
        @wraps(func)
        def wrapped(x):
            return func(x) if chosen(x) else x

        return wrapped

    return decorate


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """``tree_map`` over the leaves of these types."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """``tree_map_`` over the leaves of these types."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None) -> bool:
    """Whether ``pred`` holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None) -> bool:
    """Whether ``pred`` holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None) -> bool:
    """Whether ``pred`` holds for every leaf of these types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None) -> bool:
    """Whether ``pred`` holds for a leaf of these types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """Leaves of ``tree``, a prefix of the structure, repeated to its size; None if it is none."""
    full = treespec.unflatten([0] * treespec.num_leaves)
    result: list = []

    def add(x, subtree):
        result.extend([x] * tree_structure(subtree, is_leaf=is_leaf).num_leaves)

    with contextlib.suppress(ValueError):
        tree_map_(add, tree, full, is_leaf=is_leaf)
        return result
    return None


def arg_tree_leaves(*args, **kwargs) -> list:
    """The leaves of all arguments."""
    return tree_leaves((args, kwargs))


def _with_paths(path, tree, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = node_type(tree)
    flatten = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if not flatten:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. "
            "Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in flatten(tree)[0]:
        yield from _with_paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None) -> list:
    """(key path, leaf) of every leaf."""
    return list(_with_paths((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None) -> tuple:
    """(key path, leaf) of every leaf, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """``tree_map`` whose function hears the key path first."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(
        [func(path, leaf, *more) for (path, leaf), *more in zip(leaves, *others, strict=True)]
    )


def keystr(kp) -> str:
    """A key path as it would be written behind the tree's name."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What is at a key path of ``obj``."""
    for key in kp:
        obj = key.get(obj)
    return obj
