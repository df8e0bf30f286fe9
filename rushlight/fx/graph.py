"""Graph: a program as a list of Nodes; it can be changed, checked, printed and made code again."""

from __future__ import annotations

import contextlib
import copy
import inspect
import re
import warnings

import rushlight as torch

from ._codegen import (  # noqa: F401
    CodeGen,
    PythonCode,
    _BoxedCodeGen,
    _format_target,
    _parse_stack_trace,
    _ParsedStackTrace,
    _PyTreeCodeGen,
    _PyTreeInfo,
    dtype_abbrs,
    inplace_methods,
    magic_methods,
    reflectable_magic_methods,
)
from ._names import is_from_torch as _is_from_torch  # noqa: F401
from ._namespace import (  # noqa: F401
    _custom_builtins,
    _CustomBuiltin,
    _illegal_names,
    _Namespace,
    _register_custom_builtin,
)
from .node import (  # noqa: F401
    Argument,
    Node,
    Target,
    _get_qualified_name,
    _type_repr,
    map_arg,
)

__all__ = ["CodeGen", "Graph", "PythonCode"]

_legal_ops = dict.fromkeys(
    "call_function call_method get_attr call_module placeholder output".split()
)
_upper_after_lower = re.compile(r"(?<=[a-z])([A-Z])")


def _is_magic(x: str) -> bool:
    return x.startswith("__") and x.endswith("__")


def _snake_case(s: str) -> str:
    return _upper_after_lower.sub(r"_\1", s).lower()


class _InsertPoint:
    """New nodes go to a place, from now on or until the end of a ``with`` block."""

    def __init__(self, graph, new_insert):
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self):
        pass

    def __exit__(self, type, value, tb):
        self.graph._insert = self.orig_insert


class _node_list:
    """The nodes of a graph, in order; those that are erased meanwhile are left out."""

    def __init__(self, graph, direction="_next"):
        if direction not in ("_next", "_prev"):
            raise AssertionError(f"direction must be '_next' or '_prev', got {direction}")
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return _node_list(self.graph, "_next" if self.direction == "_prev" else "_prev")


class _FindNodesLookupTable:
    """The nodes of a graph by op, functions' also by target."""

    def __init__(self):
        self.table: dict = {}

    def _key(self, node) -> tuple:
        return (node.op, node.target if node.op == "call_function" else None)

    def __contains__(self, node) -> bool:
        return node in self.table.get(self._key(node), ())

    def insert(self, node) -> None:
        """Adds ``node``."""
        self.table.setdefault(self._key(node), {})[node] = None

    def remove(self, node) -> None:
        """Takes ``node`` out."""
        self.table[self._key(node)].pop(node)

    def find_nodes(self, *, op: str, target=None) -> list:
        """Those of ``op`` and, unless it is None, ``target``."""
        if op == "call_function":
            if target is None:
                raise AssertionError("target must not be None for call_function op")
            return [*self.table.get((op, target), ())]
        found = self.table.get((op, None), ())
        return [node for node in found if target is None or node.target == target]


class Graph:
    """A program as a list of :class:`Node`; a node comes after those whose results it takes.

    Args:
        owning_module: the GraphModule it belongs to, if any.
        tracer_cls: the class of the tracer that made it, which pickles use again.
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict = {}
        self._find_nodes_lookup_table = _FindNodesLookupTable()

    @property
    def owning_module(self):
        """The GraphModule it belongs to, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod):
        self._owning_module = mod

    @property
    def nodes(self) -> _node_list:
        """The nodes, in order."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The last node, which is the output."""
        last = next(iter(reversed(self.nodes)))
        if last.op != "output":
            raise AssertionError(f"Expected output node, got op={last.op}")
        return last

    def find_nodes(self, *, op: str, target=None, sort: bool = True) -> list:
        """The nodes of ``op`` and ``target``, which functions need; in order unless ``sort``
        is False."""
        found = self._find_nodes_lookup_table.find_nodes(op=op, target=target)
        return sorted(found) if sort else found

    # Copies.

    def graph_copy(self, g: Graph, val_map: dict, return_output_node: bool = False):
        """Copies the nodes of ``g`` to here, all but its output.

        ``val_map`` says what stands here for nodes of ``g``: those in it are not copied, and the
        others are added to it. Returns what stands for the output's value; None without an output.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def node_copy(self, node: Node, arg_transform=lambda x: x) -> Node:
        """Adds a copy of ``node``, whose inputs are ``arg_transform`` of its inputs."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def __deepcopy__(self, memo=None):
        memo = memo or {}
        made = Graph(tracer_cls=self._tracer_cls)
        copied = made.graph_copy(self, val_map=memo, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if copied is not None:
            value, before = copied
            output = made.output(value, type_expr=getattr(before, "type", None))
            output.meta = copy.copy(before.meta)
        return made

    def __reduce__(self):
        from ._stored_graph import parts

        skeleton, state = parts(self)
        return (_restored, (type(self), skeleton), state)

    def __setstate__(self, state):
        from ._stored_graph import finish

        finish(self, state)

    # New nodes.

    def create_node(
        self, op: str, target, args=None, kwargs=None, name=None, type_expr=None
    ) -> Node:
        """Adds a node at the place of insertion, by default the end."""
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        wished = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(wished, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._find_nodes_lookup_table.insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target) -> str:
        if callable(target):
            return _snake_case(target.__name__)
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        return _snake_case(target[2:-2] if _is_magic(target) else target)

    def placeholder(self, name: str, type_expr=None, default_value=inspect.Signature.empty) -> Node:
        """An input."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr=None) -> Node:
        """An attribute of the module: ``"layer.weight"``."""
        if self.owning_module is not None and not _refers(self.owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule, "
                "GraphModule.add_parameter to add the necessary Parameter, or "
                "nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args=None, kwargs=None, type_expr=None) -> Node:
        """A call of a submodule: ``"layers.0"``."""
        home = self.owning_module
        if home is not None and home.get_submodule(module_name) is None:
            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args=None, kwargs=None, type_expr=None) -> Node:
        """A call of a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function, args=None, kwargs=None, type_expr=None, name=None
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result, type_expr=None) -> Node:
        """What the graph returns."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    # Where they go, and which go away.

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go before ``n``, by default before all: in a ``with``, or until changed."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go right after ``n``, by default to the end."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Takes a node that has no users out."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=1)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        self._find_nodes_lookup_table.remove(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs(
            map_arg(to_erase.args, lambda n: None), map_arg(to_erase.kwargs, lambda n: None)
        )

    def eliminate_dead_code(self, is_impure_node=None) -> bool:
        """Erases nodes whose results nobody takes, unless they do more; True if there were any.

        ``is_impure_node(node)`` says which do more, by default :meth:`Node.is_impure`.
        """
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            more = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not more and not node.users:
                self.erase_node(node)
                changed = True
        return changed

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)

    # As text.

    def __str__(self):
        lines = [f"\n    {node.format_node()}" for node in self.nodes]
        return f"graph():{''.join(lines)}"

    def print_tabular(self) -> None:
        """Prints a table of the nodes, by the library tabulate."""
        try:
            from tabulate import tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on "
                "this machine. Run `pip install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def python_code(
        self, root_module: str, *, verbose: bool = False, include_stride: bool = False,
        include_device: bool = False, colored: bool = False, expanded_def: bool = False,
        record_func: bool = False, additional_meta=None,
    ) -> PythonCode:  # fmt: skip
        """The text of a function that does what the graph does, and the globals it needs.

        Args:
            root_module: the name of the module in it: "self".
            verbose: with types of results and the lines of the program that nodes came from.
        """
        namespace = _Namespace()

        def written(node):
            return namespace.create_name(node.name, node)

        before = [(node, node._repr_fn) for node in self.nodes]
        for node, _ in before:
            node._repr_fn = written
        try:
            return self._python_code(
                root_module, namespace, verbose=verbose, include_stride=include_stride,
                include_device=include_device, colored=colored, expanded_def=expanded_def,
                record_func=record_func, additional_meta=additional_meta,
            )  # fmt: skip
        finally:
            for node, function in before:
                node._repr_fn = function

    def _python_code(self, root_module: str, namespace: _Namespace, **options) -> PythonCode:
        return self._codegen._gen_python_code(self.nodes, root_module, namespace, **options)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Sets what makes the code."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """Lets a function change the lines of code: ``make_transformer(current)`` returns it.

        From now on, or in a ``with`` block. Code is made when the GraphModule is made or
        recompiled.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_end():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until_end()

    def process_inputs(self, *args):
        """The values of the placeholders, from the arguments of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """What the function returns, from the value of the output."""
        return self._codegen.process_outputs(out)

    # Checks.

    def lint(self) -> None:
        """Raises where the graph is not in order: unknown names, results used before they are."""
        _Lint(self).run()


class _Lint:
    """One check of a graph."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.known: set = set()

    def run(self) -> None:
        """Raises at the first fault."""
        names: set = set()
        for node in self.graph.nodes:
            if node.op not in _legal_ops:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self.graph:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node not in self.graph._find_nodes_lookup_table:
                raise RuntimeError(f"Node '{node}' is not added to the side table")
            for used in node._input_nodes:
                self.check_argument(used, node)
            self.known.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.graph.owning_module is not None:
            for node in self.graph.nodes:
                self.check_target(node)

    def check_argument(self, used: Node, node: Node) -> None:
        """``used`` is of this graph and comes before ``node``."""
        if used.graph is not self.graph:
            raise RuntimeError(
                f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used "
                "as an argument! If you are copying nodes from another graph, make sure to use "
                f"``arg_transform`` on node_copy() to remap values\n{self.graph}"
            )
        if used not in self.known:
            raise RuntimeError(
                f"Argument '{used}' of Node '{node}' was used before it has been defined! Please "
                f"check that Nodes in the graph are topologically ordered\n{self.graph}"
            )

    def check_target(self, node: Node) -> None:
        """The target of ``node`` is what its op needs."""
        expected = f"Node {node} target {node.target} has type {torch.typename(node.target)} but a"
        if node.op == "call_function":
            if not callable(node.target):
                raise ValueError(f"{expected} Callable is expected")
        elif not isinstance(node.target, str):
            raise ValueError(f"{expected} str is expected")
        if node.op not in ("get_attr", "call_module"):
            return
        found, seen = self.graph.owning_module, type(self.graph.owning_module).__name__
        parts = node.target.split(".")
        for at, part in enumerate(parts):
            below = getattr(found, part, None)
            if below is None and not hasattr(found, part):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of "
                    f"{seen}"
                )
            needs_module = node.op == "call_module" or at < len(parts) - 1
            if needs_module and not isinstance(below, torch.nn.Module):
                raise RuntimeError(
                    f"Node {node} target {node.target} {part} of {seen} does not reference an "
                    "nn.Module"
                )
            found, seen = below, f"{seen}.{part}" if at else part


def _submodule(module, path: str):
    for part in path.split("."):
        module = getattr(module, part, None)
        if module is None:
            return None
    return module


def _refers(module, name: str) -> bool:
    path, _, last = name.rpartition(".")
    home = _submodule(module, path) if path else module
    if home is None:
        warnings.warn(f"Failed to fetch module {path}!", stacklevel=4)
        return False
    return hasattr(home, last)


def _restored(cls, skeleton) -> Graph:
    from ._stored_graph import build

    return build(cls, skeleton)


def __getattr__(name: str):
    from rushlight import _absent

    return _absent.names("fx.graph")(name)
