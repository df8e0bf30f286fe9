"""Which sizes of the inputs may differ: Dim, its hints, and how they are given per input."""

from __future__ import annotations

import dataclasses
import inspect

import rushlight as torch
from rushlight.utils import _pytree as pytree

from ._constraints import UNBOUNDED
from ._errors import ConstraintViolationError, UserError, UserErrorType

__all__ = ["AdditionalInputs", "Constraint", "Dim", "ShapesCollection", "dims"]

_PAGE = (
    "For more information about this error, see: https://pytorch.org/docs/main/generated/exportdb/"
    "index.html#dynamic-shapes-validation"
)


@dataclasses.dataclass
class _DimHint:
    """Dim.AUTO, Dim.DYNAMIC or Dim.STATIC; called with ``min=`` and ``max=``, bounded."""

    type: str
    min: int | None = None
    max: int | None = None
    _factory: bool = True

    def __call__(self, min=None, max=None):
        if not self._factory:
            raise TypeError(f"'{type(self)}' object is not callable")
        if min is not None and min < 0:
            raise AssertionError(f"min must be non-negative, got {min}")
        if max is not None and max < 0:
            raise AssertionError(f"max must be non-negative, got {max}")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"min must be <= max, got min={min}, max={max}")
        return _DimHint(self.type, min, max, _factory=False)

    def __repr__(self):
        parts = [self.type]
        parts += [f"min={self.min}"] if self.min is not None else []
        parts += [f"max={self.max}"] if self.max is not None else []
        return f"DimHint({', '.join(parts)})"


class Dim:
    """A named size of inputs that may differ from call to call, between ``min`` and ``max``.

    Inputs whose dimensions are given the same Dim have the same size there; ``2 * dim + 1`` is the
    size that follows from it. Dim.AUTO lets the trace find out what a size is bound to,
    Dim.DYNAMIC refuses that it is bound to one number, and Dim.STATIC binds it.
    """

    AUTO = _DimHint("AUTO")
    DYNAMIC = _DimHint("DYNAMIC")
    STATIC = _DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        low = 0 if min is None else min
        high = UNBOUNDED if max is None else max
        if not high > low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.min, self.max = low, high

    def __add__(self, other):
        return self._derive(other, "add")

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return self._derive(other, "subtract")

    def __rsub__(self, other):
        raise NotImplementedError(
            f"Attempted to negate {self.__name__}. (Only increasing linear operations with integer "
            "coefficients are supported.)"
        )

    def __mul__(self, other):
        return self._derive(other, "multiply")

    def __rmul__(self, other):
        return self * other

    def _derive(self, other, verb: str):
        if type(other) is not int or (verb == "multiply" and other <= 0):
            kind = "a positive integer" if verb == "multiply" else "an integer"
            how = {
                "add": f"add {other} to {self.__name__}",
                "subtract": f"subtract {other} from {self.__name__}",
                "multiply": f"multiply {other} with {self.__name__}",
            }[verb]
            raise NotImplementedError(
                f"Attempted to {how}, where {kind} was expected. (Only increasing linear "
                "operations with integer coefficients are supported.)"
            )
        if verb == "multiply":
            return _DerivedDim(self._root(), self._factor() * other, self._constant() * other)
        shift = other if verb == "add" else -other
        return _DerivedDim(self._root(), self._factor(), self._constant() + shift)

    def _root(self):
        return self

    def _factor(self) -> int:
        return 1

    def _constant(self) -> int:
        return 0

    def __repr__(self):
        parts = [repr(self.__name__)]
        if self.min is not None:
            parts.append(f"min={self.min}")
        if self.max != UNBOUNDED:
            parts.append(f"max={self.max}")
        return f"Dim({', '.join(parts)})"

    @classmethod
    def _readable(cls, name: str, low, high) -> str:
        return repr(cls(name, min=low, max=high))


class _DerivedDim(Dim):
    """``factor * root + constant``."""

    def __init__(self, root: Dim, factor: int, constant: int):
        self.root, self._by, self._shift = root, factor, constant
        name = root.__name__ if factor == 1 else f"{factor}*{root.__name__}"
        if constant:
            name += f" {'+' if constant > 0 else '-'} {abs(constant)}"
        self.__name__ = name

    @property
    def min(self):
        """The least value."""
        return self.root.min * self._by + self._shift

    @property
    def max(self):
        """The greatest value."""
        high = self.root.max
        return high if high == UNBOUNDED else high * self._by + self._shift

    def _root(self):
        return self.root

    def _factor(self) -> int:
        return self._by

    def _constant(self) -> int:
        return self._shift

    def __repr__(self):
        return self.__name__


Constraint = Dim


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple:
    """A Dim for each name, with the same bounds."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """Dynamic shapes per tensor object: ``shapes[tensor] = {0: Dim("batch")}``."""

    def __init__(self):
        self._shapes: dict = {}
        self._kept: list = []

    def __setitem__(self, t, shape):
        if not isinstance(t, (torch.Tensor, int)):
            raise AssertionError(
                f"Cannot assign shape to non-tensor or non-integer type {type(t)}"
            )
        known = self._shapes.get(id(t))
        if known is not None and known != shape:
            raise AssertionError(f"Shapes assigned to input is not consistent: {known} {shape}")
        self._shapes[id(t)] = shape
        self._kept.append(t)

    def __getitem__(self, t):
        return self._shapes.setdefault(id(t), {})

    def __len__(self):
        return len(self._shapes)

    def dynamic_shapes(self, m, args, kwargs=None):
        """The collection in the form that export takes."""
        found = set()

        def shape_of(leaf):
            if id(leaf) in self._shapes:
                found.add(id(leaf))
                return self._shapes[id(leaf)]
            return None

        combined = named_inputs(m, args, kwargs or {})
        shapes = pytree.tree_map(shape_of, combined)
        missing = [t for t in self._kept if id(t) not in found]
        if missing:
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args. Maybe such tensors "
                "were copied when passing them as args? Maybe such tensors are contained in "
                "classes that were not registered with pytree?"
            )
        return shapes


class AdditionalInputs:
    """More sample inputs; what differs between them is dynamic."""

    def __init__(self):
        self._examples: list = []

    def add(self, args, kwargs=None) -> None:
        """Adds arguments of one more call."""
        if not isinstance(args, tuple):
            raise AssertionError(f"Representative args {args} must be a tuple")
        if not (kwargs is None or isinstance(kwargs, dict)):
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m, args, kwargs=None):
        """Dim.DYNAMIC for each size and number that differs from that of the samples."""
        first, *others = [
            named_inputs(m, a, k or {}) for a, k in ((args, kwargs), *self._examples)
        ]

        def shape_of(leaf, *more):
            if isinstance(leaf, torch.Tensor):
                pairs = zip(leaf.shape, *(o.shape for o in more), strict=True)
                return tuple(Dim.DYNAMIC if len(set(sizes)) > 1 else None for sizes in pairs)
            if type(leaf) is int:
                return Dim.DYNAMIC if any(o != leaf for o in more) else None
            if any(o != leaf for o in more):
                raise ValueError(
                    f"The following inputs do not have unique values: {[leaf, *more]}, but they "
                    "are not tensors or ints, so they cannot be made dynamic."
                )
            return None

        return pytree.tree_map(shape_of, first, *others)

    def verify(self, ep) -> None:
        """Runs the program on each of the added inputs."""
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **(kwargs or {}))


def named_inputs(mod, args: tuple, kwargs: dict) -> dict:
    """The arguments of a call by the names of the parameters of ``forward``."""
    signature = inspect.signature(mod.forward if isinstance(mod, torch.nn.Module) else mod)
    return dict(signature.bind(*args, **kwargs).arguments) | _spread(signature, args, kwargs)


def _spread(signature, args, kwargs) -> dict:
    """Keyword arguments that ``**kwargs`` takes stand for themselves."""
    bound = signature.bind(*args, **kwargs).arguments
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD and name in bound:
            return {name: bound[name]}
    return {}


def shapes_per_leaf(mod, args, kwargs, dynamic_shapes) -> dict:
    """Per path of an input (as ``("x", 0)``), what is said about its sizes."""
    if dynamic_shapes is None or (isinstance(dynamic_shapes, dict) and not dynamic_shapes):
        return {}
    if isinstance(dynamic_shapes, (ShapesCollection, AdditionalInputs)):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(mod, args, kwargs)
    combined = named_inputs(mod, args, kwargs)
    if isinstance(dynamic_shapes, dict):
        if list(dynamic_shapes) != list(combined) and set(dynamic_shapes) != set(combined):
            raise UserError(
                UserErrorType.INVALID_INPUT,
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg "
                f"names {list(combined)} of `inputs`, but here they are {list(dynamic_shapes)}. "
                "Alternatively, you could also ignore arg names entirely and specify "
                f"`dynamic_shapes` as a list/tuple matching `inputs`. {_PAGE}",
            )
    else:
        if len(dynamic_shapes) != len(combined):
            _mismatch(
                f"`inputs` has {len(combined)} elements, but `dynamic_shapes` has "
                f"{len(dynamic_shapes)} elements"
            )
        dynamic_shapes = dict(zip(combined, dynamic_shapes, strict=True))
    found: dict = {}
    for name, value in combined.items():
        label = f"[{list(combined).index(name)}]"
        _walk(value, dynamic_shapes[name], (name,), label, found)
    return found


def _mismatch(text: str) -> None:
    raise UserError(
        UserErrorType.INVALID_INPUT,
        "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
        f"{text}\n{_PAGE}",
    )


def _walk(value, spec, path: tuple, label: str, found: dict) -> None:
    if spec is None:
        return
    if isinstance(value, torch.Tensor):
        found[path] = _of_tensor(value, spec, path)
        return
    if not isinstance(value, (dict, list, tuple)) and pytree.tree_is_leaf(value):
        if isinstance(spec, (_DimHint, int)) or spec is None:
            found[path] = spec
            return
        _mismatch(f"`inputs{label}` is a {type(value)}, but `dynamic_shapes{label}` is a "
                  f"{type(spec)}")  # fmt: skip
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value))
    else:
        children, _ = pytree.tree_flatten(value)
        items = list(enumerate(children))
        if not isinstance(spec, (list, tuple, dict)):
            spec = pytree.tree_flatten(spec)[0]
    if isinstance(value, dict) != isinstance(spec, dict):
        _mismatch(f"`inputs{label}` is a {type(value)}, but `dynamic_shapes{label}` is a "
                  f"{type(spec)}")  # fmt: skip
    if len(items) != len(spec):
        _mismatch(
            f"`inputs{label}` has {len(items)} elements, but `dynamic_shapes{label}` has "
            f"{len(spec)} elements"
        )
    for key, each in items:
        if isinstance(spec, dict) and key not in spec:
            _mismatch(
                f"`inputs{label}` has keys {list(value)}, but `dynamic_shapes{label}` has keys "
                f"{list(spec)}"
            )
        _walk(each, spec[key], (*path, key), f"{label}[{key!r}]", found)


def _of_tensor(tensor, spec, path: tuple) -> dict:
    """Per dimension, what is said about it."""
    shown = f"['{path[0]}']" + "".join(f"[{k!r}]" for k in path[1:])
    if isinstance(spec, dict):
        for i, dim in spec.items():
            if dim is not None and not isinstance(dim, (int, Dim, _DimHint)):
                raise UserError(
                    UserErrorType.INVALID_INPUT,
                    f"Unexpected dimension mapped to index {i} in input tensor shape {spec} "
                    f"specified at `dynamic_shapes{shown}` (expected None, an int, a Dim, "
                    f"Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC,  but got {dim!r} instead)\n{_PAGE}",
                )
            if not -tensor.dim() <= i < tensor.dim():
                raise IndexError("list assignment index out of range")
        return {i % tensor.dim(): dim for i, dim in spec.items()}
    if isinstance(spec, (list, tuple)):
        if len(spec) != tensor.dim():
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"Expected dynamic shape spec {spec} specified at `dynamic_shapes{shown}` to have "
                f"the same length as the actual tensor shape {tensor.shape} (expected "
                f"{tensor.dim()}, but got {len(spec)} instead)\n{_PAGE}",
            )
        return _of_tensor(tensor, dict(enumerate(spec)), path)
    if isinstance(spec, _DimHint):
        return dict.fromkeys(range(tensor.dim()), spec)
    raise UserError(
        UserErrorType.INVALID_INPUT,
        f"Unexpected input tensor shape {spec} specified at `dynamic_shapes{shown}` (expected "
        f"either a list/tuple of dimensions, or a dict mapping indices to dimensions, where each "
        f"dimension is an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC)\n{_PAGE}",
    )


def check_static(spec, size: int, source: str) -> None:
    """Raises where a number is given that is not the size."""
    if isinstance(spec, int) and spec != size:
        raise ConstraintViolationError(
            f"Static shape constraint of {spec} does not match input size of {size}, for {source}"
        )
