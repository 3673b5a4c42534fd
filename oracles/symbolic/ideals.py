"""The values of a symbolic row, and exact arithmetic on them, as Z3 terms."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import z3

from pruning.expressions.trees import Mode
from pruning.expressions.types import Kind, Type

Term: TypeAlias = Any  # z3 has no types of its own

NO, YES, ZERO = z3.BoolVal(False), z3.BoolVal(True), z3.IntVal(0)


def uninterpreted_function(name: str, arguments: list[Term]) -> Term:
    """Return the value of a real function of which nothing is known but its name."""
    return z3.Function(name, *(z3.RealSort() for _ in arguments), z3.RealSort())(*arguments)


@dataclass(frozen=True, slots=True)
class Ideals:
    """The construction of the ideal values that both sides of a proof use.

    Attributes:
        place: Returns the integer term of a byte string's place in the order of bytes.
        rounded: Returns the sign (-1 and 1 are infinities, 0 is finite) and value of a rounded real.
        apply: Applies a real function, by name, to finite reals: `exp`, `ln`, `log10`, `log2`, `log1p`,
            `sqrt`, `log` (of base and number) and `power`, whose results are `rounded` next; `half up N` and
            `half even N`, the integer nearest to 10**N times the number in a double's shortest text; `34
            digits`, the nearest integer with so many digits.
    """

    place: Callable[[bytes], Term]
    rounded: Callable[[Term], tuple[Term, Term]]
    apply: Callable[[str, list[Term]], Term] = uninterpreted_function


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolicValue:
    """The value of an expression on the row.

    If `raises` holds the row is excluded: the expression has no value. Otherwise it is NULL, or NaN, or the
    number `value`, infinite if `sign` is not 0. Booleans are 0 and 1; decimals are unscaled.
    """

    raises: Term
    null: Term
    nan: Term
    value: Term
    sign: Term

    @property
    def true(self) -> Term:
        """True if the value is the boolean TRUE."""
        return z3.And(z3.Not(self.null), self.value == 1)

    @property
    def false(self) -> Term:
        """True if the value is the boolean FALSE."""
        return z3.And(z3.Not(self.null), self.value == 0)

    @property
    def finite(self) -> Term:
        """True if the value is neither NaN nor infinite; it may be NULL."""
        return z3.And(z3.Not(self.nan), self.sign == 0)

    @property
    def infinite(self) -> Term:
        """True if the value is an infinity; it may be NULL."""
        return z3.And(z3.Not(self.nan), self.sign != 0)

    @property
    def zero(self) -> Term:
        """True if the value is the number 0."""
        return z3.And(self.finite, self.value == 0)

    @property
    def direction(self) -> Term:
        """The direction from zero: -1 below, 1 above, else 0; also of infinities."""
        return z3.If(self.sign != 0, self.sign, z3.If(self.value > 0, 1, z3.If(self.value < 0, -1, 0)))


def is_less(left: SymbolicValue, right: SymbolicValue) -> Term:
    """Return whether a value is less than another; NaN is above everything but itself."""
    finite = z3.And(left.sign == 0, right.sign == 0, left.value < right.value)
    numbers = z3.Or(left.sign < right.sign, finite)
    return z3.And(z3.Not(left.nan), z3.Or(right.nan, numbers))


def choose(condition: Term, then: SymbolicValue, otherwise: SymbolicValue) -> SymbolicValue:
    """Return one of two values, by a condition."""
    return SymbolicValue(
        raises=z3.If(condition, then.raises, otherwise.raises),
        null=z3.If(condition, then.null, otherwise.null),
        nan=z3.If(condition, then.nan, otherwise.nan),
        value=z3.If(condition, then.value, otherwise.value),
        sign=z3.If(condition, then.sign, otherwise.sign),
    )


def fit(exact: Term, type_: Type, mode: Mode, *, null: Term, raises: Term) -> SymbolicValue:
    """Fit an exact integer in a type: out of range it raises, wraps around or is NULL, by the mode."""
    least, greatest = limits(type_)
    overflows = z3.And(z3.Not(null), z3.Or(exact < least, exact > greatest))
    if mode is Mode.ANSI:
        raises = z3.Or(raises, overflows)
    elif mode is Mode.TRY or type_.kind is Kind.DECIMAL:
        null = z3.Or(null, overflows)
    else:
        exact = wrap(exact, type_)
    return SymbolicValue(raises=raises, null=null, nan=NO, value=exact, sign=ZERO)


def wrap(exact: Term, type_: Type) -> Term:
    """Return the integer of the type with the same low bits."""
    least, greatest = limits(type_)
    return z3.If(
        z3.And(exact >= least, exact <= greatest), exact, (exact - least) % (greatest - least + 1) + least
    )


def saturate(exact: Term, type_: Type) -> Term:
    """Return the nearest integer of the type."""
    least, greatest = limits(type_)
    return z3.If(exact < least, least, z3.If(exact > greatest, greatest, exact))


def limits(type_: Type) -> tuple[int, int]:
    """Return the least and the greatest integer that represents a value of the type."""
    if type_.kind is Kind.DECIMAL:
        greatest: int = 10**type_.precision - 1
        return -greatest, greatest
    integer_range = type_.integer_range
    assert integer_range is not None
    return integer_range


def magnitude(value: Term) -> Term:
    """Return the absolute value."""
    return z3.If(value < 0, -value, value)


def quotient(dividend: Term, divisor: Term) -> Term:
    """Return an integer quotient, rounded toward zero as in Java."""
    size = magnitude(dividend) / magnitude(divisor)
    return z3.If((dividend < 0) != (divisor < 0), -size, size)


def truncate(value: Term) -> Term:
    """Return the integer part of a real."""
    return z3.If(value < 0, -z3.ToInt(-value), z3.ToInt(value))


def half_up(numerator: Term, denominator: Term) -> Term:
    """Return the integer nearest to a quotient of integers, ties away from zero."""
    size = (2 * magnitude(numerator) + magnitude(denominator)) / (2 * magnitude(denominator))
    return z3.If((numerator < 0) != (denominator < 0), -size, size)


def half_even(numerator: Term, unit: int) -> Term:
    """Return the integer nearest to numerator / unit, ties to the even one."""
    down, rest = numerator / unit, 2 * (numerator % unit)
    return z3.If(z3.Or(rest > unit, z3.And(rest == unit, down % 2 == 1)), down + 1, down)


def at_scale(unscaled: Term, scale: int, target: int) -> Term:
    """Return unscaled * 10**-scale as a count of 10**-target, rounded half away from zero."""
    if target >= scale:
        return unscaled * 10 ** (target - scale)
    return half_up(unscaled, z3.IntVal(10 ** (scale - target)))


def real_of(operand: SymbolicValue, type_: Type) -> Term:
    """Return a finite number of any type as a real."""
    if type_.floating:
        return operand.value
    return z3.ToReal(operand.value) / 10**type_.scale


def round_to_float(ideals: Ideals, exact: Term, *, null: Term, raises: Term) -> SymbolicValue:
    """Round a real to a float (axiom ROUNDING), which may be an infinity."""
    sign, value = ideals.rounded(exact)
    return SymbolicValue(raises=raises, null=null, nan=NO, value=value, sign=sign)


def or_else(outcome: SymbolicValue, *, raises: Term = NO, null: Term = NO, nan: Term = NO) -> SymbolicValue:
    """Return a value that also raises, or is NULL or NaN, under these conditions."""
    return replace(
        outcome,
        raises=z3.Or(outcome.raises, raises),
        null=z3.Or(outcome.null, null),
        nan=z3.Or(outcome.nan, nan),
    )
