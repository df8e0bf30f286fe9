"""Which values are containers: what flattens them, builds them again and names their children."""

from __future__ import annotations

import dataclasses
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple

import rushlight as torch

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


def node_type(tree):
    """The key of a value's class in ``SUPPORTED_NODES``."""
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if kind.__module__ == "rushlight.return_types":
        _register_sequence(kind, lambda t: None, lambda values, _: kind(values))
        return kind
    return namedtuple if is_namedtuple_class(kind) else kind


def tree_is_leaf(tree, is_leaf=None) -> bool:
    """Whether ``tree`` is no container, or ``is_leaf`` says so."""
    if is_leaf is not None and is_leaf(tree):
        return True
    return node_type(tree) not in SUPPORTED_NODES


def __getattr__(name: str):
    # Libraries reuse what flattens and rebuilds a kind of container: _dict_flatten_with_keys.
    kind, _, what = name.removeprefix("_").partition("_")
    kinds = {"ordereddict" if k is OrderedDict else k.__name__: k for k in BUILTIN_TYPES}
    kinds["odict"] = OrderedDict
    field = {
        "flatten": "flatten_fn", "unflatten": "unflatten_fn", "flatten_with_keys": None,
    }  # fmt: skip
    if kind not in kinds or what not in field:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    node = SUPPORTED_NODES[kinds[kind]]
    return getattr(node, field[what]) if field[what] else node.flatten_with_keys_fn
