"""Interpreter: runs a graph node by node; Transformer: makes a graph anew node by node."""

from __future__ import annotations

import contextlib
import inspect

from . import traceback as fx_traceback
from ._hearing import hearing
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


def _format_fx_node(n: Node) -> str:
    return n.format_node() or ""


class Interpreter:
    """Runs a graph node by node. Subclasses change what a kind of node does.

    Args:
        module: what the graph belongs to.
        garbage_collect_values: let go of values that are used no more.
        graph: the graph, by default that of ``module``.
    """

    def __init__(self, module, garbage_collect_values: bool = True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env: dict = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict = {}
        if garbage_collect_values:
            known: set = set()
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in known:
                        known.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args, initial_env=None, enable_io_processing: bool = True):
        """The result of the graph for ``args``.

        ``initial_env`` gives values of nodes, which are not run.
        """
        self.env = initial_env if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        return self._run_all(enable_io_processing)

    def boxed_run(self, args_list: list):
        """The result for the values in ``args_list``, which is emptied."""
        inputs = self.graph.find_nodes(op="placeholder")
        if len(inputs) != len(args_list):
            kind = "missing" if len(args_list) < len(inputs) else "extra"
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(inputs)} arguments for placeholders but "
                f"received {len(args_list)} ({kind} arguments)"
            )
        env = dict(zip(inputs, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env, enable_io_processing=False)

    def _run_all(self, processed: bool):
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    self._explain(node, error)
                raise
            if self.garbage_collect_values:
                for gone in self.user_to_last_uses.get(node, ()):
                    self.env.pop(gone, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if processed else result
        return None

    def _explain(self, node, error) -> None:
        text = f"While executing {node.format_node()}"
        text = f"{error.args[0]}\n\n{text}" if error.args else str(text)
        text += f"\nOriginal traceback:\n{node.stack_trace}"
        if isinstance(self.module, GraphModule) and isinstance(self.module.graph, Graph):
            text += (
                "\nUse tlparse to see full graph. "
                "(https://github.com/pytorch/tlparse?tab=readme-ov-file#tlparse-parse-structured-"
                "pt2-logs)"
            )
        error.args = (text, *error.args[1:])
        if isinstance(error, KeyError):
            raise RuntimeError(*error.args) from error

    @contextlib.contextmanager
    def _set_current_node(self, node):
        with fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"):
            yield

    def run_node(self, n: Node):
        """The value of ``n``, whose inputs have theirs."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next argument, or the default of the input."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target, args, kwargs):
        """The attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """The result of a function."""
        if isinstance(target, str):
            raise AssertionError("target should not be a string for call_function")
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """The result of a method of ``args[0]``."""
        own, *rest = args
        return getattr(own, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """The result of the graph."""
        return args[0]

    def fetch_attr(self, target: str):
        """What the module has under a dotted name."""
        found, parts = self.module, target.split(".")
        for at, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(parts[: at + 1])}"
                )
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple:
        """The values of the arguments of ``n``."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n: Node):
        """``args`` with the values of the nodes in it."""

        def load(each):
            if each not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {each}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[each]

        return map_arg(args, load)


class Transformer(Interpreter):
    """Makes a new graph node by node; subclasses say what becomes of a kind of node."""

    def __init__(self, module: GraphModule):
        super().__init__(module)
        from ._symbolic_trace import Tracer

        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        graph = self.new_graph

        class TransformerTracer(Tracer):
            """Adds to the new graph."""

            def __init__(self):
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, _, __) -> bool:
                return True

        self.tracer = TransformerTracer()
        self.tracer.root = module

    def placeholder(self, target, args, kwargs):
        """An input of the same name."""
        default = next(iter(args)) if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target, args, kwargs):
        """The same attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A call of the same module."""
        return self.tracer.call_module(
            self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs
        )

    def call_function(self, target, args, kwargs):
        """A call of the same function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        with fx_traceback.preserve_node_meta(), hearing():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def bare(each):
                return each.node if isinstance(each, Proxy) else each

            before = self.graph.output_node()
            made = self.new_graph.output(map_aggregate(result, bare))
            made.meta.update(before.meta)
        return GraphModule(self.module, self.new_graph)
