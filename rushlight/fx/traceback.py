"""What new nodes inherit while a graph is run or traced again: where they came from."""

from __future__ import annotations

import contextlib
import copy
import functools
import traceback
from enum import Enum

__all__ = [
    "NodeSource",
    "NodeSourceAction",
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "get_current_replay_node",
    "get_graph_provenance_json",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_current_replay_node",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

current_meta: dict = {}
current_replay_node = None
should_preserve_node_meta = False


class NodeSourceAction(Enum):
    """What a pass did to a node."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """Which node another came from, and by which pass."""

    class NodeInfo:
        """Name, target and graph of a node."""

        def __init__(self, name: str, target: str, graph_id: int):
            self.name, self.target, self.graph_id = name, target, graph_id

    def __init__(self, node, pass_name: str = "", action=None):
        self.pass_name = pass_name
        actions = action if isinstance(action, list) else [] if action is None else [action]
        for each in actions:
            if not isinstance(each, NodeSourceAction):
                raise AssertionError(f"Expected NodeSourceAction, got {type(each)}")
        self.action = actions
        self.node_info = None
        self.from_node: list = []
        if node is not None:
            target = node._pretty_print_target(node.target)
            self.node_info = self.NodeInfo(node.name, target, id(node.graph))
            self.from_node = copy.deepcopy(node.meta.get("from_node", []))

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node_info.name if self.node_info else ""

    @property
    def target(self) -> str:
        """The node's target."""
        return self.node_info.target if self.node_info else ""

    @property
    def graph_id(self) -> int:
        """The graph of the node: its id."""
        return self.node_info.graph_id if self.node_info else -1

    def _get_action_string(self) -> str:
        return "+".join(each.name.lower() for each in self.action)

    def print_readable(self, indent: int = 0) -> str:
        """One line, and one below for each node that this one came from."""
        if indent > 9:
            return ""
        line = (
            " " * (indent * 4) + f"(name={self.name}, pass_name={self.pass_name}, "
            f"action={self._get_action_string()}, graph_id={self.graph_id})\n"
        )
        return line + "".join(each.print_readable(indent + 1) for each in self.from_node)

    def __repr__(self):
        return self.print_readable()

    def to_dict(self) -> dict:
        """As plain values."""
        return {
            "name": self.name,
            "target": self.target,
            "graph_id": self.graph_id,
            "pass_name": self.pass_name,
            "action": self._get_action_string(),
            "from_node": [each.to_dict() for each in self.from_node],
        }

    def __eq__(self, other):
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self):
        return hash((self.name, self.target, self.graph_id, self.pass_name))

    @classmethod
    def _from_dict(cls, d):
        if d is None:
            return None
        if not isinstance(d, dict):
            raise AssertionError(f"Expected a dict, got {type(d)}")
        known = [each for each in d.get("action", "").split("+") if each]
        made = cls(None, d.get("pass_name", ""), [NodeSourceAction(each) for each in known])
        made.node_info = cls.NodeInfo(d.get("name", ""), d.get("target", ""), d.get("graph_id", -1))
        made.from_node = [cls._from_dict(each) for each in d.get("from_node", [])]
        return made


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True):
    """In this block new nodes take over the current meta."""
    global should_preserve_node_meta, current_meta
    before, kept = should_preserve_node_meta, copy.copy(current_meta)
    should_preserve_node_meta = enable
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before, kept


def set_stack_trace(stack: list) -> None:
    """Sets the stack trace of new nodes, in :func:`preserve_node_meta`."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


@contextlib.contextmanager
def annotate(annotation_dict: dict):
    """In this block new nodes have these entries in ``meta["custom"]``."""
    global current_meta
    had = "custom" in current_meta
    before = copy.copy(current_meta.get("custom", {}))
    try:
        current_meta["custom"] = {**before, **annotation_dict}
        yield
    finally:
        if had:
            current_meta["custom"] = before
        else:
            current_meta.pop("custom", None)


def annotate_fn(annotation_dict: dict):
    """:func:`annotate` for all of a function."""

    def decorator(function):
        @functools.wraps(function)
        def annotated(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorator


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Notes the number of the node of the backward graph that runs."""
    if should_preserve_node_meta:
        current_meta.setdefault("grad_fn_seq_nr", []).append(seq_nr)
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Forgets the last of these numbers."""
    if not should_preserve_node_meta:
        return
    level = current_meta.get("in_grad_fn", 0)
    if level <= 0:
        raise AssertionError(f"Expected current_level > 0, got {level}")
    if level == 1:
        del current_meta["in_grad_fn"], current_meta["grad_fn_seq_nr"]
    else:
        current_meta["in_grad_fn"] = level - 1
        current_meta["grad_fn_seq_nr"].pop()


def format_stack() -> list:
    """The stack trace of new nodes, or where the program is."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def has_preserved_node_meta() -> bool:
    """Whether new nodes take over the current meta."""
    return should_preserve_node_meta


@contextlib.contextmanager
def set_current_meta(node, pass_name: str = ""):
    """In this block the current meta is that of ``node``, in :func:`preserve_node_meta`."""
    global current_meta
    if not (should_preserve_node_meta and node.meta):
        yield
        return
    before = current_meta
    try:
        current_meta = node.meta.copy()
        current_meta["from_node"] = [NodeSource(node, pass_name, NodeSourceAction.CREATE)]
        yield
    finally:
        current_meta = before


def get_current_meta() -> dict:
    """What new nodes take over."""
    return current_meta


@contextlib.contextmanager
def set_current_replay_node(node):
    """In this block ``node`` is what is run again."""
    global current_replay_node
    before = current_replay_node
    try:
        current_replay_node = node
        yield
    finally:
        current_replay_node = before


def get_current_replay_node():
    """The node that is run again, or None."""
    return current_replay_node


def get_graph_provenance_json(graph) -> dict:
    """Per node's name, where it came from."""
    return {
        node.name: [each.to_dict() for each in node.meta["from_node"]]
        for node in graph.nodes
        if "from_node" in node.meta
    }
