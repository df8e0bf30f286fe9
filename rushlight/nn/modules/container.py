"""Containers: modules and parameters in sequences, lists and dictionaries."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import rushlight as torch

from ..parameter import Parameter
from .module import Module, _addindent, typename


def _absolute(index, length):
    """A non-negative index, or IndexError with PyTorch's message."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


class Container(Module):
    """Deprecated: a module with children given as keywords."""

    def __init__(self, **kwargs):
        super().__init__()
        import warnings

        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in "
            "`nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for key, value in kwargs.items():
            self.add_module(key, value)


class Sequential(Module):
    """Calls its modules in order, each with the result of the one before."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for index, module in enumerate(args):
                self.add_module(str(index), module)

    def _get_item_by_idx(self, iterator, idx):
        idx = _absolute(idx, len(self))
        for position, item in enumerate(iterator):
            if position == idx:
                return item
        raise IndexError(f"index {idx} is out of range")

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[idx]))
        return self._get_item_by_idx(self._modules.values(), idx)

    def __setitem__(self, idx, module):
        setattr(self, self._get_item_by_idx(self._modules.keys(), idx), module)

    def __delitem__(self, idx):
        if isinstance(idx, slice):
            for key in list(self._modules.keys())[idx]:
                delattr(self, key)
        else:
            delattr(self, self._get_item_by_idx(self._modules.keys(), idx))
        self._renumber()

    def _renumber(self):
        names = [str(i) for i in range(len(self._modules))]
        self._modules = OrderedDict(zip(names, self._modules.values(), strict=True))

    def __len__(self):
        return len(self._modules)

    def _check_sequential(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)!s} is given."
            )

    def __add__(self, other):
        self._check_sequential(other)
        result = Sequential()
        for layer in (*self, *other):
            result.append(layer)
        return result

    def __iadd__(self, other):
        self._check_sequential(other)
        offset = len(self)
        for i, module in enumerate(list(other)):
            self.add_module(str(i + offset), module)
        return self

    def pop(self, key):
        """Remove and return the module at index ``key``."""
        value = self[key]
        del self[key]
        return value

    def _check_factor(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other):
        self._check_factor(other)
        result = Sequential()
        for _ in range(other):
            for module in self:
                result.append(module)
        return result

    def __rmul__(self, other):
        return self.__mul__(other)

    def __imul__(self, other):
        self._check_factor(other)
        original = list(self)
        for _ in range(other - 1):
            self.extend(original)
        return self

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def __iter__(self):
        return iter(self._modules.values())

    def forward(self, input):
        """Pass ``input`` through all modules."""
        for module in self._modules.values():
            input = module(input)
        return input

    def append(self, module):
        """Add ``module`` at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Insert ``module`` before ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self._modules)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        if index < 0:
            index += n
        for i in range(n, index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module
        return self

    def extend(self, sequential):
        """Add all modules of ``sequential`` at the end."""
        for layer in sequential:
            self.append(layer)
        return self


class ModuleList(Module):
    """A list of modules, each registered under its index."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def _get_abs_string_index(self, idx):
        return str(_absolute(idx, len(self)))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self.__class__(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx, module):
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx):
        if isinstance(idx, slice):
            for k in range(len(self._modules))[idx]:
                delattr(self, str(k))
        else:
            delattr(self, self._get_abs_string_index(idx))
        names = [str(i) for i in range(len(self._modules))]
        self._modules = OrderedDict(zip(names, self._modules.values(), strict=True))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        combined = ModuleList()
        for i, module in enumerate([*self, *other]):
            combined.add_module(str(i), module)
        return combined

    def __repr__(self):
        """Equal neighbours are shown once, with their count."""
        texts = [repr(item) for item in self]
        if not texts:
            return self._get_name() + "()"
        blocks = []
        for i, text in enumerate(texts):
            if blocks and blocks[-1][2] == text:
                blocks[-1][1] = i
            else:
                blocks.append([i, i, text])
        lines = []
        for start, end, text in blocks:
            if start == end:
                line = f"({start}): {text}"
            else:
                line = f"({start}-{end}): {end - start + 1} x {text}"
            lines.append(_addindent(line, 2))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def insert(self, index, module):
        """Insert ``module`` before ``index``."""
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def append(self, module):
        """Add ``module`` at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Remove and return the module at ``key``, an index or a slice."""
        value = self[key]
        del self[key]
        return value

    def extend(self, modules):
        """Add all of ``modules`` at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self


class ModuleDict(Module):
    """A dictionary of modules, each registered under its key."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key):
        """Remove and return the module under ``key``."""
        value = self[key]
        del self[key]
        return value

    def keys(self):
        """The keys."""
        return self._modules.keys()

    def items(self):
        """The (key, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Set the modules of a mapping or of (key, module) pairs."""
        for key, module in _pairs(
            modules, "ModuleDict", "ModuleDict", (OrderedDict, ModuleDict, Mapping)
        ):
            self[key] = module


def _pairs(entries, kind, plural, mappings):
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{plural}.update should be called with an iterable of key/value pairs, but got "
            + type(entries).__name__
        )
    if isinstance(entries, mappings):
        return list(entries.items())
    pairs = []
    for j, entry in enumerate(entries):
        if not isinstance(entry, Iterable):
            raise TypeError(
                f"{kind} update sequence element #{j} should be Iterable; is"
                + type(entry).__name__
            )
        if len(entry) != 2:
            raise ValueError(
                f"{kind} update sequence element #{j} has length {len(entry)}; 2 is required"
            )
        pairs.append((entry[0], entry[1]))
    return pairs


def _entries(items, kind_of):
    """One line per entry of a parameter container."""
    lines = []
    for key, value in items:
        if isinstance(value, torch.Tensor):
            size = "x".join(str(n) for n in value.size())
            device = f" ({value.device})" if value.device.type == "cuda" else ""
            name = "Parameter" if isinstance(value, Parameter) else "Tensor"
            lines.append(f"  ({key}): {name} containing: [{kind_of(value)} of size {size}{device}]")
        else:
            lines.append(f"  ({key}): Object of type: {type(value).__name__}")
    return "\n".join(lines)


class ParameterList(Module):
    """A list whose tensors become parameters; other values are kept as they are."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _get_abs_string_index(self, idx):
        return str(_absolute(idx, len(self)))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            result = self.__class__()
            for i in range(*idx.indices(len(self))):
                result.append(self[i])
            return result
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx, param):
        idx = self._get_abs_string_index(idx)
        if isinstance(param, torch.Tensor) and not isinstance(param, Parameter):
            param = Parameter(param)
        setattr(self, idx, param)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value):
        """Add ``value`` at the end; a tensor becomes a parameter."""
        index = len(self)
        self._size += 1
        self[index] = value
        return self

    def extend(self, values):
        """Add all of ``values`` at the end."""
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return _entries(enumerate(self), lambda tensor: tensor.dtype)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary whose tensors become parameters; other values are kept as they are."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need "
                "non-string keys."
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        attr = self._key_to_attr(key)
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, attr, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def copy(self):
        """A new ParameterDict of the same values."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def __contains__(self, key):
        return key in self._keys

    def setdefault(self, key, default=None):
        """The value under ``key``, set to ``default`` first if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Remove all values."""
        for key in self._keys.copy():
            del self[key]

    def pop(self, key):
        """Remove and return the value under ``key``."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove and return the (key, value) added last."""
        key, _ = self._keys.popitem()
        # The key goes back so that one place removes it.
        self._keys[key] = None
        value = self[key]
        del self[key]
        return key, value

    def get(self, key, default=None):
        """The value under ``key``, else ``default``."""
        return self[key] if key in self else default  # noqa: SIM401  it is what get() means

    def fromkeys(self, keys, default=None):
        """A new ParameterDict of ``keys``, each with ``default``."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def items(self):
        """The (key, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Set the values of a mapping or of (key, value) pairs."""
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            parameters = OrderedDict(sorted(parameters.items()))
        for key, value in _pairs(
            parameters, "ParameterDict", "ParametersDict", (OrderedDict, ParameterDict)
        ):
            self[key] = value

    def extra_repr(self):
        return _entries(self.items(), typename)

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other):
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other):
        self.update(other)
        return self
