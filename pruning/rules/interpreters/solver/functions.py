"""The functions of numbers on Z3 terms, for proofs.

Rounding of integers and decimals, FLOOR, CEIL and SIGN are exact. The others are uninterpreted real
functions that satisfy the axioms below; a number that encloses one may be any number on that side of it.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import z3

from pruning.expressions.trees import Function
from pruning.rules.interpreters.solver.numbers import Term

_POSITIVE = (Function.EXP.value, Function.SQRT.value)


@dataclass(slots=True)
class RealFunctions:
    """Uninterpreted functions of finite reals, by name, and the points at which they are used.

    Attributes:
        points: By Z3's ids of the arguments, which no other terms have while the point keeps these alive.
            Their texts would not do: Z3 prints terms shortened, so that two of them may look alike.
    """

    points: dict[str, dict[tuple[int, ...], tuple[list[Term], Term]]] = field(default_factory=dict)
    enclosures: list[Term] = field(default_factory=list)

    def of(self, name: str, arguments: list[Term]) -> Term:
        """Return the function's value."""
        reals = [z3.RealSort()] * (len(arguments) + 1)
        result = z3.Function(name, *reals)(*arguments)
        self.points.setdefault(name, {})[tuple(argument.get_id() for argument in arguments)] = (
            arguments,
            result,
        )
        return result

    def axioms(self) -> list[Term]:
        """Return MONOTONE of each function, POSITIVE of some, integrality, and the enclosures."""
        terms = list(self.enclosures)
        for name in list(self.points):
            if name == Function.POWER.value:
                terms += self._monotone_powers()
            else:
                terms += self._monotone(name)
            if name.startswith("half "):
                terms += [z3.IsInt(result) for _, result in self.points[name].values()]
            if name.endswith(" digits"):
                terms += [_has_digits(*point, int(name.split()[0])) for point in self.points[name].values()]
            if name in _POSITIVE:
                terms += [result >= 0 for _, result in self.points[name].values()]
            if name == Function.POWER.value:
                positive = [(arguments[0], result) for arguments, result in self.points[name].values()]
                terms += [z3.Implies(base >= 0, result >= 0) for base, result in positive]
        return terms

    def _monotone(self, name: str) -> list[Term]:
        """Return that a function increases, for each pair of points."""
        pairs = itertools.permutations(self.points[name].values(), 2)
        return [
            z3.Implies(_in_order(low, high), low_result <= high_result)
            for (low, low_result), (high, high_result) in pairs
        ]

    def _monotone_powers(self) -> list[Term]:
        """Return that powers of positive bases are monotone, at every base and exponent used."""
        name = Function.POWER.value
        arguments_lists = [arguments for arguments, _ in self.points[name].values()]
        for (base, _), (_, exponent) in itertools.product(arguments_lists, arguments_lists):
            self.of(name, [base, exponent])
        points = list(self.points[name].values())
        terms: list[Term] = [
            z3.Implies(z3.And(base > 0, z3.Or(base == 1, exponent == 0)), result == 1)
            for (base, exponent), result in points
        ]
        for ((base, exponent), result), ((other, other_exponent), other_result) in itertools.permutations(
            points, 2
        ):
            positive = z3.And(base > 0, other > 0)
            if exponent.eq(other_exponent):
                terms += _whole_powers((base, result), (other, other_result), exponent)
                rises = z3.Implies(z3.And(exponent >= 0, base <= other), result <= other_result)
                falls = z3.Implies(z3.And(exponent <= 0, base <= other), result >= other_result)
                terms.append(z3.Implies(positive, z3.And(rises, falls)))
            if base.eq(other):
                rises = z3.Implies(z3.And(base >= 1, exponent <= other_exponent), result <= other_result)
                falls = z3.Implies(z3.And(base <= 1, exponent <= other_exponent), result >= other_result)
                terms.append(z3.Implies(positive, z3.And(rises, falls)))
        return terms


def whole_exponent(exponent: Term) -> int | None:
    """Return a constant exponent that is an integer above zero; None of any other."""
    if not z3.is_rational_value(exponent) or exponent.denominator_as_long() != 1:
        return None
    whole: int = exponent.numerator_as_long()
    return whole if whole > 0 else None


def _whole_powers(low: tuple[Term, Term], high: tuple[Term, Term], exponent: Term) -> list[Term]:
    """Return for any bases that odd powers increase, and even ones with the distance from zero."""
    whole = whole_exponent(exponent)
    if whole is None:
        return []
    (base, result), (other, other_result) = low, high
    if whole % 2:
        signs = [z3.Implies(base <= 0, result <= 0), z3.Implies(base >= 0, result >= 0)]
        return [z3.Implies(base <= other, result <= other_result), *signs]
    sizes = [z3.If(value < 0, -value, value) for value in (base, other)]
    return [z3.Implies(sizes[0] <= sizes[1], result <= other_result), result >= 0]


def _has_digits(arguments: list[Term], result: Term, digits: int) -> Term:
    """Return that an integer of few enough digits is its own nearest, and that signs are kept."""
    (value,) = arguments
    short = z3.And(value >= -(10**digits), value <= 10**digits)
    sign = z3.And(z3.Implies(value >= 0, result >= 0), z3.Implies(value <= 0, result <= 0))
    return z3.And(z3.Implies(short, result == value), sign)


def _in_order(low: list[Term], high: list[Term]) -> Term:
    """Return that arguments ascend; LOG has the base first, which must be the same, and above 1."""
    same = [
        z3.And(low_base == high_base, low_base > 1)
        for low_base, high_base in zip(low[:-1], high[:-1], strict=True)
    ]
    return z3.And(*same, low[-1] <= high[-1])


def rounded_units(function: Function, value: Term, unit: int) -> Term:
    """Return the integer value / unit, rounded down, up, or to nearest."""
    return _UNITS[function](value, unit)


def _half_up(value: Term, unit: int) -> Term:
    """Return the nearest integer of value / unit, halves away from zero."""
    size = z3.If(value < 0, -value, value)
    nearest = (2 * size + unit) / (2 * unit)
    return z3.If(value < 0, -nearest, nearest)


def _half_even(value: Term, unit: int) -> Term:
    """Return the nearest integer of value / unit, halves to even."""
    down, twice_rest = value / unit, 2 * (value - unit * (value / unit))
    up = z3.Or(twice_rest > unit, z3.And(twice_rest == unit, down % 2 != 0))
    return z3.If(up, down + 1, down)


def toward_zero(value: Term, unit: int) -> Term:
    """Return the integer part of value / unit."""
    return z3.If(value < 0, -(-value / unit), value / unit)


_UNITS: Mapping[Function, Callable[[Term, int], Term]] = {
    Function.FLOOR: lambda value, unit: value / unit,
    Function.CEIL: lambda value, unit: -(-value / unit),
    Function.ROUND: _half_up,
    Function.BROUND: _half_even,
}
