"""The structure of a tree: its containers without the leaves."""

from __future__ import annotations

import dataclasses
import warnings
from collections import OrderedDict, defaultdict, deque

from .nodes import BUILTIN_TYPES, STANDARD_DICT_TYPES, SUPPORTED_NODES, ConstantNode, node_type


class TreeSpec:
    """The structure of a tree: its containers without the leaves.

    Args:
        type: of the outermost container; None for a leaf.
        context: what its ``flatten_fn`` gave beside the children.
        children_specs: the structures of its children.
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context, children_specs):
        if type is None and context is not None:
            raise AssertionError("leaf node should not have a context")
        if type is None and len(children_specs):
            raise AssertionError("leaf node should not have children")
        put = object.__setattr__
        put(self, "type", type)
        put(self, "_context", context)
        put(self, "_children", children_specs)
        put(self, "num_nodes", 1 + sum(child.num_nodes for child in children_specs))
        leaves = sum(child.num_leaves for child in children_specs)
        put(self, "num_leaves", 1 if type is None else leaves)
        put(self, "num_children", len(children_specs))

    def __setattr__(self, name, value):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __reduce__(self):
        return type(self), (self.type, self._context, self._children)

    def __repr__(self, indent: int = 0) -> str:
        inner = indent + 2
        between = ",\n" + " " * inner
        children = between.join(child.__repr__(inner) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"

    def __eq__(self, other):
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return (
            str(self.type) == str(other.type)
            and self._context == other._context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        context = self._context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        elif self.type in (dict, OrderedDict):
            context = tuple(context)
        elif self.type not in BUILTIN_TYPES and not isinstance(context, ConstantNode):
            context = str(context) if self.type is not None else None
        return hash((self.type, context, tuple(self._children)))

    @property
    def context(self):
        """What ``flatten_fn`` gave beside the children."""
        return self._context

    @property
    def children_specs(self) -> list:
        """The structures of the children (deprecated)."""
        warnings.warn(
            "`treespec.children_specs` is deprecated. "
            "Use `treespec.child(index)` to access a single child, "
            "or `treespec.children()` to get all children.",
            FutureWarning,
            stacklevel=2,
        )
        return self._children

    def is_leaf(self) -> bool:
        """Whether this is the structure of a leaf."""
        return self.num_nodes == 1 and self.num_leaves == 1

    def children(self) -> list:
        """The structures of the children."""
        return self._children.copy()

    def child(self, index: int):
        """The structure of one child."""
        return self._children[index]

    def flatten_up_to(self, tree) -> list:
        """The parts of ``tree`` where this structure has leaves."""
        if self.is_leaf():
            return [tree]
        children = self._children_of(tree)
        return [
            part
            for spec, child in zip(self._children, children, strict=True)
            for part in spec.flatten_up_to(child)
        ]

    def _children_of(self, node) -> list:
        kind = node_type(node)
        builtin = self.type in BUILTIN_TYPES
        mappings = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if not mappings and kind != self.type:
            raise ValueError(
                f"{'Node type' if builtin else 'Type'} mismatch; "
                f"expected {self.type!r}, but got {kind!r}."
            )
        children, context = SUPPORTED_NODES[kind].flatten_fn(node)
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
            )
        if mappings:
            return self._in_my_order(node)
        if context != self._context and kind is not deque:
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; "
                f"expected {self._context!r}, but got {context!r}."
                if builtin
                else f"Node context mismatch for custom node type {self.type!r}."
            )
        return children

    def _in_my_order(self, mapping) -> list:
        keys = self._context[1] if self.type is defaultdict else self._context
        missing, extra = set(keys) - set(mapping), set(mapping) - set(keys)
        if missing or extra:
            text = f"; missing key(s): {missing}" if missing else ""
            text += f"; extra key(s): {extra}" if extra else ""
            raise ValueError(f"Node keys mismatch{text}.")
        return [mapping[key] for key in keys]

    def unflatten(self, leaves):
        """The tree of this structure with these leaves."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} "
                f"but the spec refers to a pytree that holds {self.num_leaves} "
                f"items ({self})."
            )
        return self._built(iter(leaves))

    def _built(self, leaves):
        if self.is_leaf():
            return next(leaves)
        children = [child._built(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])

    def __reduce__(self):
        return LeafSpec, ()

    def __repr__(self, indent: int = 0) -> str:
        return "*"


LEAF_SPEC = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return LEAF_SPEC


def _check_specs(specs, what) -> None:
    if any(not isinstance(spec, TreeSpec) for spec in specs):
        raise ValueError(f"Expected a {what} of PyTreeSpecs, got: {specs!r}.")


def treespec_tuple(iterable=(), /) -> TreeSpec:
    """The structure of a tuple of these structures."""
    children = list(iterable)
    _check_specs(children, "tuple")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping=(), /, **kwargs) -> TreeSpec:
    """The structure of a dictionary of these structures."""
    specs = dict(mapping, **kwargs)
    _check_specs(specs.values(), "dictionary")
    return TreeSpec(dict, list(specs), list(specs.values()))


class _Asterisk(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The structure written as the tree, with an asterisk for each leaf."""
    return repr(treespec.unflatten([_Asterisk("*")] * treespec.num_leaves))
