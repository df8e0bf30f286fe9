"""Whole-number expressions over symbols, in a normal form: sums of products, floors inside."""

from __future__ import annotations

import functools


class Expression:
    """A sum: per product of atoms (a sorted tuple), its coefficient.

    An atom is the name of a symbol, or (operation, expression, expression) where the operation is
    "//", "%", "max" or "min".
    """

    __slots__ = ("terms",)

    def __init__(self, terms: dict):
        self.terms = tuple(sorted(((k, v) for k, v in terms.items() if v), key=_order))

    @staticmethod
    def symbol(name: str) -> Expression:
        """The symbol itself."""
        return Expression({(name,): 1})

    @staticmethod
    def number(value: int) -> Expression:
        """A constant."""
        return Expression({(): value})

    @staticmethod
    def of(value) -> Expression:
        """``value`` as an expression."""
        return value if isinstance(value, Expression) else Expression.number(value)

    def __eq__(self, other):
        return isinstance(other, Expression) and self.terms == other.terms

    def __hash__(self):
        return hash(self.terms)

    def __add__(self, other):
        terms = dict(self.terms)
        for product, factor in Expression.of(other).terms:
            terms[product] = terms.get(product, 0) + factor
        return Expression(terms)

    __radd__ = __add__

    def __neg__(self):
        return Expression({k: -v for k, v in self.terms})

    def __sub__(self, other):
        return self + -Expression.of(other)

    def __rsub__(self, other):
        return Expression.of(other) - self

    def __mul__(self, other):
        terms: dict = {}
        for a, x in self.terms:
            for b, y in Expression.of(other).terms:
                product = tuple(sorted(a + b, key=str))
                terms[product] = terms.get(product, 0) + x * y
        return Expression(terms)

    __rmul__ = __mul__

    def __floordiv__(self, other):
        other = Expression.of(other)
        if self == other:
            return Expression.number(1)
        if (by := other.constant()) is not None and by != 0:
            if all(factor % by == 0 for _, factor in self.terms):
                return Expression({k: v // by for k, v in self.terms})
            if (value := self.constant()) is not None:
                return Expression.number(value // by)
        return Expression({(("//", self, other),): 1})

    def __mod__(self, other):
        other = Expression.of(other)
        if (by := other.constant()) is not None and by != 0:
            if all(factor % by == 0 for _, factor in self.terms):
                return Expression.number(0)
            if (value := self.constant()) is not None:
                return Expression.number(value % by)
        return Expression({(("%", self, other),): 1})

    def extreme(self, name: str, other) -> Expression:
        """The larger ("max") or the smaller ("min") of both."""
        return Expression({((name, self, Expression.of(other)),): 1})

    def constant(self) -> int | None:
        """Its value if it has no symbols."""
        if not self.terms:
            return 0
        (product, factor), *more = self.terms
        return factor if not product and not more else None

    def is_symbol(self) -> bool:
        """Whether it is one symbol and nothing else."""
        return len(self.terms) == 1 and self.terms[0][1] == 1 and isinstance(self.atom(), str)

    def atom(self):
        """The only atom of the only product, else None."""
        product = self.terms[0][0] if len(self.terms) == 1 else ()
        return product[0] if len(product) == 1 else None

    def affine(self) -> tuple | None:
        """(name, factor, constant) if it is ``factor * name + constant``."""
        rest = [(k, v) for k, v in self.terms if k]
        if len(rest) != 1 or len(rest[0][0]) != 1 or not isinstance(rest[0][0][0], str):
            return None
        return rest[0][0][0], rest[0][1], dict(self.terms).get((), 0)

    def symbols(self) -> set:
        """Names of the symbols in it."""
        found: set = set()
        for product, _ in self.terms:
            for atom in product:
                found |= {atom} if isinstance(atom, str) else atom[1].symbols() | atom[2].symbols()
        return found

    def value(self, known: dict) -> int:
        """Its value for these values of the symbols."""
        return sum(
            functools.reduce(lambda x, atom: x * _value(atom, known), product, factor)
            for product, factor in self.terms
        )

    def replace(self, known: dict) -> Expression:
        """With expressions in place of symbols."""
        total = Expression.number(0)
        for product, factor in self.terms:
            part = Expression.number(factor)
            for atom in product:
                part = part * _replaced(atom, known)
            total = total + part
        return total

    def text(self, name=str, shown=False) -> str:
        """As PyTorch writes it (``shown``) or as Python; ``name`` gives the symbols' names."""
        parts = []
        for product, factor in self.terms:
            body = "*".join(_atom_text(a, name, shown, len(product) > 1 or factor != 1)
                            for a in product)  # fmt: skip
            if not body:
                body = str(abs(factor))
            elif abs(factor) != 1:
                body = f"{abs(factor)}*{body}"
            sign = "-" if factor < 0 else "+"
            parts.append(f" {sign} {body}" if parts else ("-" if factor < 0 else "") + body)
        return "".join(parts) or "0"

    def __str__(self):
        return self.text(shown=True)

    __repr__ = __str__


def _order(term) -> tuple:
    product, factor = term
    return (not product, -len(product), factor < 0, [str(a) for a in product])


def _value(atom, known: dict) -> int:
    if isinstance(atom, str):
        return known[atom]
    name, a, b = atom[0], atom[1].value(known), atom[2].value(known)
    if name == "//":
        return a // b
    return a % b if name == "%" else (max if name == "max" else min)(a, b)


def _replaced(atom, known: dict) -> Expression:
    if isinstance(atom, str):
        return Expression.of(known.get(atom, Expression.symbol(atom)))
    name, a, b = atom[0], atom[1].replace(known), atom[2].replace(known)
    if name in ("max", "min"):
        return a.extreme(name, b)
    return a // b if name == "//" else a % b


def _atom_text(atom, name, shown: bool, inside: bool) -> str:
    if isinstance(atom, str):
        return name(atom)
    kind, a, b = atom
    left, right = a.text(name, shown), b.text(name, shown)
    if kind in ("max", "min"):
        return f"{kind.capitalize() if shown else kind}({right}, {left})"
    left = left if a.atom() or a.constant() is not None else f"({left})"
    right = right if b.atom() or b.constant() is not None else f"({right})"
    if kind == "%":
        return f"Mod({left}, {right})" if shown else f"({left} % {right})"
    return f"(({left}//{right}))" if shown else f"({left} // {right})"
