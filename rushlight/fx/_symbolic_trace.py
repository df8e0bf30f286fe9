"""Tracer: runs a program on proxies and keeps what it did as a Graph."""

from __future__ import annotations

import collections
import contextlib
import copy
import inspect
import itertools
import math
import threading
import types
import warnings

import rushlight as torch
from rushlight.utils import _pytree as pytree

from . import _patching
from ._hearing import hearing
from ._patching import (  # noqa: F401
    _autowrap_check,
    _create_wrapped_func,
    _create_wrapped_method,
    _find_proxy,
    _maybe_revert_all_patches,
    _new_patcher,
    _patch_wrapped_functions,
    _Patcher,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
    wrap,
)
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule
from .node import base_types
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_proxyable_classes: dict = {}
_is_fx_tracing_flag = False
_lock = threading.RLock()  # what a trace puts in the place of functions is there for all threads


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """Of classes that can be made from proxies: making one then becomes a node."""

    def __init__(cls, name, bases, attrs):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        made = cls.__new__(cls)
        if not is_fx_tracing():
            cls.__init__(made, *args, **kwargs)
            return made
        found: list = []

        def note(each):
            if isinstance(each, Proxy):
                found.append(each.tracer)
            return each

        from .node import map_aggregate

        map_aggregate((args, kwargs), note)
        if not found:
            cls.__init__(made, *args, **kwargs)
            return made
        return found[0].create_proxy("call_function", cls, args, kwargs)


class PHBase:
    """What stands for an input in concrete arguments."""

    def __repr__(self):
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """An input whose node takes over the attributes of this object."""

    def __init__(self, ph_key=None):
        super().__init__()
        self.ph_key = ph_key


def _transfer_attrs(fr, to) -> None:
    for name in dir(fr):
        value = getattr(fr, name)
        if not callable(value) and not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


@wrap
def _assert_is_none(value, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def _patch_function(fn, nargs: int):
    # The same code, of positional arguments only.
    code = fn.__code__
    flat = code.replace(
        co_argcount=nargs,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~HAS_VARSTUFF,
    )
    return types.FunctionType(flat, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


class Tracer(TracerBase):
    """Traces modules and functions: ``Tracer().trace(root)`` returns a Graph.

    Args:
        autowrap_modules: modules whose functions become nodes as they are.
        autowrap_functions: functions that do.
        param_shapes_constant: let programs branch on the shapes of parameters.

    Subclasses say by :meth:`is_leaf_module` which modules stay calls.
    """

    def __init__(
        self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant: bool = False
    ):
        super().__init__()
        listed = itertools.chain.from_iterable(vars(module).items() for module in autowrap_modules)
        self._autowrap_function_ids = {
            id(value) for name, value in listed if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids.update(id(function) for function in autowrap_functions)
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict = {}
        self.node_name_to_scope: dict = {}
        self._qualname_counter: dict = collections.defaultdict(int)

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that the root has no attribute of."""
        at = self._qualname_counter[prefix]
        while hasattr(self.root, f"{prefix}{at}"):
            at += 1
        self._qualname_counter[prefix] = at + 1
        return f"{prefix}{at}"

    def create_arg(self, a):
        """As of TracerBase; tensors and modules become attributes of the root."""
        if isinstance(a, torch.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
            return self._constant(a)
        if isinstance(a, torch.nn.Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            made = tuple(self.create_arg(each) for each in a)
            return self.create_node("call_function", a.__class__, made, {})
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{a.__class__.__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _constant(self, tensor):
        name = self.tensor_attrs.get(tensor)
        if name is None:
            name = self.get_fresh_qualname("_tensor_constant")
            self.tensor_attrs[tensor] = name
            setattr(self.root, name, tensor)
        return self.create_node("get_attr", name, (), {})

    def is_leaf_module(self, m, module_qualified_name: str) -> bool:
        """Whether calls of ``m`` stay calls: those of torch.nn do, but not Sequential's."""
        own = m.__module__.startswith(("rushlight.nn", "torch.nn"))
        return own and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod) -> str:
        """The name of ``mod`` in the root."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        """Hears each call of a module: a node if it is a leaf, else its forward is traced."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            key = f"{scope.module_path}@{calls}" if calls > 0 else scope.module_path
            self.module_stack[key] = (scope.module_path, scope.module_type)
            self.num_calls[path] = calls + 1
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            last, _ = self.module_stack.popitem(last=True)
            if last != key:
                raise AssertionError(f"Unexpected key {last}, expected {key}")
        return result

    def getattr(self, attr: str, attr_val, parameter_proxy_cache: dict):
        """Hears each look-up of what a module has registered: parameters become proxies."""
        if isinstance(attr_val, torch.nn.Parameter):
            entries = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            entries = self.root.named_buffers()
        else:
            return attr_val
        for name, value in entries:
            if attr_val is value:
                if name not in parameter_proxy_cache:
                    parameter_proxy_cache[name] = self._attribute_proxy(name, value)
                return parameter_proxy_cache[name]
        return attr_val

    def _attribute_proxy(self, name: str, value):
        options = {}
        if "proxy_factory_fn" in inspect.signature(self.create_proxy).parameters:
            constant = self.param_shapes_constant and isinstance(value, torch.nn.Parameter)
            options["proxy_factory_fn"] = (
                (lambda node: ParameterProxy(self, node, name, value)) if constant else None
            )
        return self.create_proxy("get_attr", name, (), {}, **options)

    # The arguments of the root.

    def create_args_for_root(self, root_fn, is_module: bool, concrete_args=None):
        """The function to run and its arguments: proxies of placeholders, and concrete ones."""
        fn = inspect.unwrap(root_fn)
        code = fn.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        args: list = []
        skip = 0
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            skip = 1
            next(names)
            args.append(self.root)
        signature = inspect.signature(fn)
        own = [next(names) for _ in range(skip, total)]
        if isinstance(concrete_args, tuple):
            if len(own) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(own)} arguments but got {len(concrete_args)} concrete "
                    "arguments"
                )
            concrete_args = dict(zip(own, concrete_args, strict=True))
        for name in own:
            args.append(self._proxy_placeholder(name, concrete_args, signature, fn))
        if code.co_kwonlyargcount > 0 or code.co_flags & HAS_VARSTUFF:
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    name = stars + next(names)
                    args.append(self._proxy_placeholder(name, concrete_args, signature, fn))
            root_fn = _patch_function(root_fn, len(args))
        flat, in_spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in in_spec.children()):
            return root_fn, args
        info = _PyTreeInfo(list(code.co_varnames)[:total], in_spec, None)
        self.graph._codegen = _PyTreeCodeGen(info)

        def flatten_fn(*leaves):
            out = root_fn(*pytree.tree_unflatten(list(leaves), in_spec))
            out_leaves, out_spec = pytree.tree_flatten(out)
            codegen = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out_leaves

        return flatten_fn, flat

    def _proxy_placeholder(self, name: str, concrete_args, sig, fn_for_analysis):
        if concrete_args is not None and name in concrete_args:
            return self._concrete(name, concrete_args[name], sig)
        default = ()
        if name[0] != "*":
            default = _default(sig, name)
        kind = fn_for_analysis.__annotations__.get(name, None)
        return self.create_proxy("placeholder", name, default, {}, type_expr=kind)

    def _concrete(self, name: str, value, sig):
        count = itertools.count(1)

        def placed(x):
            out = self.create_proxy("placeholder", f"{name}_{next(count)}", _default(sig, name), {})
            if isinstance(x, PHBase):
                if x is not PH:
                    _transfer_attrs(x, out.node)
                return out
            message = f"{name} has been specialized to have value {x} but got another value"
            if type(x) is bool or (type(x) in base_types and type(x) is not torch.Tensor):
                torch._assert(out == x, message)
                return x
            if x is None:
                self.create_proxy("call_function", _assert_is_none, (out, message), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to "
                    "specialized function. It is up to the user to make sure that your inputs "
                    "match the inputs you specialized the function with.",
                    stacklevel=2,
                )
            return x

        return pytree.tree_map(placed, value)

    # The run.

    def trace(self, root, concrete_args=None) -> Graph:
        """The graph of a module or function.

        ``concrete_args``: values for some parameters, by name; the graph holds for these only.
        """
        with _lock, _flag(), hearing():
            return self._trace(root, concrete_args)

    def _trace(self, root, concrete_args) -> Graph:
        if isinstance(root, torch.nn.Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in "
                    f"{type(root).__name__}"
                )
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {mod: name for name, mod in root.named_modules()}
        else:
            self.root = torch.nn.Module()
            fn = root
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        if hasattr(fn, "__code__"):
            code = fn.__code__
            self.graph._co_fields = {
                "co_name": code.co_name,
                "co_filename": code.co_filename,
                "co_firstlineno": code.co_firstlineno,
            }
        self.tensor_attrs = {}
        self._collect_tensors(self.root, [])
        if not isinstance(fn, types.FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        fn_globals = fn.__globals__
        is_module = isinstance(root, torch.nn.Module)
        fn, args = self.create_args_for_root(fn, is_module, concrete_args)
        with _new_patcher() as patcher:
            self._patch_module(patcher)
            _patch_wrapped_functions(patcher)
            _autowrap_check(patcher, fn_globals, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
            result = (self.create_arg(fn(*args)),)
            kind = getattr(fn, "__annotations__", {}).get("return")
            self.create_node("output", "output", result, {}, type_expr=kind)
        self.submodule_paths = None
        return self.graph

    def _collect_tensors(self, module, path: list) -> None:
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                self.tensor_attrs[value] = ".".join([*path, name])
        for name, child in module.named_children():
            self._collect_tensors(child, [*path, name])

    def _patch_module(self, patcher) -> None:
        Module = torch.nn.Module
        call, look_up = Module.__call__, Module.__getattr__
        cache: dict = {}

        def getattr_heard(mod, attr):
            return self.getattr(attr, look_up(mod, attr), cache)

        def call_heard(mod, *args, **kwargs):
            def forward(*args, **kwargs):
                return call(mod, *args, **kwargs)

            space = getattr(getattr(mod, "forward", mod), "__globals__", {})
            _autowrap_check(patcher, space, self._autowrap_function_ids)
            return self.call_module(mod, forward, args, kwargs)

        patcher.patch_method(Module, "__getattr__", getattr_heard, deduplicate=False)
        patcher.patch_method(Module, "__call__", call_heard, deduplicate=False)

    def __deepcopy__(self, memo):
        made = Tracer.__new__(type(self))
        for name, value in vars(self).items():
            if name in ("_autowrap_search", "root"):  # modules of Python cannot be copied
                vars(made)[name] = copy.copy(value) if name == "_autowrap_search" else value
            else:
                vars(made)[name] = copy.deepcopy(value, memo)
        return made


def _default(sig, name: str) -> tuple:
    default = sig.parameters[name].default
    return () if default is inspect.Parameter.empty else (default,)


@contextlib.contextmanager
def _flag():
    global _is_fx_tracing_flag
    before = _is_fx_tracing_flag
    _is_fx_tracing_flag = True
    try:
        yield
    finally:
        _is_fx_tracing_flag = before


def symbolic_trace(root, concrete_args=None) -> GraphModule:
    """A GraphModule of what a module or function does with any input.

    Args:
        concrete_args: values for some parameters, by name (PH where the value stays an input);
            the graph holds for these only.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    named = type(root) if isinstance(root, torch.nn.Module) else root
    return GraphModule(tracer.root, graph, named.__name__)


def __getattr__(name: str):
    if name == "CURRENT_PATCHER":
        return _patching.CURRENT_PATCHER
    from rushlight import _absent

    return _absent.names("fx._symbolic_trace")(name)
