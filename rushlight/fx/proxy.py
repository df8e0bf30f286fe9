"""Proxies: they stand for values while a program is traced, and each use of one makes a Node."""

from __future__ import annotations

import copy
import dataclasses
import dis
import enum
import inspect
import operator
import traceback
from collections import OrderedDict

import rushlight as torch
from rushlight import overrides

from . import traceback as fx_traceback
from .graph import Graph, magic_methods, reflectable_magic_methods
from .immutable_collections import immutable_dict, immutable_list  # noqa: F401
from .node import Node, Target, base_types, map_aggregate  # noqa: F401

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "MetaProxy",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]


class Scope:
    """The module whose forward is being traced."""

    def __init__(self, module_path: str, module_type):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Makes ``scope`` what ``current_scope`` says, for a block."""

    def __init__(self, scope: Scope, current_scope: Scope):
        self._outer = copy.copy(scope)
        self._scope = scope
        scope.module_path = current_scope.module_path
        scope.module_type = current_scope.module_type

    def __enter__(self):
        return self._scope

    def __exit__(self, *args):
        self._scope.module_path = self._outer.module_path
        self._scope.module_type = self._outer.module_type


class TraceError(ValueError):
    """A program does what cannot be traced: its course depends on values."""


def _refuse_nodes(key):
    def refuse(each):
        if isinstance(each, Node):
            raise RuntimeError(
                "Keys for dictionaries used as an argument cannot contain a Node. Got key: " + key
            )
        return each

    return refuse


class TracerBase:
    """What makes nodes of uses of proxies. Subclasses change what they treat otherwise."""

    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    graph: Graph

    # Made by Tracer; others have none.
    scope = Scope("", None)
    module_stack: dict = OrderedDict()
    node_name_to_scope: dict = {}

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None) -> Node:
        """Adds a node to the graph."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update(copy.copy(fx_traceback.get_current_meta()))
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """A proxy of ``node``."""
        return Proxy(node, self)

    def create_proxy(
        self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None
    ) -> Proxy:
        """Adds a node of arguments that may hold proxies; returns its proxy."""
        node_args, node_kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(node_args, tuple):
            raise AssertionError(f"Expected args_ to be tuple, got {type(node_args)}")
        if not isinstance(node_kwargs, dict):
            raise AssertionError(f"Expected kwargs_ to be dict, got {type(node_kwargs)}")
        node = self.create_node(kind, target, node_args, node_kwargs, name, type_expr)
        made = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not made.node.stack_trace:
            frames = self._filter_traceback_frames(traceback.extract_stack())
            made.node.stack_trace = "".join(frames.format()).strip()
        return made

    def _filter_traceback_frames(self, user_stack_summary):
        # The frames of the program: without those of this package.
        kept = [f for f in user_stack_summary if not _is_own_file(f.filename)]
        return traceback.StackSummary.from_list(kept)

    def _find_user_frame(self):
        frame = inspect.currentframe()
        while frame is not None and _is_own_file(frame.f_code.co_filename):
            frame = frame.f_back
        return frame

    def create_arg(self, a):
        """``a`` as an argument of a node: its proxies' nodes, and what nodes can hold."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            made = [self.create_arg(each) for each in a]
            return type(a)(*made) if hasattr(a, "_fields") else tuple(made)
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            return self._dict_arg(a)
        if isinstance(a, slice):
            return slice(*[self.create_arg(each) for each in (a.start, a.stop, a.step)])
        if isinstance(a, range):
            return range(*[self.create_arg(each) for each in (a.start, a.stop, a.step)])
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        if type(a).__name__ == "OpOverload":
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", a.__class__, (), fields)
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _dict_arg(self, a: dict) -> dict:
        made = {}
        for key, value in a.items():
            if not isinstance(key, str):
                key = self.create_arg(key)
                map_aggregate(key, _refuse_nodes(str(key)))
            made[key] = self.create_arg(value)
        return made

    def to_bool(self, obj: Proxy) -> bool:
        """Hears ``if proxy``: raises."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy):
        """Hears ``for x in proxy``: raises."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. See the torch.fx docs on "
            "pytorch.org for a more detailed explanation of what types of control flow can be "
            "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
            "errors"
        )

    def keys(self, obj: Proxy):
        """Hears ``**proxy``: a node of the keys, which cannot be iterated."""
        return Attribute(obj, "keys")()


def _is_own_file(name: str) -> bool:
    return name.startswith((_HERE, "<frozen"))


_HERE = __file__.rpartition("/fx/")[0] + "/"


class GraphAppendingTracer(TracerBase):
    """Makes nodes at a graph's place of insertion."""

    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.node_name_to_scope = {}


def assert_fn(x) -> None:
    """``assert x`` in a graph."""
    if not x:
        raise AssertionError("Assertion failed")


class Proxy:
    """Stands for the value of a Node: operators, functions of torch, attributes and calls of it
    make further nodes."""

    __hash__ = object.__hash__

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, d):
        self.__dict__ = d

    def __deepcopy__(self, memo):
        # Not through __getattr__, which knows every name.
        made = {key: copy.deepcopy(value, memo) for key, value in vars(self).items()}
        for name in ("node", "tracer"):
            if name not in made:
                raise AssertionError(f"{name!r} not in new_dict during proxy unpickling")
        copied = Proxy(made["node"], made["tracer"])
        vars(copied).update(made)
        return copied

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        frame = inspect.currentframe().f_back
        instruction = _instruction(frame)
        if instruction.opname == "UNPACK_SEQUENCE":
            return (self[i] for i in range(instruction.argval))
        return self.tracer.iter(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        if self.tracer.trace_asserts and self._is_asserted(inspect.currentframe().f_back):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    @staticmethod
    def _is_asserted(frame) -> bool:
        # assert x: a jump over the raise of AssertionError.
        found = list(dis.get_instructions(frame.f_code))
        at = next(i for i, each in enumerate(found) if each.offset == frame.f_lasti)
        if not found[at].opname.startswith("POP_JUMP") or "IF_TRUE" not in found[at].opname:
            return False
        return found[at + 1].opname == "LOAD_ASSERTION_ERROR"

    def keys(self):
        """The keys of what it stands for; a dict of unknown keys cannot be unpacked."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args = args or ()
        kwargs = kwargs or {}
        tracers: dict = {}

        def note(each):
            if isinstance(each, cls):
                tracers[each.tracer] = None
            return each

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace "
                f"operations {orig_method}"
            )
        tracer = next(iter(tracers))
        if overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        if orig_method is torch.nn.functional.pad:  # a function of Python in PyTorch
            args, kwargs = _pad_arguments(*args, **kwargs)
        name = tracer.graph._target_to_str(orig_method.__name__)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=name)


def _pad_arguments(input, pad, mode="constant", value=None) -> tuple:
    return (input, pad), {"mode": mode, "value": value}


def _instruction(frame):
    return next(i for i in dis.get_instructions(frame.f_code) if i.offset == frame.f_lasti)


class MetaProxy(Proxy):
    """A proxy that remembers a fake mode."""

    def __init__(self, node: Node, tracer: TracerBase | None = None, fake_mode=None):
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self):
        return f"MetaProxy({self.node.name})"


class Attribute(Proxy):
    """An attribute of a proxy: a method if it is called, else a node of ``getattr``."""

    def __init__(self, root: Proxy, attr: str):
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node = None

    @property
    def node(self):
        """Made when it is needed."""
        if self._node is None:
            args = (self.root, self.attr)
            self._node = self.tracer.create_proxy("call_function", getattr, args, {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A proxy of a parameter, whose shape is that of the parameter."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param):
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        """The sizes."""
        return self.param.shape

    def size(self):
        """The sizes."""
        return self.param.size()

    def dim(self):
        """The number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self):
        """The number of dimensions."""
        return self.param.ndim

    def numel(self):
        """The number of elements."""
        return self.param.numel()

    def nelement(self):
        """The number of elements."""
        return self.param.nelement()


def _define(method: str) -> None:
    def of_operator(*args, **kwargs):
        target = getattr(operator, method)
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    of_operator.__name__ = name = f"__{method.strip('_')}__"
    setattr(Proxy, name, of_operator)


def _define_reflected(method: str) -> None:
    def reflected(self, rhs):
        target = getattr(operator, method)
        return self.tracer.create_proxy("call_function", target, (rhs, self), {})

    reflected.__name__ = name = f"__r{method.strip('_')}__"
    setattr(Proxy, name, reflected)


for _method in magic_methods:
    _define(_method)
for _method in reflectable_magic_methods:
    _define_reflected(_method)
del _method
