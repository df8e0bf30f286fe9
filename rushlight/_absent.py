"""Names of what Rushlight refuses: a library may mention them; using one says what is missing.

A class among them can be inherited from, subscripted and asked for by isinstance (nothing is one);
a function can be passed around. Making or calling either raises NotImplementedError, which names
the feature and the nearest thing there is. Enumerations have their members, and what asks whether
something is of a refused kind says no. Which names PyTorch has in such a module says a table
(tools/record_absent.py), so hasattr answers truly for the others; the modules themselves are made
when they are imported.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

NO_QUANTISED = (
    "rushlight has no quantised tensors. On the CPU, torch.autocast with bfloat16 halves the "
    "memory of activations."
)
NO_SCRIPT = "it belongs to TorchScript, which rushlight does not have."
_COMPILED = (
    "rushlight runs programs as they are and keeps no graph of them. torch.compile gives the "
    "module or function itself."
)
_NO_GPU = "there is no GPU. Guard the call with torch.cuda.is_available(), which is False."
# Why a package is refused; packages that are there in part add theirs.
_REASONS = {
    **dict.fromkeys(("_decomp", "_dynamo", "_export", "_guards", "_higher_order_ops"), _COMPILED),
    **dict.fromkeys(("_functorch",), "torch.func has vmap, grad, jvp, vjp and the others."),
    **dict.fromkeys(("_prims", "_prims_common", "_refs"), "the operators are in torch."),
    **dict.fromkeys(("_logging",), "use Python's logging, or torch.profiler for what was run."),
    **dict.fromkeys(
        ("_subclasses",), "device='meta' computes shapes without data: torch.device('meta')."
    ),
    **dict.fromkeys(
        ("ao", "quantization", "nn.intrinsic", "nn.qat", "nn.quantizable", "nn.quantized"),
        NO_QUANTISED,
    ),
    **dict.fromkeys(("contrib", "nativert", "nn.cpp"), "rushlight is used from Python."),
    **dict.fromkeys(("accelerator", "backends", "cuda", "mps", "mtia", "xpu"), _NO_GPU),
    "monitor": "write numbers with torch.utils.tensorboard.SummaryWriter.",
    "nested": "rushlight has no nested tensors. Pad sequences with "
    "torch.nn.utils.rnn.pad_sequence, or keep a list.",
    "nn.attention": "torch.nn.functional.scaled_dot_product_attention takes padded batches and "
    "masks.",
    "nn.backends": "the functions are in torch.nn.functional.",
    "nn.parallel": "there is one device. Call the module itself.",
    "nn.utils": "torch.func.vmap of torch.func.grad gives a gradient for each sample.",
    "numa": "start the program by numactl.",
    "package": "Save weights with torch.save(model.state_dict(), file), and ship the code as a "
    "Python package.",
    **dict.fromkeys(
        ("_utils_internal", "utils"), "it belongs to PyTorch's own core, compiler or packages."
    ),
    "utils.backcompat": "nothing is broadcast as in PyTorch 0.1.",
    "utils.backend_registration": "tensors are on the CPU or on meta.",
    "utils.benchmark": "torch.utils.benchmark.Timer and Compare are there.",
    "utils.data.datapipes": "rushlight has a few of the data pipes. Use a Dataset and a "
    "DataLoader.",
}


@functools.cache
def _table() -> dict[str, str]:
    """Per module of PyTorch, without its first "torch.": its names."""
    import lzma
    from pathlib import Path

    data = Path(__file__).with_name("_absent_names.xz").read_bytes()
    lines = lzma.decompress(data).decode().split("\n")
    return {module: known for module, _, known in (line.partition(" ") for line in lines)}


def _reason(module: str) -> str:
    """Why ``module`` is refused: as its nearest parent with a reason."""
    while module and module not in _REASONS:
        module = module.rpartition(".")[0]
    return _REASONS[module]


class _RefusedType(abc.ABCMeta):
    """The type of refused classes: no object is an instance of one, and making one raises."""

    def __call__(cls, *args, **kwargs):
        for base in cls.__mro__:
            if "_refusal" in vars(base):
                raise NotImplementedError(base._refusal)
        return super().__call__(*args, **kwargs)

    def __getitem__(cls, item):
        return cls

    def __getattr__(cls, name):
        # A method of the class, made where it is mentioned; PyTorch's own names are not recorded.
        if name.startswith("_") or cls._refusal != vars(cls).get("_refusal"):
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return _refusing(name, cls.__module__, cls._refusal)


def refused_class(module: str, name: str, reason: str) -> type:
    """A class that can be mentioned; ``reason`` ends the message of the error."""
    home = f"torch.{module}".rstrip(".")
    text = f"{home}.{name} is not supported: {reason}"
    return _RefusedType(name, (), {"__module__": home, "_refusal": text})


def refused_function(module: str, name: str, reason: str):
    """A function that raises when it is called."""
    home = f"torch.{module}".rstrip(".")
    return _refusing(name, home, f"{home}.{name} is not supported: {reason}")


def _refusing(name: str, module: str, text: str):
    def refused(*args, **kwargs):
        raise NotImplementedError(text)

    refused.__name__ = refused.__qualname__ = name
    refused.__module__ = module
    refused._refusal = text
    return refused


def _undecorated(fn):
    """What a decorator of a refused package gives: the function, which cannot be reached there."""
    return fn


# Refused functions that decorate others when a library is imported.
_DECORATORS = {"distributed.rpc.api._require_initialized",
               "distributed.rpc.functions.async_execution"}  # fmt: skip


def _made(module: str, name: str, members: str, reason: str):
    """What stands for a name: a class where it begins with a capital, else a function."""
    if members:
        import enum

        return enum.Enum(name, members.split(","), module=f"torch.{module}")
    if f"{module}.{name}" in _DECORATORS:
        return _undecorated
    bare = name.lstrip("_")
    if bare.startswith(("is_", "has_")):  # asked of what may be anything: it is not of this kind
        return _never
    make = refused_class if bare[:1].isupper() else refused_function
    return make(module, name, reason)


def _never(*args, **kwargs) -> bool:
    """False."""
    return False


def _of_parent(module: str, name: str):
    """What a package above has under this name and does not refuse, else None."""
    while "." in module:
        module = module.rpartition(".")[0]
        value = getattr(sys.modules.get(f"{__package__}.{module}"), name, None)
        if value is not None and not hasattr(value, "_refusal"):
            return value
    return None


def names(module: str, reason: str | None = None, known: str | None = None):
    """A module's ``__getattr__`` for the names in ``known``, by default those of the table."""
    if reason is not None:
        _REASONS[module] = reason
    full = f"{__package__}.{module}"

    @functools.cache
    def listed() -> dict[str, str]:
        words = (_table().get(module, "") if known is None else known).split()
        return {name: members for name, _, members in (word.partition("=") for word in words)}

    def __getattr__(name: str):
        if not name.startswith("__"):
            if name in listed():
                value = _of_parent(module, name)
                if value is None:
                    value = _made(module, name, listed()[name], _reason(module))
                setattr(sys.modules[full], name, value)
                return value
            if f"{module}.{name}" in _table():
                return importlib.import_module(f"{full}.{name}")
        raise AttributeError(f"module 'torch.{module}' has no attribute '{name}'")

    return __getattr__


def submodule(module: str, reason: str | None = None, known: str | None = None, **present):
    """Makes ``rushlight.<module>`` of refused names and of the given ``present`` ones."""
    full = f"{__package__}.{module}"
    made = ModuleType(full, "Names of what is refused.")
    made.__path__ = []  # what lies below it is known by name
    made.__getattr__ = names(module, reason, known)
    vars(made).update(present)
    sys.modules[full] = made
    home, _, last = full.rpartition(".")
    if home in sys.modules and home != __package__:
        setattr(sys.modules[home], last, made)
    return made


class Finder:
    """Makes the modules of the table; last on ``sys.meta_path``, after those that have a file."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """A spec if the table has ``fullname``."""
        package, _, module = fullname.partition(".")
        if package == __package__ and module in _table():
            return ModuleSpec(fullname, Finder, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        """A module of refused names."""
        return submodule(spec.name.partition(".")[2])

    @staticmethod
    def exec_module(module):
        """Nothing is run."""


class _SettingsModule(ModuleType):
    """A module of settings."""

    @contextlib.contextmanager
    def patch(self, changes=None, value=None, **more):
        """Sets attributes for a block: ``patch(name=value)``, ``patch("name", value)``, a dict."""
        changes = {changes: value} if isinstance(changes, str) else changes
        changes = {**(changes or {}), **more}
        before = {name: getattr(self, name) for name in changes}
        vars(self).update(changes)
        try:
            yield
        finally:
            vars(self).update(before)


def settings(module: str, **values) -> ModuleType:
    """Makes ``rushlight.<module>`` of settings that are kept and not read."""
    made = _SettingsModule(f"{__package__}.{module}", "Settings that are kept and not read.")
    vars(made).update(values)
    sys.modules[made.__name__] = made
    return made
