"""Programs about torch.utils._pytree; what they show is recorded from PyTorch."""

from __future__ import annotations

import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

Point = namedtuple("Point", "x y")


def _module(torch):
    return importlib.import_module(f"{torch.__name__}.utils._pytree")


TREES = [
    3, None, (), [], {}, (1, 2), [1, (2, 3), {"b": 4, "a": [5]}], Point(1, [2]),
    OrderedDict([("z", 1), ("y", (2,))]), defaultdict(list, {"k": [1]}), deque([1, 2], 5),
    {"a": Point((1,), None), "b": [[], {}]}, "text",
]  # fmt: skip


def _plain(value):
    """The value; the pairs of an OrderedDict, whose text depends on Python's version."""
    return [type(value), *value.items()] if isinstance(value, OrderedDict) else value


def flattening(torch, show):
    tree = _module(torch)
    for value in TREES:
        leaves, spec = tree.tree_flatten(value)
        show(leaves, spec, spec.num_nodes, spec.num_leaves, spec.num_children, spec.is_leaf())
        show(_plain(tree.tree_unflatten(leaves, spec)))
        if not isinstance(value, OrderedDict):
            show(tree.treespec_pprint(spec))
        show(tree.tree_leaves_with_path(value))
        show([tree.keystr(path) for path, _ in tree.tree_leaves_with_path(value)])
        show(_plain(tree.tree_map(lambda x: (x,), value)))
        show(tree.tree_leaves(value, is_leaf=lambda x: isinstance(x, list)))
        show(spec == tree.tree_structure(value), hash(spec) == hash(tree.tree_structure(value)))
    mixed = [torch.Size([2, 3]), torch.ones(2).max(0)]
    show(tree.tree_flatten(mixed), type(tree.tree_map(lambda x: x, mixed)[1]).__name__)
    show(tree.tree_leaves_with_path(mixed))


def structures(torch, show):
    tree = _module(torch)
    spec = tree.tree_structure([1, {"a": 2, "b": (3, 4)}])
    show(spec.type, spec.context, spec.child(1).context, spec.children())
    for other in ([5, {"b": (1, 2), "a": 9}], [5, {"a": 1}], (5, {"a": 1, "b": 2}), [1], 3,
                  [5, {"a": 1, "c": 2}], [5, OrderedDict(a=1, b=[1, 2])],
                  [[7], {"a": {}, "b": (1, (2, 3))}]):  # fmt: skip
        show.failure(lambda other=other: spec.flatten_up_to(other))
    show.failure(lambda: spec.unflatten([1, 2]))
    show.failure(lambda: tree.tree_unflatten([1], 3))
    show(tree.treespec_leaf(), tree.treespec_tuple([spec, tree.treespec_leaf()]))
    show(tree.treespec_dict(a=spec), spec != tree.treespec_leaf())
    show.failure(lambda: tree.tree_structure(deque([1], 2)).flatten_up_to(deque([1], 3)))
    show.failure(lambda: tree.tree_structure(Point(1, 2)).flatten_up_to((1, 2)))
    show(tree._broadcast_to_and_flatten((1, [2]), tree.tree_structure(((3, 4), [5]))))
    show(tree._broadcast_to_and_flatten((1, [2]), tree.tree_structure([3])))


def mapping(torch, show):
    tree = _module(torch)
    value = {"a": torch.ones(2), "b": [1, 2.0, "x"]}
    show(tree.tree_map_only(int, lambda x: x + 1, value))
    show(tree.tree_map_only((int, float), lambda x: x + 1, value))
    show(tree.tree_map_only(torch.Tensor, lambda x: x * 2, value))
    show(tree.tree_map_only(lambda x: x == 1, lambda x: "one", [1, 2]))
    show.failure(lambda: tree.tree_map_only(3, lambda x: x, [1]))
    show(tree.tree_map(lambda x, y: x + y, [1, (2,)], [3, (4,)]))
    show.failure(lambda: tree.tree_map(lambda x, y: x, [1, 2], [1]))
    seen = []
    show(tree.tree_map_(seen.append, (1, [2])), seen)
    show(tree.tree_map_with_path(lambda p, x, y: (tree.keystr(p), x, y), {"k": [1]}, {"k": [2]}))
    show(tree.tree_all(lambda x: x > 0, [1, (2,)]), tree.tree_any(lambda x: x > 1, [1, (1,)]))
    show(tree.tree_all_only(int, lambda x: x > 0, [1, "a"]))
    show(tree.tree_any_only(str, lambda x: x == "a", [1, "a"]))
    show(tree.arg_tree_leaves(1, [2], k=(3,)), list(tree.tree_iter({"q": [1, 2]})))
    show(tree.key_get({"a": [1, 2]}, (tree.MappingKey("a"), tree.SequenceKey(1))))
    show(tree.tree_is_leaf(3), tree.tree_is_leaf([3]), tree.tree_is_leaf(None))
    show(tree.is_namedtuple(Point), tree.is_namedtuple((1, 2)), tree.is_namedtuple_instance(Point))


def registering(torch, show):
    tree = _module(torch)

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def __repr__(self):
            return f"Pair({self.a}, {self.b})"

    tree.register_pytree_node(
        Pair, lambda p: ([p.a, p.b], "context"), lambda values, context: Pair(*values)
    )
    show(tree.tree_flatten(Pair(1, [2]))[0], tree.tree_map(lambda x: x + 1, [Pair(1, (2,))]))
    show(str(tree.tree_structure(Pair(1, 2))), Pair in tree.SUPPORTED_NODES)
    show.failure(lambda: tree.tree_leaves_with_path(Pair(1, 2)))
    show.failure(lambda: tree.tree_structure(Pair(1, 2)).flatten_up_to(3))
    show.failure(
        lambda: tree.register_pytree_node(
            type("T", (), {}), None, None, to_dumpable_context=lambda x: x
        )
    )

    @dataclass
    class Box:
        x: int
        y: object = None

    tree.register_dataclass(Box)
    show(tree.tree_flatten(Box(1))[0], tree.tree_map(lambda v: v * 2, Box(1, [2])))
    show(tree.tree_leaves_with_path(Box(1, [2])))

    @dataclass
    class Other:
        x: int
        y: int

    show.failure(lambda: tree.register_dataclass(Other, field_names=["x"]))
    show.failure(lambda: tree.register_dataclass(Pair))
    show.failure(lambda: tree.register_constant(object))
