"""Functions in Python for what Spark does not compute exactly as this project defines it.

The functions are the ones that the backend in Python uses. Spark may compute a deterministic function for
rows that a condition above leaves out; these may fail there, so that Spark is not told that they are
deterministic.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, LongType, StringType, StructField, StructType

from dynamic_tables.bags.aggregates import AGGREGATES, distinct_cells
from dynamic_tables.bags.operators import element_finder
from dynamic_tables.bags.windows import compile_windows
from dynamic_tables.maintenance.algebra import Aggregate, Explode, Scan, WindowFunction
from dynamic_tables.on_spark.frames import ROW_ID, cell, cell_name
from dynamic_tables.on_spark.physical_types import (
    encode,
    from_spark,
    row_from_spark,
    row_to_spark,
    spark_type,
    to_spark,
)
from dynamic_tables.values.arithmetic import quotient, with_digit_check
from dynamic_tables.values.cells import canonical_variant
from dynamic_tables.values.evaluation import compile_expression
from dynamic_tables.values.expressions import Expression, Literal, columns_of, remap_columns
from dynamic_tables.values.key_texts import value_text
from dynamic_tables.values.types import VARIANT, Type


class PythonFunction(ABC):
    """A function that is sent to Python workers, which prepare it once for many rows."""

    @cached_property
    def run(self) -> Callable[..., Any]:
        """The prepared function, from values of Spark to a value of Spark."""
        return self.prepare()

    @abstractmethod
    def prepare(self) -> Callable[..., Any]:
        """Return the function."""

    def __call__(self, *values: Any) -> Any:
        """Call the function."""
        return self.run(*values)

    def column(self, result: DataType, *arguments: Column, deterministic: bool = False) -> Column:
        """Return the column of the function's results."""
        function = F.udf(self, result, useArrow=False)
        called: Column = (function if deterministic else function.asNondeterministic())(*arguments)
        return called


class ExpressionFunction(PythonFunction):
    """The value of an expression, from the values of its columns."""

    def __init__(self, expression: Expression, types: Sequence[Type]) -> None:
        self.expression = expression
        self.types = types

    def prepare(self) -> Callable[..., Any]:
        """Return the function."""
        evaluate, convert = compile_expression(self.expression), row_from_spark(self.types)
        result = to_spark(self.expression.type)
        return lambda *values: result(evaluate(convert(values)))


def evaluated_in_python(expression: Expression, types: Sequence[Type]) -> Column:
    """Return an expression over a frame with cells of these types."""
    places = sorted(columns_of(expression))
    moved = remap_columns(expression, {place: new for new, place in enumerate(places)})
    function = ExpressionFunction(moved, [types[place] for place in places])
    return function.column(spark_type(expression.type), *map(cell, places))


class KeyText(PythonFunction):
    """The text of a list, an object or a variant as a key."""

    def prepare(self) -> Callable[..., Any]:
        """Return the function."""
        convert = from_spark(VARIANT)
        return lambda value: None if value is None else value_text(convert(value))


class Canonical(PythonFunction):
    """The canonical value of a list, an object or a variant."""

    def prepare(self) -> Callable[..., Any]:
        """Return the function."""
        convert = from_spark(VARIANT)
        return lambda value: None if value is None else encode(canonical_variant(convert(value)))


class Elements(PythonFunction):
    """The elements of a list or the members of an object, with a text that identifies each."""

    TYPE = ArrayType(
        StructType(
            [
                StructField("part", StringType()),
                StructField("key", StringType()),
                StructField("index", LongType()),
                StructField("value", StringType()),
                StructField("path", StringType()),
                StructField("this", StringType()),
            ]
        )
    )

    def __init__(self, relation: Explode) -> None:
        # The relation without its input, which is as large as the query.
        self.relation = replace(relation, child=Scan("", ()), elements=Literal(None, VARIANT))

    def prepare(self) -> Callable[..., Any]:
        """Return the function."""
        convert, result = from_spark(VARIANT), to_spark(VARIANT)
        parts_of, detailed = element_finder(self.relation), self.relation.detailed

        def run(value: Any) -> list[tuple[Any, ...]]:
            parts = parts_of(convert(value))
            rows = []
            for part, (key, index, element, *details) in parts:
                path, this = (details[0], result(details[1])) if detailed else (None, None)
                rows.append((part, key, index, result(element), path, this))
            return rows

        return run


class AggregateOfList(PythonFunction):
    """An aggregate of a list of cells."""

    def __init__(self, aggregate: Aggregate, argument: Type) -> None:
        self.function = aggregate.function
        self.distinct = aggregate.distinct
        self.result = aggregate.type
        self.argument = argument

    def prepare(self) -> Callable[..., Any]:
        """Return the function."""
        convert, result = from_spark(self.argument), to_spark(self.result)
        compute = AGGREGATES[self.function](self.argument).compute

        def run(values: Sequence[Any]) -> Any:
            cells = [convert(value) for value in values]
            return result(compute(distinct_cells(cells) if self.distinct else cells))

        return run


class Average(PythonFunction):
    """The average of exact numbers, from their sum and their number."""

    def __init__(self, result: Type, argument: Type) -> None:
        self.result = result
        self.argument = argument

    def prepare(self) -> Callable[..., Any]:
        """Return the function."""
        total, result = from_spark(self.argument), to_spark(self.result)
        divide = with_digit_check(quotient, self.result)
        return lambda sum_, count: (
            None if sum_ is None else result(divide(total(sum_), count, self.result.scale))
        )


class Windows(PythonFunction):
    """The window functions of each row of a partition, in the order of the rows."""

    def __init__(self, functions: tuple[WindowFunction, ...], types: Sequence[Type]) -> None:
        self.functions = functions
        self.types = types

    @property
    def type(self) -> DataType:
        """The type of the results: a list with a value of each function for each row."""
        fields = [
            StructField(cell_name(len(self.types) + place), spark_type(function.type))
            for place, function in enumerate(self.functions)
        ]
        return ArrayType(StructType([StructField(ROW_ID, StringType()), *fields]))

    def prepare(self) -> Callable[..., Any]:
        """Return the function."""
        convert, add = row_from_spark(self.types), compile_windows(self.functions)
        result = row_to_spark([function.type for function in self.functions])
        width = len(self.types)

        def run(members: Sequence[Any]) -> list[tuple[Any, ...]]:
            rows = [(member[0], convert(member[1:])) for member in members]
            return [(row_id, *result(row[width:])) for row_id, row in add(rows)]

        return run
