"""Values and bounds as Z3 terms, for proofs."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import z3

from pruning.expressions.types import Kind, Type, Value

Term: TypeAlias = Any  # z3 has no types of its own

_ZERO = z3.IntVal(0)


@dataclass(frozen=True, slots=True)
class Number:
    """A value: finite (`sign` 0) with `value`, or the infinity of that sign, whatever `value` is."""

    value: Term
    sign: Term

    @property
    def is_zero(self) -> bool:
        """True if it is the constant 0."""
        return bool(
            z3.is_rational_value(self.value) and self.value.as_fraction() == 0 and self.sign.eq(_ZERO)
        )

    def times_sign(self, factor: int) -> "Number":
        """Return the number times 1 or -1."""
        return Number(factor * self.value, factor * self.sign)

    def less(self, other: "Number") -> Term:
        """Return `self < other`."""
        finite = z3.And(self.sign == 0, other.sign == 0, self.value < other.value)
        return z3.Or(self.sign < other.sign, finite)

    def at_most(self, other: "Number") -> Term:
        """Return `self <= other`."""
        return z3.Not(other.less(self))

    def choose(self, flag: Term, otherwise: "Number") -> "Number":
        """Return the number where the flag holds, else the other."""
        return Number(z3.If(flag, self.value, otherwise.value), z3.If(flag, self.sign, otherwise.sign))


@dataclass(frozen=True, slots=True)
class Bounded:
    """A bound: `known` says whether `number` means anything."""

    known: Term
    number: Number

    def choose(self, flag: Term, otherwise: "Bounded") -> "Bounded":
        """Return the bound where the flag holds, else the other."""
        return Bounded(z3.If(flag, self.known, otherwise.known), self.number.choose(flag, otherwise.number))


Cell: TypeAlias = "Term | Bounded"


def unscaled_integer(value: Value, type_: Type) -> int:
    """Return the integer that represents a value: a decimal without its point, others as they are."""
    assert not isinstance(value, bytes)
    return int(Fraction(value) * 10**type_.scale)


def limits_of(type_: Type) -> tuple[int, int] | None:
    """Return the least and the greatest integer that represents a value of the type, if there are such."""
    if type_.kind is Kind.DECIMAL:
        greatest: int = 10**type_.precision - 1
        return -greatest, greatest
    return (0, 1) if type_.kind is Kind.BOOLEAN else type_.integer_range
