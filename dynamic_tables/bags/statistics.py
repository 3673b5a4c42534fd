"""The median, the variance and the standard deviation: computed exactly, and rounded once.

So results do not depend on the order of the rows. The median of an even number of cells is the mean of the
middle two; of exact numbers it has three digits more behind the point, as in Snowflake. Variances and
deviations are doubles; those of a sample are NULL of fewer than two cells.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dynamic_tables.bags.aggregate_signatures import AggregateResolver, AggregateSignature, numeric_argument
from dynamic_tables.values.arithmetic import quotient, with_digit_check
from dynamic_tables.values.cells import EXACT, NAN, canonical
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.key_texts import sort_key
from dynamic_tables.values.types import FLOAT, SCALE_MAX, Kind, Type, decimal

MEDIAN_DIGITS = 3


def median_signature(argument: Type) -> AggregateSignature:
    """Resolve MEDIAN."""
    argument = numeric_argument("MEDIAN", argument)
    if argument.kind is Kind.FLOAT:
        return AggregateSignature(FLOAT, FLOAT, float_median)
    scale = min(argument.scale + MEDIAN_DIGITS, SCALE_MAX)

    def compute(cells: Sequence[int | Decimal]) -> Cell:
        if not cells:
            return None
        low, high = middle_cells(sorted(cells))
        return quotient(EXACT.add(Decimal(low), Decimal(high)), 2, scale)

    return AggregateSignature(decimal(scale), argument, with_digit_check(compute, decimal(scale)))


def middle_cells(ordered: Sequence[Any]) -> tuple[Any, Any]:
    """Return the two cells in the middle, which are one cell if their number is odd."""
    return ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]


def float_median(cells: Sequence[float]) -> Cell:
    """Return the median of doubles, among which NaN is the greatest."""
    if not cells:
        return None
    low, high = middle_cells(sorted(cells, key=sort_key(FLOAT)))
    if not (math.isfinite(low) and math.isfinite(high)):
        return canonical(low + high)
    return canonical(float((Fraction(low) + Fraction(high)) / 2))


def spread_resolver(name: str, spread: Callable[[Fraction], float], *, lost: int) -> AggregateResolver:
    """Return the resolver of a variance or a standard deviation.

    Args:
        spread: Gives the result from the exact variance.
        lost: The number by which the divisor is smaller than the number of cells: 1 for a sample.
    """

    def compute(cells: Sequence[int | float | Decimal]) -> Cell:
        count = len(cells)
        if count <= lost:
            return None
        if not all(map(math.isfinite, cells)):
            return NAN
        exact = list(map(Fraction, cells))
        total = sum(exact, Fraction(0))
        squares = sum((cell * cell for cell in exact), Fraction(0))
        return spread((squares - total * total / count) / (count - lost))

    def resolve(argument: Type) -> AggregateSignature:
        return AggregateSignature(FLOAT, numeric_argument(name, argument), compute)

    return resolve


def nearest_float(value: Fraction) -> float:
    """Return the nearest double; infinity if it is larger than any."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def square_root(value: Fraction) -> float:
    """Return the square root as a double, also of a number that is no double itself."""
    half = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(value / Fraction(4) ** half), half)


STATISTICS: Mapping[str, AggregateResolver] = {
    "median": median_signature,
    "var_samp": spread_resolver("VARIANCE", nearest_float, lost=1),
    "var_pop": spread_resolver("VAR_POP", nearest_float, lost=0),
    "stddev_samp": spread_resolver("STDDEV", square_root, lost=1),
    "stddev_pop": spread_resolver("STDDEV_POP", square_root, lost=0),
}
