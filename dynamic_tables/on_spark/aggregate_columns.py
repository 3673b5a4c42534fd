"""Aggregates of groups in Spark: Spark's own where they are exact, else Python over the list of the cells."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, DataType, DecimalType, IntegerType, LongType, ShortType

from dynamic_tables.maintenance.algebra import Aggregate
from dynamic_tables.on_spark.physical_types import spark_type
from dynamic_tables.on_spark.python_functions import AggregateOfList, Average
from dynamic_tables.values.types import EXACT_NUMBERS, Type

# The sum of fewer rows than 10^10 with no more digits than these has no more digits than a decimal of Spark.
DIGITS_SUMMED = 28
LONG_DIGITS = 19


@dataclass(frozen=True)
class AggregateColumns:
    """An aggregate as aggregates of Spark, and what is computed of their results.

    Attributes:
        partial: The aggregates of Spark.
        finish: Gives the result, from the columns of these aggregates.
    """

    partial: tuple[Column, ...]
    finish: Callable[..., Column] = lambda column: column


# Builds an aggregate from the column of its argument and that column's type in Spark; None if Spark's own
# would not be exact.
Native: TypeAlias = Callable[[Aggregate, Column, DataType], AggregateColumns | None]


def aggregate_columns(aggregate: Aggregate, argument: Column, stored: DataType) -> AggregateColumns:
    """Return an aggregate of a group.

    Args:
        argument: The column of its computed argument; canonical if the aggregate is of distinct cells.
        stored: The type of that column in Spark.
    """
    native = NATIVE.get(aggregate.function)
    exact = None if native is None else native(aggregate, argument, stored)
    return aggregate_of_list(aggregate, argument) if exact is None else exact


def argument_type(aggregate: Aggregate) -> Type:
    """Return the type of the cells that are aggregated; COUNT(*) has its own."""
    return aggregate.type if aggregate.argument is None else aggregate.argument.type


def count(aggregate: Aggregate, argument: Column, stored: DataType) -> AggregateColumns:
    """Return COUNT."""
    return AggregateColumns((F.count_distinct(argument) if aggregate.distinct else F.count(argument),))


def count_if(aggregate: Aggregate, argument: Column, stored: DataType) -> AggregateColumns:
    """Return COUNT_IF."""
    return AggregateColumns((F.count(F.when(argument, F.lit(1))),))


def total(aggregate: Aggregate, argument: Column, stored: DataType) -> AggregateColumns | None:
    """Return SUM, of numbers that are so short that their sum has no more digits than Spark holds."""
    column = exact_sum(aggregate, argument, stored)
    return None if column is None else AggregateColumns((column,))


def average(aggregate: Aggregate, argument: Column, stored: DataType) -> AggregateColumns | None:
    """Return AVG: the exact sum divided by the number of cells, in Python."""
    column = exact_sum(aggregate, argument, stored)
    if column is None:
        return None
    number = F.count_distinct(argument) if aggregate.distinct else F.count(argument)
    quotient = Average(aggregate.type, argument_type(aggregate))
    return AggregateColumns(
        (column, number), lambda *columns: quotient.column(spark_type(aggregate.type), *columns)
    )


def exact_sum(aggregate: Aggregate, argument: Column, stored: DataType) -> Column | None:
    """Return the sum of exact numbers; None if it may have too many digits on the way, or is of doubles."""
    type_ = argument_type(aggregate)
    count = digit_count(stored)
    if type_.kind not in EXACT_NUMBERS or count is None or count > DIGITS_SUMMED:
        return None
    cells = argument.cast(DecimalType(count, type_.scale))
    return (F.sum_distinct(cells) if aggregate.distinct else F.sum(cells)).cast(spark_type(type_))


def digit_count(stored: DataType) -> int | None:
    """Return the number of digits that numbers in a column of Spark may have; None if they are doubles."""
    if isinstance(stored, DecimalType):
        return int(stored.precision)
    return LONG_DIGITS if isinstance(stored, (ByteType, ShortType, IntegerType, LongType)) else None


def extreme(choose: Callable[[Column], Column]) -> Native:
    """Return MIN or MAX, for which Spark has the same order of cells."""
    return lambda aggregate, argument, stored: AggregateColumns((choose(argument),))


def aggregate_of_list(aggregate: Aggregate, argument: Column) -> AggregateColumns:
    """Return an aggregate that Python computes of the cells that are not NULL."""
    computed = AggregateOfList(aggregate, argument_type(aggregate))
    return AggregateColumns(
        (F.collect_list(argument),), lambda cells: computed.column(spark_type(aggregate.type), cells)
    )


# The aggregates that Spark has, too; Python computes all others.
NATIVE: Mapping[str, Native] = {
    "count": count,
    "count_if": count_if,
    "sum": total,
    "avg": average,
    "min": extreme(F.min),
    "max": extreme(F.max),
    "bool_and": extreme(F.min),
    "bool_or": extreme(F.max),
}
