"""split_module: parts of a graph become modules, which the graph calls."""

from __future__ import annotations

import inspect
from collections import OrderedDict

from ..graph import Graph
from ..graph_module import GraphModule, _get_attr
from ..node import Node, map_arg
from ..proxy import Proxy

__all__ = ["Partition", "split_module"]


class Partition:
    """A part: its nodes, what it takes from others and what others take from it."""

    def __init__(self, name: str):
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list = []
        self.inputs: dict = {}
        self.outputs: dict = {}
        self.dependencies: dict = {}
        self.dependents: dict = {}
        self.graph = Graph()
        self.environment: dict = {}
        self.targets: dict = {}

    def __repr__(self):
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: "
            f"{self.outputs},\n partitions depended on: {self.dependencies},\n "
            f"partition dependents: {self.dependents}"
        )


def split_module(
    m: GraphModule, root_m, split_callback, qualname_map=None, keep_original_order=False,
    keep_original_node_name: bool = False, keep_original_input_name: bool = True, *,
    partition_affix=None, tuple_return: bool = False,
) -> GraphModule:  # fmt: skip
    """A module that calls a submodule for each part of ``m``.

    Args:
        m: what is split.
        root_m: has the modules and attributes that the graph of ``m`` mentions.
        split_callback: the part of a node: a number or a name. Parts are ordered by what they
            take from each other.
        qualname_map: is filled: name in the new module -> name in ``m``.
        keep_original_order: order parts as they come first, or as they come last in ``m`` where
            the former is not possible.
        partition_affix: goes into the names of the submodules: submod_{affix}_0.
        tuple_return: let submodules return tuples also of one value.
    """
    split = _Split(m, root_m, split_callback, partition_affix)
    split.assign()
    order = split.in_order(keep_original_order)
    return split.build(order, qualname_map, keep_original_node_name, tuple_return)


class _Split:
    """One module being split."""

    def __init__(self, m, root_m, callback, affix):
        self.m, self.root, self.callback, self.affix = m, root_m, callback, affix
        self.parts: dict = {}
        self.part_of: dict = {}  # node -> name

    def assign(self) -> None:
        """Gives each node its part, and parts what they take from each other."""
        for node in self.m.graph.nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            name = str(self.callback(node))
            part = self.parts.setdefault(name, Partition(name))
            if self.affix is not None:
                part.submod_name = f"submod_{self.affix}_{name}"
            part.node_names.append(node.name)
            self.part_of[node] = name
        for node in self.m.graph.nodes:
            for used in node.all_input_nodes:
                self._connect(used, node)

    def _connect(self, used: Node, user: Node) -> None:
        source, target = self.part_of.get(used), self.part_of.get(user)
        if source == target:
            return
        if source is not None:
            self.parts[source].outputs.setdefault(used.name)
        if target is not None:
            self.parts[target].inputs.setdefault(used.name)
            if source is not None:
                self.parts[target].dependencies.setdefault(source)
                self.parts[source].dependents.setdefault(target)

    def in_order(self, keep_original_order: bool) -> list:
        """The names of the parts, each after those that it takes from."""
        waits = {name: len(part.dependencies) for name, part in self.parts.items()}
        ready = [name for name, count in waits.items() if not count]
        found: list = []
        while ready:
            if keep_original_order:
                ready.sort(key=list(self.parts).index)
            name = ready.pop(0)
            found.append(name)
            for later in self.parts[name].dependents:
                waits[later] -= 1
                if not waits[later]:
                    ready.append(later)
        if len(found) != len(self.parts):
            raise RuntimeError("cycle exists between partitions!")
        return found

    def build(self, order, qualname_map, keep_names: bool, tuple_return: bool) -> GraphModule:
        """The new module."""
        nodes = {node.name: node for node in self.m.graph.nodes}
        self._fill(nodes, qualname_map, keep_names)
        graph, base, attributes = Graph(), {}, OrderedDict()
        for node in self.m.graph.nodes:
            if node.op == "placeholder":
                default = node.args[0] if node.args else inspect.Signature.empty
                made = graph.placeholder(node.target, node.type, default)
                made.meta = node.meta.copy()
                base[node.name] = made
            elif node.op == "get_attr":
                made = base[node.name] = graph.get_attr(node.target, node.type)
                made.meta = node.meta.copy()
                attributes[node.target] = _get_attr(self.m, node.target)
        for name in order:
            part = self.parts[name]
            self._outputs(part, nodes, tuple_return)
            attributes[part.submod_name] = GraphModule(part.targets, part.graph)
            given = tuple(base[used] for used in part.inputs)
            result = graph.call_module(part.submod_name, given)
            if len(part.outputs) > 1 or (tuple_return and part.outputs):
                proxy = Proxy(result)
                for at, out in enumerate(part.outputs):
                    base[out] = proxy[at].node
            elif part.outputs:
                base[next(iter(part.outputs))] = result
        for node in self.m.graph.nodes:
            if node.op == "output":
                graph.output(map_arg(node.args[0], lambda n: base[n.name]), node.type)
        return GraphModule(dict(attributes), graph)

    def _fill(self, nodes: dict, qualname_map, keep_names: bool) -> None:
        for part in self.parts.values():
            for name in part.inputs:
                node = nodes[name]
                made = part.graph.placeholder(name, node.type)
                made.meta = node.meta.copy()
                part.environment[node] = made
        for node, name in self.part_of.items():
            part = self.parts[name]
            place = part.environment
            args = map_arg(node.args, lambda n, place=place: place[n])
            kwargs = map_arg(node.kwargs, lambda n, place=place: place[n])
            target = node.target
            if node.op == "call_module":
                target = node.target.replace(".", "_")
                part.targets[target] = self.root.get_submodule(node.target)
                if qualname_map is not None:
                    qualname_map[f"{part.submod_name}.{target}"] = node.target
            made = part.graph.create_node(
                node.op, target, args, kwargs, node.name if keep_names else None, node.type
            )
            made.meta = node.meta.copy()
            place[node] = made

    @staticmethod
    def _outputs(part, nodes: dict, tuple_return: bool) -> None:
        values = tuple(part.environment[nodes[name]] for name in part.outputs)
        if len(values) == 1 and not tuple_return:
            part.graph.output(values[0])
        else:
            part.graph.output(values)
