"""Runs a module once on tensors without data and writes down what it calls as a graph."""

from __future__ import annotations

import operator

import rushlight as torch
from rushlight import fx
from rushlight.overrides import TorchFunctionMode, _disabled_torch_function_impl

from .._symbols import SymInt, _Symbolic
from . import _calls
from ._constraints import Again
from ._errors import GuardOnDataDependentSymNode
from ._expressions import Expression
from ._numbers import NumberNode, values_of, wrap
from ._programs import SPECIAL, kinds_of_getter


@fx.node.has_side_effect
def exchange_grad_mode(enabled: bool) -> bool:
    """Whether gradients were recorded until now; from now on they are as ``enabled`` says."""
    before = torch.is_grad_enabled()
    torch._C._set_grad_enabled(enabled)
    return before


class TracedSize(tuple):
    """A shape some of whose sizes are numbers of a trace."""

    def __new__(cls, items):
        items = tuple(items)
        made = super().__new__(cls, [i.node.hint if isinstance(i, SymInt) else i for i in items])
        made._items = items
        return made

    def __iter__(self):
        return iter(self._items)

    def __getitem__(self, index):
        found = self._items[index]
        return TracedSize(found) if isinstance(index, slice) else found

    def __add__(self, other):
        return TracedSize((*self._items, *other))

    def __radd__(self, other):
        return TracedSize((*other, *self._items))

    def __eq__(self, other):
        return len(self) == len(other) and all(
            a == b for a, b in zip(self._items, other, strict=True)
        )

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def numel(self):
        """The number of elements."""
        product = 1
        for item in self._items:
            product = product * item
        return product

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self._items))}])"


class FakeTensor(torch.Tensor):
    """What a node's result is like: dtype and sizes, without data."""

    __torch_function__ = _disabled_torch_function_impl

    @property
    def shape(self):
        """The sizes; those that may differ are numbers of the trace."""
        return self._sizes

    @property
    def device(self):
        """Where the data would be."""
        return torch.device("cpu")

    def __repr__(self, **_):
        sizes = ", ".join(map(str, self._sizes)) + ("," if len(self._sizes) == 1 else "")
        return f"FakeTensor(..., size=({sizes}))"


class Entry:
    """A tensor of the trace: the object that the program holds, one per choice, its node."""

    __slots__ = ("constant", "node", "shadows", "tensor")

    def __init__(self, tensor, shadows, node, constant=None):
        self.tensor, self.shadows, self.node, self.constant = tensor, shadows, node, constant


class Recording(TorchFunctionMode):
    """The mode under which the module runs."""

    def __init__(self, trace):
        super().__init__()
        self.trace = trace

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.trace.call(self, func, args, kwargs or {})


class Trace:
    """One run of a module."""

    def __init__(self, constraints):
        self.constraints = constraints
        self.graph = fx.Graph()
        self.entries: dict = {}
        self.kept: list = []
        self.by_values: dict = {}
        self.constants: dict = {}  # node name -> (name in the module, tensor)
        self.attributes: dict = {}  # id of a tensor -> its name in the module
        self.choices: list = [{}]
        self.unbacked = 0
        self.gradient = torch.is_grad_enabled()
        self.changed = None  # the node that gives the mode there was before
        self.last_placeholder = None

    # Tensors.

    def add(self, tensor, shadows, node, constant=None) -> Entry:
        """Notes a tensor of the trace."""
        entry = Entry(tensor, shadows, node, constant)
        self.entries[id(tensor)] = self.entries[id(shadows[0])] = entry
        self.kept.append((tensor, shadows[0]))
        node.meta["val"] = self.described(entry)
        return entry

    def entry(self, tensor) -> Entry:
        """The entry of a tensor; a constant is added where it is none of the trace."""
        found = self.entries.get(id(tensor))
        if found is None:
            if tensor.is_meta:
                raise RuntimeError(
                    "torch.export does not see how a tensor was computed that the program uses: "
                    "a call that cannot be recorded made it"
                )
            name = self.attributes.get(id(tensor))
            if name is None:
                name = f"lifted_tensor_{sum('lifted' in n for n, _ in self.constants.values())}"
            node = self.placeholder("c_" + name.replace(".", "_"))
            self.constants[node.name] = (name, tensor)
            found = self.add(tensor, self.shadows_of(tensor), node)
        return found

    def placeholder(self, name: str):
        """A new input after those there are."""
        if self.last_placeholder is None:
            first = next(iter(self.graph.nodes), None)
            with self.graph.inserting_before(first):
                self.last_placeholder = self.graph.placeholder(name)
        else:
            with self.graph.inserting_after(self.last_placeholder):
                node = self.graph.placeholder(name)
            self.last_placeholder = node
        return self.last_placeholder

    def shadows_of(self, tensor, sizes=None) -> list:
        """Tensors without data like ``tensor``, one per choice; ``sizes`` gives their sizes."""
        made = []
        for k in range(len(self.choices)):
            if sizes is None or not tensor.is_contiguous():
                shape = list(tensor.shape) if sizes is None else [s[k] for s in sizes]
                strides = tensor.stride() if sizes is None else _strides(tensor, shape)
                shadow = torch.empty_strided(shape, strides, dtype=tensor.dtype, device="meta")
            else:
                shape = [s[k] for s in sizes]
                shadow = torch.empty(shape, dtype=tensor.dtype, device="meta")
            made.append(shadow.requires_grad_(tensor.requires_grad))
        return made

    def described(self, entry: Entry):
        """What the node's ``val`` is."""
        made = entry.shadows[0].detach().as_subclass(FakeTensor)
        made._sizes = self.sizes(entry, described=True)
        return made

    # Numbers.

    def number(self, values: tuple, expression, recipe, unbacked: bool = False):
        """A number computed by ``recipe`` (function, arguments); a plain one if it is constant."""
        if not unbacked and all(v == values[0] for v in values):
            return values[0]
        known = self.by_values.get(values) if type(values[0]) is int else None
        if known is not None:
            return known
        if recipe is None:
            return wrap(NumberNode(self, values, expression, None))
        function, args = recipe
        name = getattr(function, "__name__", "number")
        node = self.graph.call_function(function, tuple(map(self.written, args)), name=name)
        made = wrap(NumberNode(self, values, expression, node, unbacked))
        node.meta["val"] = made
        if isinstance(made, SymInt):
            self.by_values[values] = made
        return made

    def sizes(self, entry: Entry, described: bool = False):
        """The shape of a tensor of the trace."""
        shapes = [tuple(s.shape) for s in entry.shadows]
        items = [
            self.size(entry, dim, values, described)
            for dim, values in enumerate(zip(*shapes, strict=True))
        ]
        return TracedSize(items) if any(isinstance(i, SymInt) for i in items) else torch.Size(items)

    def size(self, entry: Entry, dim: int, values: tuple, described: bool):
        """One size: a number, or one of the trace."""
        if all(v == values[0] for v in values):
            return values[0]
        if (known := self.by_values.get(values)) is not None:
            return known
        expression = self.fitted(values)
        if described:
            shown = expression or Expression.symbol(f"size({entry.node}, {dim})")
            return SymInt(NumberNode(self, values, shown, None))
        if expression is not None:
            return self.computed(expression)
        recipe = (torch.ops.aten.sym_size.int, (entry.node, dim))
        return self.number(values, Expression.symbol(f"size({entry.node}, {dim})"), recipe)

    def fitted(self, values: tuple) -> Expression | None:
        """The simplest expression with these values: affine in one size, perhaps with a floor."""
        for name in self.constraints.symbols:
            points = [(c[name], v) for c, v in zip(self.choices, values, strict=True)]
            (x0, y0), *rest = points
            other = next(((x, y) for x, y in rest if x != x0), None)
            if other is None or any((x == x0) and (y != y0) for x, y in rest):
                continue
            top, bottom = other[1] - y0, other[0] - x0
            if all((y - y0) * bottom == top * (x - x0) for x, y in rest) and top:
                return _line(name, top, bottom, x0, y0)
        for one in self.constraints.symbols:
            for two in self.constraints.symbols:
                product = [c[one] * c[two] for c in self.choices]
                factor, rest = divmod(values[0], product[0])
                if not rest and list(values) == [factor * p for p in product]:
                    return Expression.symbol(one) * Expression.symbol(two) * factor
        return None

    def computed(self, expression: Expression):
        """The number of an expression, by nodes."""
        total = None
        for product, factor in reversed(expression.terms):
            part = factor if factor != 1 or not product else None
            for atom in product:
                if isinstance(atom, str):
                    each = self.symbol(atom)
                else:
                    a, b = self.computed(atom[1]), self.computed(atom[2])
                    each = a // b if atom[0] == "//" else a % b
                part = each if part is None else part * each
            total = part if total is None else total + part
        return 0 if total is None else total

    def symbol(self, name: str):
        """The number of a symbol."""
        return self.by_values[tuple(c[name] for c in self.choices)]

    def unknown(self, tensor: Entry, kind: type):
        """A number that is only known when the program runs: ``tensor.item()``."""
        self.unbacked += 1
        values = tuple(kind(self.unbacked * 97 + 7 * k) for k in range(len(self.choices)))
        letter = "u" if kind is int else "zuf"
        name = Expression.symbol(f"{letter}{self.unbacked - 1}")
        return self.number(values, name, (torch.ops.aten.item.default, (tensor.node,)), True)

    def unbacked_bool(self, function, args, text: str):
        """A comparison of a number that is not known yet."""
        values = tuple(
            function(*column)
            for column in zip(*(values_of(a, len(self.choices)) for a in args), strict=True)
        )
        node = self.graph.call_function(function, tuple(map(self.written, args)))
        return wrap(NumberNode(self, values, Expression.symbol(text), node, True))

    def refuse_guard(self, text: str, purpose: str = ""):
        """Raises: the program decides by data."""
        shown = text if purpose != "bool" or any(c in text for c in "<>=!") else f"Ne({text}, 0)"
        raise GuardOnDataDependentSymNode(
            text,
            f"Could not guard on data-dependent expression {shown} (unhinted: {shown}).  "
            "(Size-like symbols: none)\n\nconsider using data-dependent friendly APIs such as "
            "guard_or_false, guard_or_true and statically_known_true.",
        )

    # Calls.

    def call(self, mode, func, args: tuple, kwargs: dict):
        """What a call of the program gives; it is recorded."""
        kind, name = _name_of(func)
        if kind == "get":
            args, name = args[:1], kinds_of_getter(name)
        elif kind == "set":
            return func(*args, **kwargs)
        special = SPECIAL.get(name)
        if special is not None:
            return special(self, func, args, kwargs)
        found = _calls.bind(name, args, kwargs)
        if found is not None:
            return self.record(found, func, args, kwargs)
        if type(func).__name__ == "function":
            with mode:
                return func(*args, **kwargs)
        if kind == "get" or not self.has_tensors(args):
            return self.run(func, args, kwargs)[0]
        self.run(func, args, kwargs)
        raise NotImplementedError(f"torch.export cannot record the call of {name}")

    def has_tensors(self, args) -> bool:
        """Whether a tensor of the trace is among the arguments."""
        return any(isinstance(a, (torch.Tensor, list, tuple)) for a in args)

    def record(self, found: tuple, func, args: tuple, kwargs: dict):
        """Runs a call and adds its node."""
        schema, positional, named = found
        made_of_none = any(a.name == "device" for a in schema.arguments)
        if "device" in kwargs or (made_of_none and not self.of_tensor(schema)):
            kwargs = {**kwargs, "device": "meta"}
        return self.add_node(schema, positional, named, self.run(func, args, kwargs))

    def of_tensor(self, schema) -> bool:
        """Whether the result is where the first argument is."""
        return bool(schema.arguments) and schema.arguments[0].type == "Tensor"

    def add_node(self, schema, positional: tuple, named: dict, results: list):
        """Adds the node of a call with these results, one per choice."""
        self.follow_gradient()
        packet = getattr(torch.ops.aten, schema.name)
        target = getattr(packet, schema.overload_name or "default")
        node = self.graph.call_function(
            target, self.written(tuple(positional)), self.written(named), name=_snake(schema.name)
        )
        return self.noted(node, results)

    def noted(self, node, results: list):
        """The results of a node for the program, as tensors of the trace."""
        first = results[0]
        if isinstance(first, torch.Tensor):
            known = self.entries.get(id(first))
            if known is not None:
                known.node = node
                node.meta["val"] = self.described(known)
                return known.tensor
            if any(r.dim() != first.dim() for r in results):
                self.constraints.failed(
                    [k for k, r in enumerate(results) if k and r.dim() != first.dim()]
                )
            return self.add(first, results, node).tensor
        if isinstance(first, (tuple, list)):
            different = [k for k, r in enumerate(results) if len(r) != len(first)]
            if different:
                self.constraints.failed(different)
            parts = []
            for i in range(len(first)):
                part = self.graph.call_function(operator.getitem, (node, i), name="getitem")
                parts.append(self.noted(part, [r[i] for r in results]))
            return first if all(p is f for p, f in zip(parts, first, strict=True)) else parts
        return first

    def run(self, func, args: tuple, kwargs: dict) -> list:
        """The call at each choice of the sizes."""
        results, failing = [], []
        for k in range(len(self.choices)):
            try:
                results.append(func(*self.at(args, k), **self.at(kwargs, k)))
            except Again:
                raise
            except Exception:
                if k == 0:
                    raise
                failing.append(k)
        if failing:
            self.constraints.failed(failing)
        return results

    def at(self, value, k: int):
        """Arguments with the tensors and numbers of one choice."""
        if isinstance(value, torch.Tensor):
            return self.entry(value).shadows[k]
        if isinstance(value, _Symbolic):
            return value.node.values[k]
        if isinstance(value, TracedSize):
            return torch.Size([self.at(v, k) for v in value])
        if type(value) in (list, tuple):
            return type(value)(self.at(v, k) for v in value)
        if isinstance(value, dict):
            return {key: self.at(v, k) for key, v in value.items()}
        if isinstance(value, slice):
            return slice(*(self.at(v, k) for v in (value.start, value.stop, value.step)))
        return value

    def written(self, value):
        """Arguments with nodes in place of tensors and numbers."""
        if isinstance(value, torch.Tensor):
            return self.entry(value).node
        if isinstance(value, _Symbolic):
            return value.node.fx_node
        if isinstance(value, (list, tuple)):
            made = [self.written(v) for v in value]
            return tuple(made) if type(value) is tuple else made
        if isinstance(value, dict):
            return {key: self.written(v) for key, v in value.items()}
        return value

    def follow_gradient(self) -> None:
        """Notes that no_grad or enable_grad was entered or left."""
        wanted = torch.is_grad_enabled()
        if wanted == self.gradient:
            return
        self.gradient = wanted
        mode = wanted if self.changed is None else self.changed
        node = self.graph.call_function(exchange_grad_mode, (mode,))
        self.changed = node if self.changed is None else None

    def finish(self) -> None:
        """Drops the numbers that nothing uses."""
        for node in reversed(list(self.graph.nodes)):
            computed = isinstance(node.meta.get("val"), _Symbolic)
            unused = node.op == "call_function" and not node.users
            if unused and computed and node.target is not torch.ops.aten.item.default:
                self.graph.erase_node(node)


def _snake(name: str) -> str:
    return "".join(("_" + c.lower()) if c.isupper() else c for c in name).replace("__", "_").strip()


def _strides(tensor, shape) -> list:
    """Strides of dense memory in the order of the tensor's dimensions."""
    order = sorted(range(tensor.dim()), key=lambda d: (tensor.stride(d), -d))
    strides, step = [0] * tensor.dim(), 1
    for d in order:
        strides[d] = step
        step *= max(shape[d], 1)
    return strides


def _line(name: str, top: int, bottom: int, x0: int, y0: int) -> Expression:
    """(top * x + c) // bottom through a point, in lowest terms."""
    from math import gcd

    by = gcd(top, bottom) * (1 if bottom > 0 else -1)
    top, bottom = top // by, bottom // by
    shift = y0 * bottom - top * x0
    return (Expression.symbol(name) * top + shift) // bottom


def _name_of(func) -> tuple:
    name = getattr(func, "__name__", str(func))
    if name in ("__get__", "__set__"):
        return name.strip("_"), getattr(func.__self__, "__name__", name)
    return "call", name
