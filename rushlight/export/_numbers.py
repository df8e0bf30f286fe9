"""Numbers of a trace: each holds its value at several choices of the dynamic sizes at once.

Note [Probes]
A program is traced on tensors without data, several times side by side: once at the sizes of the
sample inputs, and at other choices of its dynamic sizes (one symbol changed, all changed). A size
that comes out the same at all of them is a constant; one that does not is a number of the trace,
and two numbers with the same values are the same expression. What fails at another choice only, or
what the program decides by such a number, shows which sizes it is bound to.
"""

from __future__ import annotations

import operator

from .._symbols import SymBool, SymFloat, SymInt, _Symbolic
from ._expressions import Expression

_FUNCTIONS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "mod": operator.mod,
    "floordiv": operator.floordiv, "truediv": operator.truediv, "pow": operator.pow,
    "neg": operator.neg, "abs": operator.abs,
}  # fmt: skip
_COMPARISONS = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


def values_of(x, count: int) -> tuple:
    """The values of a number, traced or not, at each choice."""
    return x.node.values if isinstance(x, _Symbolic) else (x,) * count


def expression_of(x):
    """The expression of a whole number, else None."""
    if isinstance(x, _Symbolic):
        return x.node.expression
    return Expression.number(x) if isinstance(x, int) else None


class NumberNode:
    """What a traced number is: its values, its expression and the node that computes it."""

    def __init__(self, trace, values: tuple, expression, fx_node, unbacked: bool = False):
        self.trace = trace
        self.values = values
        self.expression = expression
        self.fx_node = fx_node
        self.unbacked = unbacked

    @property
    def expr(self):
        """The expression."""
        return self.expression

    @property
    def hint(self):
        """The value for the sample inputs."""
        return self.values[0]

    def __str__(self):
        return str(self.expression) if self.expression is not None else str(self.fx_node)

    def apply(self, name: str, *args):
        """The result of an operation on numbers, one of which is this."""
        if not all(isinstance(a, (int, float, _Symbolic)) for a in args):
            return NotImplemented
        if name in _COMPARISONS:
            return self._compare(name, *args)
        columns = zip(*(values_of(a, len(self.values)) for a in args), strict=True)
        function = _function(name)
        values = tuple(function(*column) for column in columns)
        unbacked = any(isinstance(a, _Symbolic) and a.node.unbacked for a in args)
        return self.trace.number(
            values, _combined(name, args), (function, args), unbacked=unbacked
        )

    def _compare(self, name: str, a, b):
        for each in (a, b):
            if isinstance(each, _Symbolic) and each.node.unbacked:
                function = _COMPARISONS[name]
                return self.trace.unbacked_bool(function, (a, b), f"{a} {_SIGNS[name]} {b}")
        return self.trace.constraints.holds(name, a, b)

    def decide(self, number, purpose: str):
        """The value, to which the program is bound from now on."""
        if self.unbacked:
            self.trace.refuse_guard(str(self), purpose)
        if purpose == "bool":
            return bool(self._compare("ne", number, 0))
        self.trace.constraints.fix(number)
        return self.values[0]


_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def _function(name: str):
    import rushlight as torch

    special = {
        "trunc": torch.sym_int, "sym_float": torch.sym_float, "sym_not": torch.sym_not,
        "sym_max": torch.sym_max, "sym_min": torch.sym_min, "sym_sqrt": torch.sym_sqrt,
    }  # fmt: skip
    return _FUNCTIONS.get(name) or special[name]


def _combined(name: str, args) -> Expression | None:
    parts = [expression_of(a) for a in args]
    if any(p is None for p in parts):
        return None
    if name in ("add", "sub", "mul", "floordiv", "mod", "neg"):
        return getattr(parts[0], f"__{name}__")(*parts[1:])
    if name in ("sym_max", "sym_min"):
        return parts[0].extreme(name[4:], parts[1])
    if name == "pow" and isinstance(args[1], int) and 0 < args[1] < 5:
        product = parts[0]
        for _ in range(args[1] - 1):
            product = product * parts[0]
        return product
    return None


def wrap(node: NumberNode):
    """The object that programs see."""
    kind = {int: SymInt, float: SymFloat, bool: SymBool}[type(node.values[0])]
    return kind(node)
