"""Trees of containers: flattening them to leaves, rebuilding them, mapping over them."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from functools import wraps

import rushlight as torch

__all__ = [
    "SUPPORTED_NODES",
    "Context",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "SequenceKey",
    "TreeSpec",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "key_get",
    "keystr",
    "map_only",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dict",
    "treespec_leaf",
    "treespec_pprint",
    "treespec_tuple",
]  # fmt: skip

Context = PyTree = KeyEntry = object
KeyPath = tuple

# What flattens to (children, context), what undoes it, and what names the children.
NodeDef = namedtuple("NodeDef", "type flatten_fn unflatten_fn flatten_with_keys_fn")
SUPPORTED_NODES: dict = {}
CONSTANT_NODES: set = set()


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """What is there."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey:
    """A key of a mapping."""

    key: object

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping):
        """What it maps to."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj):
        """Its value."""
        return getattr(obj, self.name)


def register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
    from_dumpable_context=None, flatten_with_keys_fn=None,
) -> None:  # fmt: skip
    """Makes instances of ``cls`` (no subclass) containers.

    Args:
        flatten_fn: from an instance to (list of children, context).
        unflatten_fn: from children and context to an instance.
        flatten_with_keys_fn: like ``flatten_fn``, with (key, child) for each child.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must "
            "be None or registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _register_pytree_node(cls, flatten_fn, unflatten_fn, *unused, **options) -> None:
    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. "
        "Please use `torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
        stacklevel=2,
    )
    SUPPORTED_NODES.pop(cls, None)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options) -> None:
    if cls not in SUPPORTED_NODES:
        register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls) -> None:
    del SUPPORTED_NODES[cls]
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls, *, field_names=None, drop_field_names=None, serialized_type_name=None
) -> None:
    """Makes a dataclass a container of its fields; a field that is None is no child."""
    if dataclasses.is_dataclass(cls):
        own = [f.name for f in dataclasses.fields(cls) if f.init]
        if field_names is None:
            field_names = own
        else:
            _check_fields(set(own) - set(drop_field_names or ()), set(field_names))
    elif field_names is None:
        raise ValueError(
            "field_names must be specified with a list of all fields used to "
            f"initialize {cls}, as it is not a dataclass."
        )

    def flatten(obj):
        present = [name for name in field_names if getattr(obj, name) is not None]
        absent = [name for name in field_names if getattr(obj, name) is None]
        return [getattr(obj, name) for name in present], [present, absent]

    def unflatten(values, context):
        present, absent = context
        return cls(**dict(zip(present, values, strict=True)), **dict.fromkeys(absent))

    def flatten_with_keys(obj):
        values, (present, _) = flatten(obj)
        return [(GetAttrKey(k), v) for k, v in zip(present, values, strict=True)], present

    _private_register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=flatten_with_keys)


def _check_fields(own: set, given: set) -> None:
    if own == given:
        return
    text = "field_names does not include all dataclass fields.\n"
    if own - given:
        text += (
            f"Missing fields in `field_names`: {own - given}. If you want "
            "to include these fields in the pytree, please add them "
            "to `field_names`, otherwise please add them to `drop_field_names`.\n"
        )
    if given - own:
        text += (
            f"Unexpected fields in `field_names`: {given - own}. "
            "Please remove these fields, or add them to `drop_field_names`.\n"
        )
    raise ValueError(text)


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a constant: the constant itself."""

    value: object


def register_constant(cls) -> None:
    """Makes instances of ``cls`` containers without children, kept as they are."""
    for name, default in (("__eq__", object.__eq__), ("__hash__", None)):
        if getattr(cls, name) is default:
            raise TypeError(
                "register_constant(cls) expects `cls` to have a non-default "
                f"`{name}` implementation."
            )
    _private_register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls) -> bool:
    """Whether ``cls`` was given to ``register_constant``."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


# ---- The containers of Python


def is_namedtuple_class(cls) -> bool:
    """Whether ``cls`` is a class of named tuples."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(field) is str for field in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj) -> bool:
    """Whether ``obj`` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj) -> bool:
    """Whether ``obj`` is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _register_sequence(cls, context, build) -> None:
    register_pytree_node(
        cls,
        lambda items: (list(items), context(items)),
        build,
        flatten_with_keys_fn=lambda items: (
            [(SequenceKey(i), item) for i, item in enumerate(items)], context(items)
        ),
    )  # fmt: skip


def _register_mapping(cls, context, build) -> None:
    register_pytree_node(
        cls,
        lambda d: (list(d.values()), context(d)),
        build,
        flatten_with_keys_fn=lambda d: ([(MappingKey(k), v) for k, v in d.items()], context(d)),
    )


def _keyed(keys, values, cls=dict):
    return cls(zip(keys, values, strict=True))


_register_sequence(tuple, lambda t: None, lambda values, _: tuple(values))
_register_sequence(list, lambda t: None, lambda values, _: list(values))
_register_sequence(torch.Size, lambda t: None, lambda values, _: tuple(values))
_register_sequence(deque, lambda d: d.maxlen, lambda values, maxlen: deque(values, maxlen=maxlen))
_register_mapping(dict, lambda d: list(d), lambda values, keys: _keyed(keys, values))
_register_mapping(
    OrderedDict, lambda d: list(d), lambda values, keys: _keyed(keys, values, OrderedDict)
)
_register_mapping(
    defaultdict,
    lambda d: [d.default_factory, list(d)],
    lambda values, context: defaultdict(context[0], _keyed(context[1], values)),
)
register_pytree_node(
    namedtuple,
    lambda t: (list(t), type(t)),
    lambda values, kind: kind(*values),
    flatten_with_keys_fn=lambda t: (
        [(GetAttrKey(name), value) for name, value in zip(t._fields, t, strict=True)], type(t)
    ),
)  # fmt: skip

STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


def _get_node_type(tree):
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if kind.__module__ == "torch.return_types":
        _register_sequence(kind, lambda t: None, lambda values, _: kind(values))
        return kind
    return namedtuple if is_namedtuple_class(kind) else kind


def tree_is_leaf(tree, is_leaf=None) -> bool:
    """Whether ``tree`` is no container, or ``is_leaf`` says so."""
    if is_leaf is not None and is_leaf(tree):
        return True
    return _get_node_type(tree) not in SUPPORTED_NODES


# ---- Structures


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
        kind = _get_node_type(node)
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


_LEAF_SPEC = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The structure of a leaf."""
    return _LEAF_SPEC


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


# ---- Flattening and mapping


def _flatten_into(tree, leaves: list, is_leaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = _get_node_type(tree)
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
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
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
    if isinstance(chosen, (type, tuple)) or _is_union(chosen):
        return lambda x: isinstance(x, chosen)
    if callable(chosen):
        return chosen
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def _is_union(value) -> bool:
    from types import UnionType

    return isinstance(value, UnionType)


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


# ---- With key paths


def _with_paths(path, tree, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _get_node_type(tree)
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
