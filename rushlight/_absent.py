"""Names of what Rushlight refuses: a library may mention them; using one says what is missing.

A class among them can be inherited from, subscripted and asked for by isinstance (nothing is one);
a function can be passed around. Making or calling either raises NotImplementedError, which names
the feature and the nearest thing there is. Modules say what they have, so hasattr answers truly for
names that PyTorch lacks.
"""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType


class _RefusedType(type):
    """The type of refused classes: no object is an instance of one, and making one raises."""

    def __call__(cls, *args, **kwargs):
        for base in cls.__mro__:
            if "_refusal" in vars(base):
                raise NotImplementedError(base._refusal)
        return super().__call__(*args, **kwargs)

    def __getitem__(cls, item):
        return cls


def refused_class(module: str, name: str, reason: str) -> type:
    """A class that can be mentioned; ``reason`` ends the message of the error."""
    text = f"torch.{module}.{name} is not supported: {reason}"
    return _RefusedType(name, (), {"__module__": f"torch.{module}", "_refusal": text})


def refused_function(module: str, name: str, reason: str):
    """A function that raises when it is called."""

    def refused(*args, **kwargs):
        raise NotImplementedError(f"torch.{module}.{name} is not supported: {reason}")

    refused.__name__ = refused.__qualname__ = name
    refused.__module__ = f"torch.{module}"
    refused._refusal = reason
    return refused


def names(module: str, reason: str, known: str):
    """A module's ``__getattr__`` for the names in ``known``: those in CamelCase are classes."""
    listed = frozenset(known.split())

    def __getattr__(name: str):
        if name not in listed:
            raise AttributeError(f"module 'torch.{module}' has no attribute '{name}'")
        make = refused_class if name.lstrip("_")[:1].isupper() else refused_function
        value = make(module, name, reason)
        setattr(sys.modules[f"{__package__}.{module}"], name, value)
        return value

    return __getattr__


def submodule(module: str, reason: str, known: str = "", **present) -> ModuleType:
    """Makes ``rushlight.<module>`` of refused names and of the given ``present`` ones."""
    full = f"{__package__}.{module}"
    made = ModuleType(full, f"Not there: {reason}")
    made.__path__ = []  # what lies below it is known by name
    made.__getattr__ = names(module, reason, known)
    vars(made).update(present)
    sys.modules[full] = made
    home, _, last = full.rpartition(".")
    if home in sys.modules and home != __package__:
        setattr(sys.modules[home], last, made)
    return made


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
