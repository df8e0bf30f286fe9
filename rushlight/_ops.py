"""torch.ops: operators by namespace, the core's (aten) and those that torch.library defines."""

from __future__ import annotations

import functools
import sys
from types import ModuleType

import rushlight as torch

_defined: dict = {}  # "ns::name" -> OpOverloadPacket


class OpOverload:
    """One operator: its schema and kernels; calling it runs the one for the arguments' device."""

    def __init__(self, packet, schema: str, overload: str = "default"):
        self._packet, self._overload = packet, overload
        self._qualname = packet._qualname
        self._schema = schema
        self.kernels: dict = {}  # device type, or "CompositeImplicitAutograd", -> function
        self.fake = None
        self.backward = self.setup_context = None
        self.mutated: tuple = ()
        self.parameters: tuple = ()  # names, in order
        self._function = None

    @property
    def namespace(self) -> str:
        """The part of the name before ``::``."""
        return self._qualname.partition("::")[0]

    def name(self) -> str:
        """``ns::name``."""
        return self._qualname

    def __str__(self):
        return f"{self._qualname.replace('::', '.')}.{self._overload}"

    def __repr__(self):
        space, _, name = self._qualname.partition("::")
        return f"<OpOverload(op='{space}.{name}', overload='{self._overload}')>"

    def __call__(self, /, *args, **kwargs):
        composite = self.kernels.get("CompositeImplicitAutograd")
        if composite is not None:
            return composite(*args, **kwargs)
        tensors = list(_tensors((args, kwargs)))
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            if kwargs and self.parameters:
                names = self.parameters[len(args) :]
                if all(name in kwargs for name in names[: len(kwargs)]):
                    args = (*args, *(kwargs[name] for name in names[: len(kwargs)]))
                    kwargs = {}
            return self._with_gradient(args, kwargs)
        return self._run(args, kwargs, tensors)

    def _run(self, args, kwargs, tensors):
        device = tensors[0].device.type if tensors else "cpu"
        kernel = self.kernels.get(device) or self.kernels.get("CompositeExplicitAutograd")
        if device == "meta" and kernel is None:
            kernel = self.fake
        kernel = kernel or self.kernels.get("any")
        if device == "meta" and self.fake is not None:
            kernel = self.fake
        if kernel is None:
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the '{device.upper()}' "
                f"backend: it has kernels for {sorted(self.kernels) or 'no device'}."
            )
        versions = [(t, t._version) for t in tensors] if self.mutated else ()
        result = kernel(*args, **kwargs)
        self._refuse_aliases(result, tensors)
        for name in self.mutated if versions else ():
            value = kwargs.get(name)
            if value is None and name in self.parameters[: len(args)]:
                value = args[self.parameters.index(name)]
            for tensor in _tensors(value):
                if any(t is tensor and t._version == before for t, before in versions):
                    torch.autograd.graph.increment_version(tensor)
        return result

    def _refuse_aliases(self, result, tensors) -> None:
        given = {id(t) for t in tensors}
        if any(id(t) in given for t in _tensors(result)):
            raise RuntimeError(
                f"{self._qualname} (with implementation in {self._module()}): The output of this "
                "custom operator (1) must not also be an input to this custom operator and (2) "
                "may not alias any inputs to this custom operator or other returns. The most "
                "common way to trigger this error is if we have y = custom_op(x) and y and x are "
                "the same Tensor. Please instead return a clone of the offending output tensor(s) "
                "(e.g. return x.clone()) or refactor the custom operator to not return y."
            )

    def _module(self) -> str:
        kernel = next(iter(self.kernels.values()), None)
        return getattr(kernel, "__module__", "???")

    def _with_gradient(self, args, kwargs):
        if self._function is None:
            self._function = self._make_function()
        return self._function.apply(kwargs, *args)

    def _make_function(self):
        op = self

        def forward(ctx, kwargs, *args):
            with torch.no_grad():
                result = op._run(args, kwargs, list(_tensors((args, kwargs))))
            if op.mutated:
                ctx.mark_dirty(*(
                    t
                    for name in op.mutated
                    if name in op.parameters[: len(args)]
                    for t in _tensors(args[op.parameters.index(name)])
                ))  # fmt: skip
            if op.setup_context is not None:
                options = {"keyword_only_inputs": kwargs} if kwargs else {}
                op.setup_context(ctx=ctx, inputs=args, output=result, **options)
            return result

        def backward(ctx, *grads):
            if op.backward is None:
                raise RuntimeError(
                    f"Trying to backward through {op} but no autograd formula was registered. "
                    "Please use register_autograd to add one."
                )
            result = op.backward(ctx, *grads)
            return (None, *result) if isinstance(result, tuple) else (None, result)

        name = f"GeneratedBackwardFor_{str(self).replace('.', '_')}"
        body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type(name, (torch.autograd.Function,), body)


class OpOverloadPacket:
    """The overloads of one operator; calling it calls the first."""

    def __init__(self, qualname: str):
        self._qualname = qualname
        self._qualified_op_name = qualname
        self.__name__ = qualname.partition("::")[2]
        self._overloads: dict = {}

    def add(self, schema: str, overload: str = "default") -> OpOverload:
        """A new overload with ``schema``."""
        made = self._overloads[overload] = OpOverload(self, schema, overload)
        return made

    def overloads(self) -> list:
        """Their names."""
        return list(self._overloads)

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.__dict__.get("_overloads", ()):
            raise AttributeError(
                f"The underlying op of '{self._qualname.replace('::', '.')}' has no overload name "
                f"'{name}'"
            )
        return self._overloads[name]

    def __call__(self, /, *args, **kwargs):
        return next(iter(self._overloads.values()))(*args, **kwargs)

    def __str__(self):
        return self._qualname.replace("::", ".")

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"


class _CoreOp(OpOverloadPacket):
    """An operator of the core; its overloads are told apart by their arguments."""

    def __init__(self, qualname: str, function):
        super().__init__(qualname)
        self._op = function

    def __getattr__(self, name):
        from . import _aten

        made = None if name.startswith("__") else _aten.find(self, self.__name__, name)
        if made is None:
            return super().__getattr__(name)
        setattr(self, name, made)
        return made

    def overloads(self) -> list:
        """Their names."""
        from . import _aten

        return [s.overload_name or "default" for s in _aten.all_schemas(self.__name__)]

    def __call__(self, /, *args, **kwargs):
        return self._op(*args, **kwargs)


def _tensors(value):
    """The tensors in arguments: alone, in lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


def packet(qualname: str) -> OpOverloadPacket:
    """The operator ``ns::name``, made if there is none."""
    if qualname not in _defined:
        _defined[qualname] = OpOverloadPacket(qualname)
    return _defined[qualname]


def _core_function(name: str):
    places = (torch._C._functions_table, torch._C._ops_table)
    for table in places:
        if name in table:
            return table[name]
    for prefix in ("linalg", "special", "fft"):
        short = name.removeprefix(f"{prefix}_")
        if short != name and hasattr(getattr(torch, prefix), short):
            return getattr(getattr(torch, prefix), short)
    for space in (torch.nn.functional, torch._C._nn, torch.Tensor):
        if hasattr(space, name):
            return getattr(space, name)
    return getattr(torch, name, None) if name.startswith("_foreach_") else None


def _refuse(name: str, /, *args, **kwargs):
    """What an operator that PyTorch has and Rushlight lacks does when it is called."""
    raise NotImplementedError(f"aten::{name} is not supported")


def _core_op(name: str):
    function = _core_function(name)
    if function is None:
        from . import _aten

        if not (known := _aten.all_schemas(name)):
            return None
        try:
            function = _aten.call_of(known[0])
        except NotImplementedError:
            function = functools.partial(_refuse, name)
    return _CoreOp(f"aten::{name}", function)


# Operators whose names look like those of Python's own attributes.
_SYMBOLS = {f"__{i}{n}__" for i in ("", "i") for n in ("and", "or", "xor", "lshift", "rshift")}


class _Namespace(ModuleType):
    """``torch.ops.<name>``: its operators are its attributes."""

    def __init__(self, name: str):
        super().__init__(f"torch.ops.{name}")
        self.__file__ = "torch.ops"
        self._space = name

    def __getattr__(self, name):
        if name.startswith("__") and name not in _SYMBOLS:
            raise AttributeError(name)
        found = _defined.get(f"{self._space}::{name}")
        if found is None and self._space == "aten":
            found = _core_op(name)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self._space}' object has no attribute '{name}'")
        setattr(self, name, found)
        return found

    def __dir__(self):
        listed = [q.partition("::")[2] for q in _defined if q.startswith(f"{self._space}::")]
        return [*listed, *(torch._C._functions_table if self._space == "aten" else ())]


class _Ops(ModuleType):
    """``torch.ops``: namespaces of operators."""

    def __init__(self):
        super().__init__("torch.ops")
        self.loaded_libraries: set = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Namespace(name)
        setattr(self, name, made)
        return made

    def load_library(self, path) -> None:
        """Raises: a library of PyTorch's operators needs PyTorch's C++ core."""
        raise OSError(
            f"Could not load this library: {path}: it is made for PyTorch's C++ core. Define the "
            "operator in Python with torch.library.custom_op."
        )

    import_module = load_library


ops = _Ops()
sys.modules[f"{__package__}.ops"] = ops
