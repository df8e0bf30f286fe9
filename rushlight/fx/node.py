"""Node: one step of a Graph, with links to its neighbours, its inputs and its users."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable

import rushlight as torch

from ._names import module_of as _find_module_of_method  # noqa: F401
from ._names import qualified_name as _get_qualified_name
from ._names import type_repr as _type_repr
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

base_types = (
    str, int, float, bool, complex, torch.dtype, torch.Tensor, torch.device, torch.memory_format,
    torch.layout,
)  # fmt: skip
Target = Callable | str
Argument = BaseArgumentTypes = object
_legal_ops = dict.fromkeys(
    ["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"]
)
_side_effectful_functions = {operator.setitem}
_RANDOM = frozenset(
    "bernoulli multinomial normal poisson rand rand_like randint randint_like randn randn_like "
    "randperm".split()
)
_core_effects = None


def _functions_with_effects() -> set:
    """Those that were registered and those of the core, which are looked up when first needed."""
    global _core_effects
    if _core_effects is None:
        _core_effects = {torch._assert, torch._assert_async, torch._C._set_grad_enabled}
        _side_effectful_functions.update(_core_effects)
    return _side_effectful_functions


def has_side_effect(fn):
    """Registers ``fn``, whose calls stay though nobody uses their result; returns ``fn``."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a, fn):
    """``a`` with ``fn`` applied to what its tuples, lists, dicts and slices hold, at any depth."""
    kind = type(a)
    if kind is tuple:
        return tuple([map_aggregate(each, fn) for each in a])
    if isinstance(a, tuple):
        mapped = [map_aggregate(each, fn) for each in a]
        return kind(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict([(key, map_aggregate(each, fn)) for key, each in a.items()])
    if kind is slice:
        parts = (a.start, a.stop, a.step)
        return slice(*[map_aggregate(each, fn) for each in parts])
    return fn(a)


def map_arg(a, fn):
    """``a`` with ``fn`` applied to each Node in it."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


def _format_arg(arg, max_list_len: float = float("inf")) -> str:
    custom = getattr(arg, "_custom_fx_repr_fn", None)
    if custom is not None:
        return custom()
    if isinstance(arg, (list, tuple)):
        shown = [_format_arg(a) for i, a in enumerate(arg) if i < max_list_len]
        text = ", ".join(shown)
        if len(arg) > max_list_len:
            text += f", ...[total_len={len(arg)}]"
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text},)" if len(arg) == 1 else f"({text})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def _key_between(before: tuple, after: tuple, at_end: bool) -> tuple:
    """A position after ``before`` and, unless it is the last, before ``after``."""
    if at_end:
        return (before[0] + 1,) if before else (0,)
    if len(before) > len(after):
        *head, last = before[: len(after) + 1]
        return (*head, last + 1)
    if len(before) < len(after):
        *head, last = after[: len(before) + 1]
        return (*head, last - 1)
    return (*before, 0)


class Node:
    """A step of a Graph.

    ``op`` says what it does: "placeholder" (an input), "get_attr" (an attribute of the module),
    "call_function", "call_module", "call_method" or "output"; ``target`` which: a function or a
    name. ``args`` and ``kwargs`` may hold Nodes, at any depth; ``users`` are the Nodes that hold
    this one.
    """

    def __init__(self, graph, name: str, op: str, target, args, kwargs, return_type=None):
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                    f"{torch.typename(target)} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{torch.typename(target)} but a str is expected"
            )
        mine = self.__dict__
        mine.update(graph=graph, name=name, op=op, target=target, type=return_type)
        mine.update(users={}, meta={}, _input_nodes={}, _erased=False, _repr_fn=None)
        mine.update(_prev=self, _next=self, _sort_key=())
        self._update_args_kwargs(args, kwargs)

    def __getstate__(self):
        return {k: v for k, v in vars(self).items() if k not in ("_prev", "_next")}

    def __setstate__(self, state):
        vars(self).update(state)
        vars(self).update(_prev=self, _next=self)

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn is not None else self.name

    def __lt__(self, other):
        return self._sort_key < other._sort_key

    def __le__(self, other):
        return self._sort_key <= other._sort_key

    def __gt__(self, other):
        return self._sort_key > other._sort_key

    def __ge__(self, other):
        return self._sort_key >= other._sort_key

    def __setattr__(self, name, value):
        mine = self.__dict__
        if name == "name" and "name" in mine:
            module = self.graph.owning_module
            for hook in getattr(module, "_replace_hooks", ()):
                if not isinstance(value, str):
                    raise AssertionError(f"Expected value to be str, got {type(value)}")
                for user in list(self.users):
                    hook(old=self, new=value, user=user)
        if name in ("op", "target") and name in mine:
            table = self.graph._find_nodes_lookup_table
            listed = self in table
            if listed:
                table.remove(self)
            mine[name] = value
            if listed:
                table.insert(self)
            return
        object.__setattr__(self, name, value)

    def _rename(self, candidate: str) -> None:
        if candidate == self.name:
            return
        name = self.graph._graph_namespace.create_name(candidate, None)
        self.name = name
        self.graph._graph_namespace._rename_object(self, name)

    # Position in the graph.

    @property
    def next(self) -> Node:
        """The Node after this one; the graph's root after the last."""
        return self._next

    @property
    def prev(self) -> Node:
        """The Node before this one; the graph's root before the first."""
        return self._prev

    def _remove_from_list(self) -> None:
        before, after = self._prev, self._next
        vars(before)["_next"], vars(after)["_prev"] = after, before

    def prepend(self, x: Node) -> None:
        """Moves ``x``, a Node of the same graph, to right before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        vars(before)["_next"] = vars(self)["_prev"] = x
        vars(x).update(_prev=before, _next=self)
        at_end = self.op == "root"
        vars(x)["_sort_key"] = _key_between(before._sort_key, self._sort_key, at_end)

    def append(self, x: Node) -> None:
        """Moves ``x``, a Node of the same graph, to right after this one."""
        self._next.prepend(x)

    # Arguments.

    @property
    def args(self):
        """The positional arguments; what they hold cannot be changed in place."""
        return self._args

    @args.setter
    def args(self, a):
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self):
        """The keyword arguments; what they hold cannot be changed in place."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._update_args_kwargs(self._args, k)

    @property
    def all_input_nodes(self) -> list:
        """The Nodes among the arguments, each once, in order."""
        return list(self._input_nodes)

    def _update_args_kwargs(self, new_args, new_kwargs) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        inputs: dict = {}

        def note(each):
            if isinstance(each, Node):
                inputs.setdefault(each)
                each.users.setdefault(self)
            return each

        mine = self.__dict__
        mine["_input_nodes"] = inputs
        mine["_args"] = map_aggregate(new_args, note)
        mine["_kwargs"] = map_aggregate(new_kwargs, note)

    def update_arg(self, idx: int, arg) -> None:
        """Replaces the positional argument ``idx``."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg) -> None:
        """Puts ``arg`` before the positional argument ``idx``."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(
                f"insert_args index must be between 0 and len(self.args), got {idx}"
            )
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg) -> None:
        """Sets the keyword argument ``key``."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Puts ``new_input`` for ``old_input`` wherever the arguments hold it."""
        module = self.graph.owning_module
        for hook in getattr(module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        self._replace_input_with(old_input, new_input)

    def _replace_input_with(self, old_input: Node, new_input: Node) -> None:
        def swapped(each):
            return new_input if each is old_input else each

        self._update_args_kwargs(
            map_aggregate(self._args, swapped), map_aggregate(self._kwargs, swapped)
        )

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb=None, *, propagate_meta: bool = False
    ) -> list:
        """Lets the users of this Node use ``replace_with``; returns those changed.

        ``delete_user_cb(user)`` says which are to be changed, by default all.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                    "replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = []
        hooks = getattr(self.graph.owning_module, "_replace_hooks", ())
        for user in list(self.users):
            if delete_user_cb is not None and not delete_user_cb(user):
                continue
            for hook in hooks:
                hook(old=self, new=replace_with.name, user=user)
            user._replace_input_with(self, replace_with)
            changed.append(user)
        return changed

    # What is known about it.

    @property
    def stack_trace(self) -> str | None:
        """Where the program made it, if that was recorded: text as of Python's traceback."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    @staticmethod
    def _pretty_print_target(target) -> str:
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module == "builtins":
            return f"builtins.{target.__name__}"
        if module == "_operator":
            return f"operator.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(
        self, placeholder_names=None, maybe_return_typename=None, *,
        include_tensor_metadata: bool = False,
    ) -> str | None:  # fmt: skip
        """One line about this Node, as ``print(graph)`` shows it."""
        if self.op == "output":
            if maybe_return_typename and self.type:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        if self.op == "placeholder" and not isinstance(self.target, str):
            raise AssertionError(f"Expected target to be str for placeholder, got {self.target}")
        kind = f": {_type_repr(self.type)} " if self.type else ": "
        if include_tensor_metadata:
            kind += self._tensor_text()
        target = self._pretty_print_target(self.target)
        line = f"%{self.name} {kind}[num_users={len(self.users)}] = {self.op}[target={target}]"
        if self.op == "placeholder":
            if placeholder_names:
                typed = f": {_type_repr(self.type)}" if self.type else ""
                placeholder_names.append(f"{self.target}{typed}")
                return None
            return line + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return line
        return f"{line}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def _tensor_text(self) -> str:
        value = self.meta.get("val", self.meta.get("tensor_meta"))
        if not isinstance(value, torch.Tensor):
            return ""
        from ._codegen import tensor_annotation

        return f'Tensor "{tensor_annotation(value, True, True)}"'

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it does more than return a result: :meth:`Graph.eliminate_dead_code` keeps it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return _does_more(self.target, impure_random)
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            found = module.get_submodule(self.target)
            if found is None:
                raise AssertionError(f"Did not find expected submodule target {self.target}")
            return getattr(found, "_is_impure", False)
        return False

    def normalized_arguments(
        self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs: bool = False
    ):
        """The arguments in the order and under the names of the target's signature.

        Returns an ArgsKwargsPair, or None where the signature is not known or not clear.
        """
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types,
                normalize_to_only_use_kwargs,
            )  # fmt: skip
        if self.op == "call_module":
            return normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None


def _does_more(target, impure_random: bool) -> bool:
    schema = getattr(target, "_schema", None)
    if getattr(schema, "is_mutable", False):
        return True
    name = getattr(target, "__name__", "")
    if type(target) in (types.FunctionType, type):
        return target in _functions_with_effects()
    if name.partition(".")[0] in _RANDOM:
        if schema is not None and type(target).__name__ == "OpOverload":
            return impure_random
        if getattr(torch, name, None) is target:
            return True
    try:
        return target in _functions_with_effects()
    except TypeError:  # it cannot be hashed
        return False
