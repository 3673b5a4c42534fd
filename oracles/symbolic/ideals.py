"""What a symbolic row holds, and exact arithmetic on it, as Z3 terms; for `oracles.symbolic.evaluation`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import z3

from pruning.expressions.trees import Mode
from pruning.expressions.types import Kind, Type

Term: TypeAlias = Any  # z3 has no types of its own

NO, YES, ZERO = z3.BoolVal(False), z3.BoolVal(True), z3.IntVal(0)


def uninterpreted(name: str, arguments: list[Term]) -> Term:
    """A real function of reals that nothing is known of but its name."""
    return z3.Function(name, *(z3.RealSort() for _ in arguments), z3.RealSort())(*arguments)


@dataclass(frozen=True, slots=True)
class Ideals:
    """How the ideal values that both sides of a proof talk about are made.

    Attributes:
        place: The integer term of a byte string's place in the order of bytes.
        rounded: The sign (-1 and 1 are infinities, 0 is finite) and value of a rounded real.
        apply: A real function, by name, of finite reals: `exp`, `ln`, `log10`, `log2`, `log1p`,
            `sqrt`, `log` (of base and number) and `power`, whose results are `rounded` next;
            `half up N` and `half even N`, the integer nearest to 10**N times the number that a
            double's shortest text spells; `34 digits`, the nearest integer with so many.
    """

    place: Callable[[bytes], Term]
    rounded: Callable[[Term], tuple[Term, Term]]
    apply: Callable[[str, list[Term]], Term] = uninterpreted


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an expression gives on the row.

    `raises` excludes the row: it has no answer. Otherwise it is NULL, or NaN, or the number
    `value`, infinite where `sign` is not 0. Booleans are 0 and 1; decimals are unscaled.
    """

    raises: Term
    null: Term
    nan: Term
    value: Term
    sign: Term

    @property
    def true(self) -> Term:
        """A boolean that is TRUE."""
        return z3.And(z3.Not(self.null), self.value == 1)

    @property
    def false(self) -> Term:
        """A boolean that is FALSE."""
        return z3.And(z3.Not(self.null), self.value == 0)

    @property
    def finite(self) -> Term:
        """A number that is neither NaN nor infinite; nothing is said of NULL."""
        return z3.And(z3.Not(self.nan), self.sign == 0)

    @property
    def infinite(self) -> Term:
        """One of the two infinities; nothing is said of NULL."""
        return z3.And(z3.Not(self.nan), self.sign != 0)

    @property
    def zero(self) -> Term:
        """The number 0."""
        return z3.And(self.finite, self.value == 0)

    @property
    def direction(self) -> Term:
        """-1 below zero, 1 above, else 0; of infinities too."""
        return z3.If(self.sign != 0, self.sign, z3.If(self.value > 0, 1, z3.If(self.value < 0, -1, 0)))


def less(left: Outcome, right: Outcome) -> Term:
    """NaN is above everything, itself excepted."""
    finite = z3.And(left.sign == 0, right.sign == 0, left.value < right.value)
    numbers = z3.Or(left.sign < right.sign, finite)
    return z3.And(z3.Not(left.nan), z3.Or(right.nan, numbers))


def choose(condition: Term, then: Outcome, otherwise: Outcome) -> Outcome:
    """One of two outcomes."""
    return Outcome(
        raises=z3.If(condition, then.raises, otherwise.raises),
        null=z3.If(condition, then.null, otherwise.null),
        nan=z3.If(condition, then.nan, otherwise.nan),
        value=z3.If(condition, then.value, otherwise.value),
        sign=z3.If(condition, then.sign, otherwise.sign),
    )


def fitted(exact: Term, type_: Type, mode: Mode, *, null: Term, raises: Term) -> Outcome:
    """An exact integer in a type: beyond its limits it raises, wraps round or is NULL."""
    least, greatest = limits(type_)
    overflows = z3.And(z3.Not(null), z3.Or(exact < least, exact > greatest))
    if mode is Mode.ANSI:
        raises = z3.Or(raises, overflows)
    elif mode is Mode.TRY or type_.kind is Kind.DECIMAL:
        null = z3.Or(null, overflows)
    else:
        exact = wrapped(exact, type_)
    return Outcome(raises=raises, null=null, nan=NO, value=exact, sign=ZERO)


def wrapped(exact: Term, type_: Type) -> Term:
    """The integer of the type with the same low bits."""
    least, greatest = limits(type_)
    return z3.If(
        z3.And(exact >= least, exact <= greatest), exact, (exact - least) % (greatest - least + 1) + least
    )


def saturated(exact: Term, type_: Type) -> Term:
    """The nearest integer of the type."""
    least, greatest = limits(type_)
    return z3.If(exact < least, least, z3.If(exact > greatest, greatest, exact))


def limits(type_: Type) -> tuple[int, int]:
    """The least and the greatest integer that stands for a value of the type."""
    if type_.kind is Kind.DECIMAL:
        greatest: int = 10**type_.precision - 1
        return -greatest, greatest
    found = type_.integer_range
    assert found is not None
    return found


def magnitude(value: Term) -> Term:
    """The absolute value."""
    return z3.If(value < 0, -value, value)


def quotient(dividend: Term, divisor: Term) -> Term:
    """An integer division toward zero, as Java's."""
    size = magnitude(dividend) / magnitude(divisor)
    return z3.If((dividend < 0) != (divisor < 0), -size, size)


def truncated(value: Term) -> Term:
    """The integer part of a real."""
    return z3.If(value < 0, -z3.ToInt(-value), z3.ToInt(value))


def half_up(numerator: Term, denominator: Term) -> Term:
    """The integer nearest to a quotient of integers, ties away from zero."""
    size = (2 * magnitude(numerator) + magnitude(denominator)) / (2 * magnitude(denominator))
    return z3.If((numerator < 0) != (denominator < 0), -size, size)


def half_even(numerator: Term, unit: int) -> Term:
    """The integer nearest to numerator / unit, ties to the even one."""
    down, rest = numerator / unit, 2 * (numerator % unit)
    return z3.If(z3.Or(rest > unit, z3.And(rest == unit, down % 2 == 1)), down + 1, down)


def at_scale(unscaled: Term, scale: int, target: int) -> Term:
    """unscaled * 10**-scale as a count of 10**-target, rounded half away from zero."""
    if target >= scale:
        return unscaled * 10 ** (target - scale)
    return half_up(unscaled, z3.IntVal(10 ** (scale - target)))


def real_of(operand: Outcome, type_: Type) -> Term:
    """A finite number of any type as a real."""
    if type_.floating:
        return operand.value
    return z3.ToReal(operand.value) / 10**type_.scale


def rounded(ideals: Ideals, exact: Term, *, null: Term, raises: Term) -> Outcome:
    """A real rounded to a float (axiom ROUNDING), which may reach the infinities."""
    sign, value = ideals.rounded(exact)
    return Outcome(raises=raises, null=null, nan=NO, value=value, sign=sign)


def unless(outcome: Outcome, *, raises: Term = NO, null: Term = NO, nan: Term = NO) -> Outcome:
    """An outcome that raises, or is NULL or NaN, on more rows."""
    return replace(
        outcome,
        raises=z3.Or(outcome.raises, raises),
        null=z3.Or(outcome.null, null),
        nan=z3.Or(outcome.nan, nan),
    )
