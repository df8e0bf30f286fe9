"""Operators of one's own: ``custom_op``, ``Library``, and what is registered for them."""

from __future__ import annotations

import contextlib
import inspect
import re
import types
import typing

import rushlight as torch

from . import _ops

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]  # fmt: skip

_TYPES = {
    "bool": "bool", "int": "SymInt", "float": "float", "str": "str", "Tensor": "Tensor",
    "device": "Device", "dtype": "ScalarType", "complex": "complex", "Number": "Scalar",
}  # fmt: skip


def _type_name(kind, of: str) -> str:
    """A type of Python's in the language of schemas: ``Tensor?``, ``SymInt[]``."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if set(inside) == {int, float, bool} or set(inside) == {int, float, bool, complex}:
            return "Scalar"
        some = [part for part in inside if part is not type(None)]
        if len(some) == 1 and len(inside) == 2:
            return _type_name(some[0], of) + "?"
    elif origin in (list, typing.get_origin(typing.Sequence[int])) and inside:
        return _type_name(inside[0], of) + "[]"
    else:
        name = getattr(kind, "__name__", "")
        if name in _TYPES:
            return _TYPES[name]
    raise ValueError(
        f"infer_schema(func): {of} has unsupported type {kind}. Annotate it with Tensor, int, "
        "float, bool, str, device, dtype, a list or an Optional of one of these."
    )


def _default_text(value) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).removeprefix("torch.")


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()) -> str:
    """The schema of a function from its annotations: ``(Tensor x, float f=2.0) -> Tensor``."""
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)
    parts, keyword_only = [], False
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(
                "infer_schema(func): We do not support positional-only args, *args, or **kwargs."
            )
        if name not in hints:
            raise ValueError(
                f"infer_schema(func): Parameter {name} must have a type annotation."
            )
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        kind = _type_name(hints[name], f"Parameter {name}")
        changed = name in mutates_args if mutates_args != "unknown" else kind.startswith("Tensor")
        if changed:
            kind = kind.replace("Tensor", f"Tensor(a{len(parts)}!)", 1)
        default = parameter.default
        end = "" if default is parameter.empty else f"={_default_text(default)}"
        parts.append(f"{kind} {name}{end}")
    if mutates_args != "unknown" and set(mutates_args) - set(signature.parameters):
        raise ValueError(
            f"infer_schema(func): mutates_args contains names that are not parameters: "
            f"{sorted(set(mutates_args) - set(signature.parameters))}."
        )
    schema = f"({', '.join(parts)}) -> {_result_type(hints, signature)}"
    return schema if op_name is None else op_name + schema


def _result_type(hints, signature) -> str:
    if signature.return_annotation is signature.empty:
        raise ValueError("infer_schema(func): No return type annotation was provided.")
    kind = hints["return"]
    if kind is type(None):
        return "()"
    if typing.get_origin(kind) is tuple:
        inside = [_type_name(part, "The return value") for part in typing.get_args(kind)]
        return inside[0] if len(inside) == 1 else f"({', '.join(inside)})"
    return _type_name(kind, "The return value")


def _split_schema(schema: str) -> tuple[tuple, tuple]:
    """(names of parameters, those of them that are changed) of a schema's text."""
    inside = schema[schema.index("(") + 1 : schema.rindex("->")].rstrip().removesuffix(")")
    names, changed = [], []
    for part in re.split(r",(?![^\[(]*[\])])", inside):
        part = part.strip()
        if not part or part == "*":
            continue
        name = part.split("=")[0].split()[-1]
        names.append(name)
        if "!" in part:
            changed.append(name)
    return tuple(names), tuple(changed)


def _add(qualname: str, schema: str):
    if "::" not in qualname:
        raise ValueError(
            f"Expected `name` to be of the form `namespace::name`, got {qualname}"
        )
    base, _, overload = qualname.partition(".")
    op = _ops.packet(base).add(schema, overload or "default")
    op.parameters, op.mutated = _split_schema(schema)
    vars(op).update(_waiting.pop(qualname, {}))
    return op


class CustomOpDef:
    """An operator made by :func:`custom_op`: callable, and to be given kernels and a gradient."""

    def __init__(self, namespace: str, name: str, schema: str, fn, tags=None):
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._opoverload = _add(f"{namespace}::{name}", schema)

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """Sets the function that runs on one or several types of devices; a decorator."""

        def set_kernel(fn):
            alone = device_types is None or isinstance(device_types, str)
            for kind in (device_types,) if alone else device_types:
                self._opoverload.kernels["any" if kind is None else kind] = fn
            return fn

        return set_kernel if fn is None else set_kernel(fn)

    def register_fake(self, fn, /):
        """Sets the function that serves ``meta`` tensors: shapes and dtypes only."""
        self._opoverload.fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None) -> None:
        """Sets the gradient: ``setup_context(ctx, inputs, output)`` and ``backward(ctx, grad)``."""
        self._opoverload.backward = backward
        self._opoverload.setup_context = setup_context
        self._opoverload._function = None

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Takes a function for a class with ``__torch_dispatch__``; there are none here."""
        return (lambda fn: fn) if fn is None else fn

    def register_vmap(self, func=None):
        """Takes a rule for vmap; it is not asked: the operator runs once per sample."""
        return (lambda func: func) if func is None else func

    def register_autocast(self, device_type: str, cast_inputs):
        """Under autocast on ``device_type``, floating inputs are cast to ``cast_inputs``."""
        run = self._opoverload._run

        def cast_and_run(args, kwargs, tensors):
            if torch.is_autocast_enabled(device_type):
                args, kwargs = _cast((args, kwargs), cast_inputs)
            return run(args, kwargs, list(_ops._tensors((args, kwargs))))

        self._opoverload._run = cast_and_run

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True):
        """A block in which the kernel of a device type is used or not."""
        kernels = self._opoverload.kernels
        before = dict(kernels)
        if not enabled:
            kernels.pop(device_type, None)
        try:
            yield
        finally:
            kernels.clear()
            kernels.update(before)


def _cast(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, dtype) for item in value)
    if isinstance(value, dict):
        return {name: _cast(item, dtype) for name, item in value.items()}
    return value


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operator ``namespace::name`` of a function with annotations; a decorator.

    ``mutates_args`` names the tensors that the function changes.
    """

    def make(fn):
        text = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
        space, colons, short = name.partition("::")
        if not colons:
            raise ValueError(f"Expected `name` to be of the form `namespace::name`, got {name}")
        made = CustomOpDef(space, short, text, fn, tags)
        made.register_kernel(device_types, fn)
        return made

    return make if fn is None else make(fn)


triton_op = custom_op


def wrap_triton(triton_kernel, /):
    """Returns ``triton_kernel`` as it is."""
    return triton_kernel


def fallthrough_kernel():
    """Stands for "go on to the next kernel"."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """Operators of a namespace: ``define`` makes them, ``impl`` gives them functions."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError("Unsupported kind: " + kind)
        if kind == "DEF" and ns in ("prim", "prims", "aten"):
            raise ValueError(ns + " is a reserved namespace. Please try creating a library with "
                             "another name.")  # fmt: skip
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags=()) -> str:
        """Makes an operator: ``name(Tensor x, int n=1) -> Tensor``."""
        name = schema[: schema.index("(")].strip()
        _add(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name, fn, dispatch_key: str = "", *, with_keyset=False, allow_override=False):
        """Sets the function for a device: "CPU", "Meta", "CompositeImplicitAutograd" ..."""
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        name = op_name if isinstance(op_name, str) else op_name._qualname
        _implement(f"{self.ns}::{name.partition('::')[2] or name}", dispatch_key
                   or self.dispatch_key, fn)  # fmt: skip

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        _overload(f"{self.ns}::{op_name}").fake = fn

    def _destroy(self) -> None:
        """Takes the operators of this library away."""
        for name in [name for name in _ops._defined if name.startswith(f"{self.ns}::")]:
            del _ops._defined[name]
        vars(_ops.ops).pop(self.ns, None)


_KEYS = {
    "": "CompositeImplicitAutograd", "default": "any", "CPU": "cpu", "Meta": "meta",
    "CUDA": "cuda", "AutogradCPU": "CompositeImplicitAutograd",
    "Autograd": "CompositeImplicitAutograd",
}  # fmt: skip


def _implement(qualname: str, key: str, fn) -> None:
    if fn is fallthrough_kernel:
        return
    _overload(qualname).kernels[_KEYS.get(key, key)] = fn


def _overload(op):
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, _ops.OpOverload):
        return op
    if isinstance(op, _ops.OpOverloadPacket):
        return next(iter(op._overloads.values()))
    base, _, overload = op.partition(".")
    if base not in _ops._defined:
        raise RuntimeError(f"operator {op} does not exist")
    return _ops._defined[base]._overloads[overload or "default"]


def _registered(op, **parts) -> None:
    """Sets parts of an operator, at once or when it is defined.

    Libraries whose operators are in C++ for PyTorch's core register more about them in Python.
    """
    if isinstance(op, str) and op.partition(".")[0] not in _ops._defined:
        _waiting.setdefault(op, {}).update(parts)
        return
    vars(_overload(op)).update(parts)


_waiting: dict = {}  # "ns::name[.overload]" -> parts


def define(qualname: str, schema: str | None = None, *, lib=None, tags=()):
    """Makes an operator ``namespace::name`` with a schema; without one, a decorator."""
    if schema is None:
        return lambda fn: (
            _add(qualname, infer_schema(fn, mutates_args=())), impl(qualname, "default", fn)
        )[1]  # fmt: skip
    if not isinstance(qualname, str):
        raise ValueError("define(qualname, schema): expected qualname to be instance of str, got "
                         f"{type(qualname)}")  # fmt: skip
    _add(qualname, schema)
    return None


def impl(qualname: str, types, func=None, *, lib=None):
    """Sets the function of an operator for types of devices ("cpu", "default"); a decorator."""
    kinds = (types,) if isinstance(types, str) else types

    def register(func):
        for kind in kinds:
            _implement(qualname, kind, func)
        return func

    return register if func is None else register(func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Sets the function of an operator on types of devices; a decorator."""
    alone = device_types is None or isinstance(device_types, str)
    kinds = (device_types,) if alone else device_types

    def register(func):
        for kind in kinds:
            _overload(op).kernels["any" if kind is None else kind] = func
        return func

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=True):
    """Sets the function that serves ``meta`` tensors; a decorator."""

    def register(func):
        _registered(op, fake=func)
        return func

    return register if func is None else register(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None) -> None:
    """Sets the gradient of an operator."""
    _registered(op, backward=backward, setup_context=setup_context, _function=None)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None) -> None:
    """Under autocast, the operator's floating inputs are cast to ``cast_inputs``."""
    CustomOpDef.register_autocast(_holder(op), device_type, cast_inputs)


def _holder(op):
    return types.SimpleNamespace(_opoverload=_overload(op))


def register_vmap(op, func=None, /, *, lib=None):
    """Takes a rule for vmap; it is not asked: the operator runs once per sample."""
    return (lambda func: func) if func is None else func


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Takes a function for a class with ``__torch_dispatch__``; there are none here."""
    return (lambda func: func) if func is None else func


class _FakeContext:
    """What a fake function may ask for: sizes that depend on data."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Raises: a size that is not known has no meta tensor."""
        raise NotImplementedError(
            "a result whose size depends on data cannot be made on the meta device"
        )

    create_unbacked_symint = new_dynamic_size


def get_ctx() -> _FakeContext:
    """The context of the fake function that runs."""
    return _FakeContext()


def get_kernel(op, dispatch_key):
    """The function of an operator for a device: "CPU" ..."""
    return _overload(op).kernels[_KEYS.get(str(dispatch_key), str(dispatch_key))]


def opcheck(op, args, kwargs=None, *, test_utils=(), raise_exception=True, atol=None, rtol=None):
    """Runs an operator, and its ``meta`` function against it: {test: "SUCCESS" or the error}."""
    kwargs, answers = kwargs or {}, {}
    overload = _overload(op)

    def attempt(name, call):
        try:
            call()
            answers[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise
            answers[name] = error

    def shapes():
        real = list(_ops._tensors(overload(*args, **kwargs)))
        fake = list(_ops._tensors(overload(*_cast_device(args), **_cast_device(kwargs))))
        found = [(t.shape, t.dtype) for t in fake]
        if found != [(t.shape, t.dtype) for t in real]:
            raise AssertionError(f"{overload}: the fake function gives {found}")

    attempt("test_schema", lambda: overload(*args, **kwargs))
    attempt("test_faketensor", shapes)
    return answers


def _cast_device(value):
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    if isinstance(value, (list, tuple)):
        return type(value)(_cast_device(item) for item in value)
    if isinstance(value, dict):
        return {name: _cast_device(item) for name, item in value.items()}
    return value
