"""What a program decides by its dynamic sizes: ranges, sizes bound to numbers or to each other."""

from __future__ import annotations

import hashlib
import math

from ._errors import UserError, UserErrorType
from ._expressions import Expression


class _Unbounded(int):
    """A size without an upper bound."""

    def __repr__(self):
        return "int_oo"

    __str__ = __repr__


UNBOUNDED = _Unbounded(2**62)


class Again(BaseException):
    """The program is to be traced anew: a size turned out to be bound."""


class Symbol:
    """A dynamic size: where it comes from, its value in the sample inputs and its bounds."""

    def __init__(self, name: str, source: str, hint: int, label, kind: str, low, high):
        self.name, self.source, self.hint = name, source, hint
        self.label, self.kind = label, kind  # kind: "named", "AUTO" or "DYNAMIC"
        self.user_low, self.user_high = low, high
        self.low, self.high = max(2, low), high


class ValueRanges:
    """The least and the greatest value of a size."""

    def __init__(self, lower, upper):
        self.lower, self.upper = lower, upper

    def __eq__(self, other):
        return (self.lower, self.upper) == (other.lower, other.upper)

    def __hash__(self):
        return hash((self.lower, self.upper))

    def __repr__(self):
        return f"VR[{self.lower}, {self.upper}]"


class Constraints:
    """The symbols of one export; ``fixed`` and ``relations`` outlive a trace."""

    def __init__(self):
        self.symbols: dict = {}
        self.fixed: dict = {}  # source -> number
        self.relations: dict = {}  # source -> (other source, factor, shift)
        self.violations: list = []
        self.guards: list = []
        self._numbers: set = set()

    def restart(self) -> None:
        """Forgets the symbols of the last trace."""
        self.symbols, self.guards, self._numbers = {}, [], set()

    def symbol_name(self, source: str) -> str:
        """PyTorch's name for the size that comes from ``source``."""
        number = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
        while number in self._numbers:
            number += 1
        self._numbers.add(number)
        return f"s{number}"

    def choices(self) -> list:
        """Values for the symbols: those of the samples, each changed alone, all changed."""
        base = {s.name: s.hint for s in self.symbols.values()}
        others = {s.name: _others(s) for s in self.symbols.values()}
        changed = [{**base, name: values[0]} for name, values in others.items()]
        every = {name: values[1] for name, values in others.items()}
        return [base, *changed, every] if base else [base]

    # What the program asks.

    def holds(self, name: str, a, b) -> bool:
        """Whether a comparison holds; the program is bound to the answer from now on."""
        from ._numbers import _COMPARISONS, _SIGNS, _Symbolic, expression_of, values_of

        count = max(len(x.node.values) for x in (a, b) if isinstance(x, _Symbolic))
        pairs = zip(values_of(a, count), values_of(b, count), strict=True)
        answers = [_COMPARISONS[name](x, y) for x, y in pairs]
        left, right = expression_of(a), expression_of(b)
        if left is None or right is None:
            if len(set(answers)) > 1:
                self.fix(a if isinstance(a, _Symbolic) else b)
            return answers[0]
        difference = left - right
        if (line := difference.affine()) is None:
            if difference.constant() is None and len(set(answers)) > 1:
                self._relate_or_guard(difference, name, answers[0], _SIGNS[name])
            return answers[0]
        self._refine(line, name, answers[0])
        return answers[0]

    def _relate_or_guard(self, difference, name: str, answer: bool, sign: str) -> None:
        if (name == "eq") == answer and name in ("eq", "ne"):
            self.bind(sorted(difference.symbols()))
        self.guards.append((difference, sign, answer))

    def _refine(self, line: tuple, name: str, answer: bool) -> None:
        symbol, factor, shift = self.symbols[line[0]], line[1], line[2]
        if name in ("eq", "ne"):
            at, rest = divmod(-shift, factor)
            if rest or not symbol.low <= at <= symbol.high:
                return
            if symbol.hint == at:
                self.fix_symbol(symbol)
            if at == symbol.low:
                symbol.low += 1
            elif at == symbol.high:
                symbol.high -= 1
            else:
                self.guards.append((Expression.symbol(symbol.name) - at, "==", False))
            return
        if not answer:
            name = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[name]
        # factor * s + shift >= least, or <= most
        if name in ("gt", "ge"):
            bound, lower = (1 if name == "gt" else 0) - shift, factor > 0
        else:
            bound, lower = (-1 if name == "lt" else 0) - shift, factor < 0
        if lower:
            symbol.low = max(symbol.low, math.ceil(bound / factor))
        else:
            symbol.high = min(symbol.high, math.floor(bound / factor))

    def fix(self, number) -> None:
        """Binds all sizes that ``number`` depends on."""
        expression = number.node.expression
        names = expression.symbols() if expression is not None else set(self.symbols)
        for name in sorted(names):
            if name in self.symbols:
                self._fix(self.symbols[name])
        if names:
            raise Again

    def fix_symbol(self, symbol: Symbol) -> None:
        """Binds a size to its value in the samples, and traces again."""
        self._fix(symbol)
        raise Again

    def _fix(self, symbol: Symbol) -> None:
        self.fixed[symbol.source] = symbol.hint
        shown = symbol.label or symbol.source
        if symbol.kind != "AUTO":
            self.violations.append((symbol, _SPECIALIZED.format(shown, symbol.hint),
                                    f"{shown} = {symbol.hint}"))  # fmt: skip

    def bind(self, names: list) -> None:
        """Binds sizes to each other, or else to numbers; traces again."""
        symbols = [self.symbols[n] for n in names if n in self.symbols]
        if len(symbols) == 2:
            order = list(self.symbols)
            first, second = sorted(symbols, key=lambda s: order.index(s.name))
            known = self.relations.get(first.source)
            if known is None:
                self.relations[first.source] = (second.source, first.hint - second.hint)
                self._say_equal(first, second)
                raise Again
        for symbol in symbols:
            self._fix(symbol)
        raise Again

    def _say_equal(self, first: Symbol, second: Symbol) -> None:
        if first.label is None or second.label is None:
            return
        shift = first.hint - second.hint
        text = (
            f"The values of {second.label} = {second.source} and {first.label} = {first.source} "
            "must always be equal."
        )
        if shift:
            text = f"The values of {first.label} = {first.source} must be {second.source} + {shift}"
            self.violations.append((first, text, f"{first.label} = {second.label} + {shift}"))
        else:
            self.violations.append((second, text, f"{second.label} = {first.label}"))

    def failed(self, failing: list) -> None:
        """A call fails at the choices ``failing`` (numbers of them, from 1): which sizes are bound.

        Returns where no single size is to blame.
        """
        names = list(self.symbols)
        alone = [names[i - 1] for i in failing if i <= len(names)]
        self.bind(alone or names)

    # At the end.

    def check(self) -> None:
        """Raises where a named size is bound otherwise than its Dim says."""
        for symbol in self.symbols.values():
            if symbol.kind != "named":
                continue
            low, high = symbol.low, symbol.high
            if low <= max(2, symbol.user_low) and high >= symbol.user_high:
                continue
            bounds = [f"min={low}"] if low > 2 else []
            bounds += [f"max={high}"] if high < UNBOUNDED else []
            greatest = "IntInfinity()" if high >= UNBOUNDED else high
            self.violations.append((
                symbol,
                (
                    f"Not all values of {symbol.label} = {symbol.source} in the specified range "
                    f"satisfy the generated guard {low} <= {symbol.source} and {symbol.source} <= "
                    f"{greatest}"
                ),
                f"{symbol.label} = Dim('{symbol.label}', {', '.join(bounds)})",
            ))  # fmt: skip
        if not self.violations:
            return
        symbols = list(dict.fromkeys(s.label or s.source for s, _, _ in self.violations))
        text = (
            f"Constraints violated ({', '.join(symbols)})! For more information, run with "
            'TORCH_LOGS="+dynamic".\n'
        )
        text += "\n".join(f"  - {each}" for _, each, _ in self.violations)
        fixes = [f"  {fix}" for s, _, fix in self.violations if s.label]
        if fixes:
            text += "\nSuggested fixes:\n" + "\n".join(fixes) + "\n"
        raise UserError(UserErrorType.CONSTRAINT_VIOLATION, text)

    def ranges(self) -> dict:
        """Per symbol, the values it may have."""
        found = {}
        for name, s in self.symbols.items():
            named = s.kind == "named"
            low = s.user_low if named and s.low <= 2 else s.low
            found[Expression.symbol(name)] = ValueRanges(low, s.high)
        return found


_SPECIALIZED = (
    "You marked {0} as dynamic but your code specialized it to be a constant ({1}). If you're "
    "using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, "
    "replace it with either Dim.STATIC or Dim.AUTO."
)


def _others(symbol: Symbol) -> tuple:
    """Two other values for a size, as far as its bounds allow with the same divisors."""
    for step in (5040, 840, 120, 24, 12, 6, 4, 2, 1):
        found = [symbol.hint + step * k for k in (1, 2, -1, -2)]
        found = [v for v in found if symbol.low <= v <= symbol.high]
        if len(found) >= 2:
            return found[0], found[1]
    other = symbol.high if symbol.hint == symbol.low else symbol.low
    return other, other
