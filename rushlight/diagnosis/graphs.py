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


def first_freed(root):
    """The first node whose saved values are gone, and the node before it (None at the root)."""
    if root.grad_fn is not None and _C._freed_by(root.grad_fn) is not None:
        return None, root.grad_fn
    for node, following in edges(root):
        if _C._freed_by(following) is not None and _C._freed_by(node) is None:
            return node, following
    return None
