"""Aggregates of a group of rows; the results, also of floats, do not depend on the order of the rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

from dynamic_tables.bags.aggregate_signatures import AggregateResolver, AggregateSignature, numeric_argument
from dynamic_tables.bags.listed_aggregates import LISTED
from dynamic_tables.bags.statistics import STATISTICS
from dynamic_tables.maintenance.algebra import Aggregate
from dynamic_tables.values.arithmetic import quotient, quotient_scale, with_digit_check
from dynamic_tables.values.cells import EXACT, NAN, canonical, key
from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.evaluation import compile_expression
from dynamic_tables.values.expressions import Expression
from dynamic_tables.values.functions import as_type
from dynamic_tables.values.key_texts import sort_key
from dynamic_tables.values.types import BOOLEAN, FLOAT, INTEGER, PLAIN, Kind, Type
from pruning.errors import InputError


def count_signature(argument: Type) -> AggregateSignature:
    """Resolve COUNT: the number of cells that are not NULL."""
    return AggregateSignature(INTEGER, argument, len)


def count_if_signature(argument: Type) -> AggregateSignature:
    """Resolve COUNT_IF: the number of cells that are TRUE."""
    return AggregateSignature(INTEGER, BOOLEAN, sum)


def sum_signature(argument: Type) -> AggregateSignature:
    """Resolve SUM, which is NULL of no cells (trap 20)."""
    argument = numeric_argument("SUM", argument)
    add = SUMS[argument.kind]
    return AggregateSignature(
        argument, argument, with_digit_check(lambda cells: add(cells) if cells else None, argument)
    )


def average_signature(argument: Type) -> AggregateSignature:
    """Resolve AVG; of exact numbers it has six digits more than the argument, like a quotient (trap 19)."""
    argument = numeric_argument("AVG", argument)
    if argument.kind is Kind.FLOAT:
        return AggregateSignature(
            FLOAT, FLOAT, lambda cells: float_sum(cells) / len(cells) if cells else None
        )
    add, scale = SUMS[argument.kind], quotient_scale(argument)
    result = Type(Kind.DECIMAL, scale)
    return AggregateSignature(
        result,
        argument,
        with_digit_check(lambda cells: quotient(add(cells), len(cells), scale) if cells else None, result),
    )


def exact_sum(cells: Sequence[Decimal]) -> Decimal:
    """Add decimals exactly."""
    return reduce(EXACT.add, cells, Decimal(0))


def float_sum(cells: Sequence[float]) -> float:
    """Add doubles, rounding once: the order of rows and earlier retractions leave no trace (trap 21)."""
    unbounded = [cell for cell in cells if not math.isfinite(cell)]
    if unbounded:
        total = sum(unbounded)
        return total if total == total else NAN
    try:
        return math.fsum(cells) + 0.0
    except OverflowError:  # of a partial sum only: the whole sum may still be a double
        total_exactly = sum(map(Fraction, cells))
        try:
            return float(total_exactly)
        except OverflowError:
            return math.inf if total_exactly > 0 else -math.inf


SUMS: Mapping[Kind, Callable[[Sequence[Any]], Any]] = {
    Kind.INTEGER: sum,
    Kind.DECIMAL: exact_sum,
    Kind.FLOAT: float_sum,
}


def extreme_signature(name: str, choose: Callable[..., Any]) -> AggregateResolver:
    """Return the resolver of MIN or MAX; NaN is the greatest number."""

    def resolve(argument: Type) -> AggregateSignature:
        if argument.kind in (Kind.ARRAY, Kind.OBJECT, Kind.VARIANT):
            raise InputError(f"{name} takes values that have an order, not {argument}: cast it")
        if argument.kind in PLAIN:
            return AggregateSignature(argument, argument, lambda cells: choose(cells) if cells else None)
        order = sort_key(argument)
        return AggregateSignature(
            argument, argument, lambda cells: canonical(choose(cells, key=order)) if cells else None
        )

    return resolve


def truth_resolver(combine: Callable[[Sequence[bool]], bool]) -> AggregateResolver:
    """Return the resolver of an aggregate of truths, which is NULL of no cells."""

    def compute(cells: Sequence[bool]) -> Cell:
        return combine(cells) if cells else None

    return lambda argument: AggregateSignature(BOOLEAN, BOOLEAN, compute)


AGGREGATES: Mapping[str, AggregateResolver] = {
    "count": count_signature,
    "count_if": count_if_signature,
    "sum": sum_signature,
    "avg": average_signature,
    "min": extreme_signature("MIN", min),
    "max": extreme_signature("MAX", max),
    "bool_or": truth_resolver(any),
    "bool_and": truth_resolver(all),
    "bool_xor": truth_resolver(lambda cells: sum(cells) == 1),
    **STATISTICS,
    **LISTED,
}


def aggregate(name: str, argument: Expression | None, *, distinct: bool = False) -> Aggregate:
    """Build an aggregate whose argument is cast to the type that it takes; without argument it is COUNT(*).

    Raises:
        InputError: There is no such aggregate for this type.
    """
    if argument is None:
        return Aggregate(name, None, distinct, INTEGER)
    signature = AGGREGATES[name](argument.type)
    return Aggregate(name, as_type(argument, signature.argument), distinct, signature.result)


def compile_aggregate(aggregate: Aggregate) -> Callable[[Sequence[Row]], Cell]:
    """Return a function that computes the aggregate over the rows of a group."""
    if aggregate.argument is None:
        return len
    evaluate = compile_expression(aggregate.argument)
    compute = AGGREGATES[aggregate.function](aggregate.argument.type).compute
    if aggregate.distinct:
        return lambda rows: compute(distinct_cells(non_null_cells(evaluate, rows)))
    return lambda rows: compute(non_null_cells(evaluate, rows))


def non_null_cells(evaluate: Callable[[Row], Any], rows: Sequence[Row]) -> list[Any]:
    """Return the values of an expression over the rows, without NULLs."""
    return [cell for row in rows if (cell := evaluate(row)) is not None]


def distinct_cells(cells: Sequence[Any]) -> list[Any]:
    """Return the distinct cells, each as the canonical cell of its key."""
    return list({key(cell): canonical(cell) for cell in cells}.values())
