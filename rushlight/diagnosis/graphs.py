"""Walking the graph that hangs on a tensor: its nodes, who follows whom, which were freed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from rushlight import _C

MOST_NODES = 100_000


def nodes(*roots) -> Iterator:
    """The nodes reached from tensors' or nodes' graphs, nearest first."""
    todo = deque(getattr(r, "grad_fn", r) for r in roots)
    seen = set()
    while todo and len(seen) < MOST_NODES:
        node = todo.popleft()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        todo.extend(n for n, _ in node.next_functions if n is not None and n not in seen)


def first_way(root) -> Iterator:
    """The nodes on the way back from a tensor that takes each node's first input."""
    node = root.grad_fn
    while node is not None:
        yield node
        node = next((n for n, _ in node.next_functions if n is not None), None)


def edges(*roots) -> Iterator[tuple]:
    """Pairs of a node and one that it hands its gradient to, nearest first."""
    for node in nodes(*roots):
        for following, _ in node.next_functions:
            if following is not None:
                yield node, following


def leaves(*roots) -> list:
    """The leaf tensors that a graph leads to."""
    found = (getattr(node, "variable", None) for node in nodes(*roots))
    return [leaf for leaf in found if leaf is not None]


def asked_again(root):
    """The node that a backward needed a second time, None where none is marked."""
    return next((node for node in nodes(root) if _C._asked_again(node)), None)


def ways_into(root, old) -> list[tuple]:
    """Edges by which a graph enters the part that stood when ``old`` was made, nearest first.

    Nodes are numbered as they are made; leaves have no number of their own.
    """
    last = old._sequence_nr()
    return [
        (node, following)
        for node, following in edges(root)
        if node._sequence_nr() > last >= following._sequence_nr()
    ]
