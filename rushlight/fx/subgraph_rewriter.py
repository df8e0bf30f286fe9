"""Replaces what a pattern finds in a graph."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import NamedTuple

import rushlight as torch

from .graph import Graph
from .graph_module import GraphModule
from .node import Node

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where a pattern was: the node of its result, and pattern's node -> graph's."""

    anchor: Node
    nodes_map: dict


@dataclass
class ReplacedPatterns:
    """As Match, and the nodes that were put there."""

    anchor: Node
    nodes_map: dict
    replacements: list


def _graph_of(pattern) -> Graph:
    from ._symbolic_trace import symbolic_trace

    if isinstance(pattern, Graph):
        return pattern
    if not isinstance(pattern, GraphModule):
        pattern = symbolic_trace(pattern)
    return pattern.graph


def _replace_attributes(gm: GraphModule, replacement) -> None:
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        path, _, name = node.target.rpartition(".")
        home = _found(gm, path)
        if home is not None and hasattr(home, name):
            continue
        source = _found(replacement, node.target) if replacement is not None else None
        if source is None:
            raise RuntimeError(
                'Attempted to create a "', node.op, '" node during subgraph rewriting with target '
                f"{node.target}, but the referenced attribute does not exist in the replacement "
                "GraphModule",
            )  # fmt: skip
        if isinstance(source, torch.nn.Module):
            gm.add_submodule(node.target, copy.deepcopy(source))
        else:
            from .graph_module import _assign_attr

            _assign_attr(copy.deepcopy(source), gm, node.target)


def _found(module, path: str):
    for part in path.split(".") if path else ():
        module = getattr(module, part, None)
        if module is None:
            return None
    return module


def replace_pattern(gm: GraphModule, pattern, replacement) -> list:
    """Puts ``replacement`` wherever ``gm`` does what ``pattern`` does.

    Both are functions or GraphModules of as many arguments and results. Matches do not overlap.
    Returns a Match for each place.
    """
    replaced = _replace_pattern(gm, pattern, replacement)
    return [Match(anchor=each.anchor, nodes_map=each.nodes_map) for each in replaced]


def replace_pattern_with_filters(
    gm: GraphModule, pattern, replacement=None, match_filters=None, ignore_literals: bool = False,
    replacement_callback=None, node_name_match: str = "",
) -> list:  # fmt: skip
    """As :func:`replace_pattern`, where all ``match_filters`` agree.

    Args:
        match_filters: functions of (match, graph of ``gm``, graph of ``pattern``).
        ignore_literals: numbers in the pattern stand for any.
        replacement_callback: makes the replacement of a match from the same arguments.
    """
    return _replace_pattern(
        gm, pattern, replacement, match_filters, ignore_literals, replacement_callback,
        node_name_match,
    )  # fmt: skip


def _replace_pattern(
    gm, pattern, replacement, match_filters=None, ignore_literals=False, replacement_callback=None,
    node_name_match="",
) -> list:  # fmt: skip
    from .passes.utils.matcher_utils import SubgraphMatcher

    graph, wanted = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(wanted, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(graph, node_name_match)
        if all(keep(match, graph, wanted) for keep in match_filters or ())
    ]
    put = None
    if replacement is not None:
        put = _graph_of(replacement)
    elif replacement_callback is None:
        raise AssertionError(
            "Must provide either a replacement GraphModule or a replacement callback"
        )
    renamed: dict = {}  # a node that was replaced -> what stands for it
    done = []
    for match in matches:
        own = replacement_callback(match, graph, wanted) if replacement_callback else put
        done.append(_replace_match(graph, wanted, own, match, renamed))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _replace_attributes(gm, replacement)
    return done


def _replace_match(graph, wanted, put, match, renamed: dict) -> ReplacedPatterns:
    inputs = [node for node in put.nodes if node.op == "placeholder"]
    if len(match.placeholder_nodes) != len(inputs):
        raise AssertionError(
            f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}"
        )
    placed: dict = {}
    for mine, given in zip(inputs, match.placeholder_nodes, strict=True):
        if isinstance(given, Node):
            given = renamed.get(given, given)
        placed[mine] = given
    before = _place(graph, match)
    with graph.inserting_before(before):
        returned = graph.graph_copy(put, placed)
    if isinstance(returned, Node):
        returned = (returned,)
    made = [placed[node] for node in put.nodes if node.op not in ("placeholder", "output")]
    if len(match.returning_nodes) != len(returned):
        raise AssertionError(
            f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(returned)}"
        )
    for old, new in zip(match.returning_nodes, returned, strict=True):
        old.replace_all_uses_with(new)
        renamed[old] = new
    for node in reversed(wanted.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def _place(graph, match) -> Node:
    """The first user of the results: new nodes go before it."""
    users = {user for node in match.returning_nodes for user in node.users}
    inside = {node for node in match.nodes_map.values() if isinstance(node, Node)}
    for node in graph.nodes:
        if node in users - inside:
            return node
    raise AssertionError("The insert point can't be None")
