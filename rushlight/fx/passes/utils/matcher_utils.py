"""SubgraphMatcher: finds where a graph does what a pattern does."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import rushlight as torch

from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place: which node of the graph stands for which of the pattern."""

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)
    name_node_map: dict = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            anchors=self.anchors,
            nodes_map=self.nodes_map.copy(),
            placeholder_nodes=self.placeholder_nodes.copy(),
            returning_nodes=self.returning_nodes.copy(),
        )


class SubgraphMatcher:
    """Finds a pattern in graphs: :meth:`match`.

    Args:
        pattern: a Graph; its placeholders stand for any value, its output for what is taken on.
        match_output: the output matches an output only.
        match_placeholder: a placeholder matches a placeholder only.
        remove_overlapping_matches: of matches that share nodes, keep the first.
        ignore_literals: placeholders also stand for values that are no nodes.
    """

    def __init__(
        self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
        remove_overlapping_matches: bool = True, ignore_literals: bool = False,
    ):  # fmt: skip
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code"
                )
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            # Nodes whose only user is the output: where the search begins.
            self.pattern_anchors = [n for n in output.all_input_nodes if len(n.users) == 1]

    # One node against another.

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        values = []
        for node in (pn, gn):
            if not isinstance(node.target, str):
                raise AssertionError(f"{node.target} must be a string.")
            values.append(_get_attr(node.graph.owning_module, node.target))
        mine, other = values
        if type(mine) is not type(other):
            return False
        if isinstance(mine, torch.Tensor):
            return isinstance(other, torch.Tensor)
        raise RuntimeError(f"Unsupported type {mine} when matching attributes")

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        return pn.target == gn.target

    def _match_literals(self, pn, gn, match: InternalMatch) -> bool:
        if isinstance(pn, Node) and isinstance(gn, Node):
            raise AssertionError("pn and gn cannot both be Node")
        if isinstance(pn, Node):
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return match.nodes_map[pn] == gn
            match.nodes_map[pn] = gn
            return True
        if isinstance(gn, Node):
            return False
        return type(gn) is type(pn) and gn == pn

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch, name: str = "") -> bool:
        for what, node in (("pn", pn), ("gn", gn)):
            if not isinstance(node, Node):
                raise AssertionError(f"pn and gn must be Node, {what}: {node}")
        if pn in match.nodes_map:
            return match.nodes_map[pn] == gn
        if gn in match.nodes_map.values() or not self._nodes_are_equal(pn, gn, name):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        if self._match_inputs(pn, gn, match):
            return True
        match.nodes_map = saved.nodes_map
        return False

    def _match_inputs(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        mine, other = (list(pn.args), list(gn.args))
        names = sorted({*pn.kwargs, *gn.kwargs})
        if set(pn.kwargs) == set(gn.kwargs):
            mine += [pn.kwargs[name] for name in names]
            other += [gn.kwargs[name] for name in names]
        elif pn.kwargs or gn.kwargs:
            return False
        if len(mine) == len(other):
            return self._match_args(mine, other, match)
        return False

    def _match_args(self, mine, other, match: InternalMatch) -> bool:
        if len(mine) != len(other):
            return False
        for a, b in zip(mine, other, strict=True):
            if isinstance(a, Node) and isinstance(b, Node):
                matched = self._match_nodes(a, b, match)
            elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
                matched = self._match_args(list(a), list(b), match)
            elif isinstance(a, dict) and isinstance(b, dict):
                matched = list(a) == list(b) and self._match_args(
                    list(a.values()), list(b.values()), match
                )
            elif isinstance(a, slice) and isinstance(b, slice):
                parts = [[s.start, s.stop, s.step] for s in (a, b)]
                matched = self._match_args(*parts, match)
            elif self.ignore_literals and not isinstance(a, Node) and not isinstance(b, Node):
                matched = True
            else:
                matched = self._match_literals(a, b, match)
            if not matched:
                return False
        return True

    # All places.

    def _is_contained(self, nodes_map: dict) -> bool:
        """Whether results inside the match are taken inside it only."""
        back = {gn: pn for pn, gn in nodes_map.items() if isinstance(gn, Node)}
        for gn, pn in back.items():
            if pn.op == "placeholder" or pn in self.pattern_returning_nodes:
                continue
            if any(user not in back for user in gn.users):
                return False
        return True

    def _remove_overlapping_matches(self, matches: list) -> list:
        kept: list = []
        taken: set = set()
        for match in matches:
            own = {
                gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")
            }
            if own & taken:
                continue
            kept.append(match)
            taken |= own
        return kept

    def match(self, graph: Graph, node_name_match: str = "") -> list:
        """All matches in ``graph``, later ones first."""
        candidates = [
            [
                (anchor, node)
                for node in graph.nodes
                if self._nodes_are_equal(anchor, node, node_name_match)
            ]
            for anchor in self.pattern_anchors
        ]
        found: list = []
        self._search(candidates, 0, InternalMatch(self.pattern_anchors), found)
        for match in found:
            match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes]
            match.placeholder_nodes = [match.nodes_map[n] for n in self.pattern_placeholder_nodes]
        found = [match for match in found if self._is_contained(match.nodes_map)]
        return self._remove_overlapping_matches(found) if self.remove_overlapping_matches else found

    def _search(self, candidates, at: int, match: InternalMatch, found: list) -> None:
        if at == len(candidates):
            match.placeholder_nodes = [
                match.nodes_map[n] for n in self.pattern_placeholder_nodes if n in match.nodes_map
            ]
            found.append(match)
            return
        for anchor, node in candidates[at]:
            attempt = copy.copy(match)
            if self._match_nodes(anchor, node, attempt):
                self._search(candidates, at + 1, attempt, found)
