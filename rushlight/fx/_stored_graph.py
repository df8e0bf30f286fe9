"""Pickles of graphs: nodes by number, so that a long chain of them needs no deep recursion."""

from __future__ import annotations

from ._codegen import CodeGen
from .node import Node, map_aggregate, map_arg


class _Number:
    """Stands for a node."""

    def __init__(self, index: int):
        self.index = index

    def __reduce__(self):
        return (_Number, (self.index,))


def parts(graph) -> tuple:
    """(what the nodes are, what is known about them and the graph)."""
    nodes = list(graph.nodes)
    at = {node: _Number(i) for i, node in enumerate(nodes)}
    skeleton = [
        (
            node.op, node.name, node.target, map_arg(node.args, at.get),
            map_arg(node.kwargs, at.get), node.type,
        )
        for node in nodes
    ]  # fmt: skip
    own = {"_root", "_insert", "_len", "_graph_namespace", "_find_nodes_lookup_table"}
    state = {name: value for name, value in vars(graph).items() if name not in own}
    namespace = graph._graph_namespace
    return skeleton, {
        "graph": state,
        "meta": [node.meta for node in nodes],
        "names": (namespace._used_names, namespace._base_count),
    }


def build(cls, skeleton):
    """A graph of these nodes."""
    graph = cls()
    nodes: list = []

    def found(each):
        return nodes[each.index] if isinstance(each, _Number) else each

    for op, name, target, args, kwargs, kind in skeleton:
        args, kwargs = map_aggregate(args, found), map_aggregate(kwargs, found)
        node = Node(graph, name, op, target, args, kwargs, kind)
        graph._graph_namespace.associate_name_with_obj(name, node)
        graph._root.prepend(node)
        graph._find_nodes_lookup_table.insert(node)
        nodes.append(node)
    graph._len = len(nodes)
    return graph


def finish(graph, state: dict) -> None:
    """Sets what was known about the nodes and the graph."""
    vars(graph).update(state["graph"])
    vars(graph).setdefault("_codegen", CodeGen())
    used, counts = state["names"]
    graph._graph_namespace._used_names |= used
    graph._graph_namespace._base_count |= counts
    for node, meta in zip(graph.nodes, state["meta"], strict=True):
        node.meta = meta
