"""Aggregates of a group of rows; they depend on no order of the rows, floats included."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

from dynamic_tables.maintenance.algebra import Aggregate
from dynamic_tables.values.arithmetic import checked, quotient, quotient_scale
from dynamic_tables.values.cells import EXACT, NAN, canonical, key, ordered
from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.evaluation import compiled
from dynamic_tables.values.expressions import Expression
from dynamic_tables.values.functions import as_type
from dynamic_tables.values.types import BOOLEAN, FLOAT, INTEGER, NUMBERS, PLAIN, Kind, Type
from pruning.errors import InputError

# Of the cells of a group that are not NULL.
Compute: TypeAlias = Callable[[Sequence[Any]], Cell]


@dataclass(frozen=True, slots=True)
class AggregateSignature:
    """An aggregate of one type of argument."""

    result: Type
    argument: Type
    compute: Compute


def numbers(name: str, argument: Type) -> Type:
    """The type of an argument that has to be a number."""
    if argument.kind in (Kind.VARIANT, Kind.NULL):
        return FLOAT if argument.kind is Kind.VARIANT else INTEGER
    if argument.kind not in NUMBERS:
        raise InputError(f"{name} takes numbers, not {argument}: cast it")
    return argument


def counted(argument: Type) -> AggregateSignature:
    """COUNT: how many are not NULL."""
    return AggregateSignature(INTEGER, argument, len)


def counted_if(argument: Type) -> AggregateSignature:
    """COUNT_IF: how many are TRUE."""
    return AggregateSignature(INTEGER, BOOLEAN, sum)


def summed(argument: Type) -> AggregateSignature:
    """SUM; of no cells it is NULL (trap 20)."""
    argument = numbers("SUM", argument)
    add = SUMS[argument.kind]
    return AggregateSignature(
        argument, argument, checked(lambda cells: add(cells) if cells else None, argument)
    )


def averaged(argument: Type) -> AggregateSignature:
    """AVG; of exact numbers it is exact to six more digits, as a quotient is (trap 19)."""
    argument = numbers("AVG", argument)
    if argument.kind is Kind.FLOAT:
        return AggregateSignature(
            FLOAT, FLOAT, lambda cells: float_sum(cells) / len(cells) if cells else None
        )
    add, scale = SUMS[argument.kind], quotient_scale(argument)
    result = Type(Kind.DECIMAL, scale)
    return AggregateSignature(
        result,
        argument,
        checked(lambda cells: quotient(add(cells), len(cells), scale) if cells else None, result),
    )


def exact_sum(cells: Sequence[Decimal]) -> Decimal:
    """A sum of decimals."""
    return reduce(EXACT.add, cells, Decimal(0))


def float_sum(cells: Sequence[float]) -> float:
    """A sum of doubles rounded once, so that no order of the rows and no retraction shows in it (trap 21)."""
    unbounded = [cell for cell in cells if not math.isfinite(cell)]
    if unbounded:
        total = sum(unbounded)
        return total if total == total else NAN
    try:
        return math.fsum(cells) + 0.0
    except OverflowError:  # of a partial sum: the whole may still be a double
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


def extreme(name: str, choose: Callable[..., Any]) -> Callable[[Type], AggregateSignature]:
    """MIN and MAX; NaN is the greatest number."""

    def resolve(argument: Type) -> AggregateSignature:
        if argument.kind in (Kind.ARRAY, Kind.OBJECT, Kind.VARIANT):
            raise InputError(f"{name} takes values that have an order, not {argument}: cast it")
        if argument.kind in PLAIN:
            return AggregateSignature(argument, argument, lambda cells: choose(cells) if cells else None)
        order = ordered(argument)
        return AggregateSignature(
            argument, argument, lambda cells: canonical(choose(cells, key=order)) if cells else None
        )

    return resolve


AGGREGATES: Mapping[str, Callable[[Type], AggregateSignature]] = {
    "count": counted,
    "count_if": counted_if,
    "sum": summed,
    "avg": averaged,
    "min": extreme("MIN", min),
    "max": extreme("MAX", max),
}


def aggregate(name: str, argument: Expression | None, *, distinct: bool = False) -> Aggregate:
    """An aggregate with its argument cast to what it takes; without argument it is COUNT(*).

    Raises:
        InputError: There is no such aggregate, or not of this type.
    """
    if argument is None:
        return Aggregate(name, None, distinct, INTEGER)
    signature = AGGREGATES[name](argument.type)
    return Aggregate(name, as_type(argument, signature.argument), distinct, signature.result)


def compiled_aggregate(one: Aggregate) -> Callable[[Sequence[Row]], Cell]:
    """A function that gives the aggregate of the rows of a group."""
    if one.argument is None:
        return len
    evaluate = compiled(one.argument)
    compute = AGGREGATES[one.function](one.argument.type).compute
    if one.distinct:
        return lambda rows: compute(distinct(present(evaluate, rows)))
    return lambda rows: compute(present(evaluate, rows))


def present(evaluate: Callable[[Row], Any], rows: Sequence[Row]) -> list[Any]:
    """The cells that are not NULL."""
    return [cell for row in rows if (cell := evaluate(row)) is not None]


def distinct(cells: Sequence[Any]) -> list[Any]:
    """Each cell once, as the one that stands for its key."""
    return list({key(cell): canonical(cell) for cell in cells}.values())
