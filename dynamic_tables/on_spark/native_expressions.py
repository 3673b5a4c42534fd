"""Expressions as Spark's own functions, where these compute exactly the same.

Anything else is computed by `python_functions`, the whole expression at once: Spark computes a function of
Python for each row, also where a CASE or an AND around it would leave it out.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F

from dynamic_tables.on_spark.frames import RowFrame, cell
from dynamic_tables.on_spark.physical_types import ENCODED, encode, spark_type
from dynamic_tables.on_spark.python_functions import evaluated_in_python
from dynamic_tables.values.errors import UserError
from dynamic_tables.values.evaluation import compile_expression
from dynamic_tables.values.expressions import Call, Case, Cast, Expression, Literal, columns_of
from dynamic_tables.values.expressions import Column as CellOf
from dynamic_tables.values.types import (
    EXACT_NUMBERS,
    PLAIN,
    Kind,
    Type,
)

# Spark keeps this many digits behind the point whenever it has to drop some.
SCALE_KEPT = 6
LONG = range(-(2**63), 2**63)
# Builds the column of a call from its arguments; None if Spark does not compute the same.
Native: TypeAlias = Callable[[Call, Sequence[Column]], Column | None]


def lower_expression(expression: Expression, frame: RowFrame) -> Column:
    """Return the column of an expression over the rows of a frame."""
    native = native_column(expression)
    return evaluated_in_python(expression, frame.types) if native is None else native


def native_column(expression: Expression) -> Column | None:
    """Return an expression in Spark's own functions; None if these do not compute exactly the same."""
    match expression:
        case CellOf():
            return cell(expression.index)
        case Literal():
            return literal(expression.value, expression.type)
        case Case():
            return native_case(expression)
        case Cast():
            return native_cast(expression)
        case Call():
            return native_call(expression)


def constant(expression: Expression) -> Column | None:
    """Return the value of an expression without columns; None if it has some, or fails."""
    if columns_of(expression):
        return None
    try:
        return literal(compile_expression(expression)(()), expression.type)
    except UserError:
        return None


def literal(value: Any, type_: Type) -> Column:
    """Return a constant."""
    column_type = spark_type(type_)
    if value is None:
        return F.lit(None).cast(column_type)
    if type_.kind in ENCODED:
        return F.lit(encode(value))
    match value:
        case bool() | str() | date() if not isinstance(value, datetime):
            return F.lit(value)
        case int() if value in LONG:
            return F.lit(value)
        case int() | Decimal():
            return F.lit(format(Decimal(value), "f")).cast(column_type)
        case float():
            return F.lit(repr(value)).cast(column_type)
        case bytes():
            return F.unhex(F.lit(value.hex()))
    return F.lit(value.isoformat(sep=" ")).cast(column_type)


def native_case(expression: Case) -> Column | None:
    """Return a CASE, of which Spark computes no more branches than it takes."""
    parts = [part for branch in expression.branches for part in branch]
    columns = native_columns([*parts, expression.otherwise])
    if columns is None:
        return None
    *pairs, otherwise = columns
    chosen = F.when(pairs[0], pairs[1])
    for when, then in zip(pairs[2::2], pairs[3::2], strict=True):
        chosen = chosen.when(when, then)
    return chosen.otherwise(otherwise)


def native_columns(expressions: Sequence[Expression]) -> list[Column] | None:
    """Return several expressions in Spark's own functions; None if one is not computed exactly the same."""
    columns = [native_column(expression) for expression in expressions]
    exact = [column for column in columns if column is not None]
    return exact if len(exact) == len(columns) else None


def native_cast(expression: Cast) -> Column | None:
    """Return a cast between types whose values Spark converts in the same way."""
    operand, wanted = expression.operand, expression.type
    value = constant(expression)
    if value is not None:
        return value
    column = native_column(operand)
    if column is None or expression.lenient:
        return None
    if operand.type == wanted:
        return column
    exact = CASTS.get(wanted.kind)
    if exact is None or operand.type.kind not in exact:
        return None
    if wanted.kind is Kind.TEXT and operand.type.scale > SCALE_KEPT:
        return None
    return column.cast(spark_type(wanted))


# For each type, the types from which Spark casts to it as this project does.
CASTS: Mapping[Kind, frozenset[Kind]] = {
    Kind.INTEGER: EXACT_NUMBERS,
    Kind.DECIMAL: EXACT_NUMBERS,
    Kind.FLOAT: frozenset({Kind.INTEGER}),
    Kind.TEXT: frozenset({Kind.BOOLEAN, Kind.DATE}) | EXACT_NUMBERS,
    Kind.DATE: frozenset({Kind.TIMESTAMP}),
    Kind.TIMESTAMP: frozenset({Kind.DATE}),
}


def native_call(expression: Call) -> Column | None:
    """Return a call of a function that Spark computes in the same way."""
    value = constant(expression)
    native = NATIVE.get(expression.function)
    if value is not None or native is None:
        return value
    columns = native_columns(expression.arguments)
    return None if columns is None else native(expression, columns)


def comparison(compare: Callable[[Column, Column], Column]) -> Native:
    """Return a comparison, of values of one type that have an order in Spark."""

    def build(expression: Call, columns: Sequence[Column]) -> Column | None:
        left, right = (argument.type for argument in expression.arguments)
        comparable = left == right and (left.kind in PLAIN or left.kind is Kind.FLOAT)
        return compare(*columns) if comparable else None

    return build


def arithmetic(compute: Callable[[Column, Column], Column], *, product: bool = False) -> Native:
    """Return a sum, a difference or a product of numbers."""

    def build(expression: Call, columns: Sequence[Column]) -> Column | None:
        types = [argument.type for argument in expression.arguments]
        if all(type_.kind is Kind.FLOAT for type_ in types):
            return compute(*columns)
        if any(type_.kind not in EXACT_NUMBERS for type_ in types):
            return None
        digits = sum(type_.scale for type_ in types) if product else max(type_.scale for type_ in types)
        if digits > SCALE_KEPT:
            return None
        left, right = (column.cast(spark_type(type_)) for column, type_ in zip(columns, types, strict=True))
        return compute(left, right)

    return build


def of_numbers(compute: Callable[[Column], Column]) -> Native:
    """Return a function of one number, which Spark computes in the type of the column."""

    def build(expression: Call, columns: Sequence[Column]) -> Column | None:
        type_ = expression.arguments[0].type
        if type_.kind is Kind.FLOAT:
            return compute(columns[0])
        return compute(columns[0].cast(spark_type(type_))) if type_.kind in EXACT_NUMBERS else None

    return build


def same(compute: Callable[..., Column]) -> Native:
    """Return a function that Spark has in the same form."""
    return lambda expression, columns: compute(*columns)


def conjunction(expression: Call, columns: Sequence[Column]) -> Column:
    """Return AND."""
    return reduce(lambda left, right: left & right, columns)


def disjunction(expression: Call, columns: Sequence[Column]) -> Column:
    """Return OR."""
    return reduce(lambda left, right: left | right, columns)


def like(expression: Call, columns: Sequence[Column]) -> Column | None:
    """Return LIKE with a constant pattern in which nothing is escaped."""
    pattern = expression.arguments[1]
    text = pattern.value if isinstance(pattern, Literal) else None
    return columns[0].like(text) if isinstance(text, str) and "\\" not in text else None


NATIVE: Mapping[str, Native] = {
    "=": comparison(lambda left, right: left == right),
    "<>": comparison(lambda left, right: left != right),
    "<": comparison(lambda left, right: left < right),
    "<=": comparison(lambda left, right: left <= right),
    ">": comparison(lambda left, right: left > right),
    ">=": comparison(lambda left, right: left >= right),
    "is_not_distinct": comparison(lambda left, right: left.eqNullSafe(right)),
    "is_null": same(lambda column: column.isNull()),
    "is_nan": same(lambda column: F.when(column.isNotNull(), F.isnan(column))),
    "not": same(lambda column: ~column),
    "and": conjunction,
    "or": disjunction,
    "coalesce": same(F.coalesce),
    "+": arithmetic(lambda left, right: left + right),
    "-": arithmetic(lambda left, right: left - right),
    "*": arithmetic(lambda left, right: left * right, product=True),
    "negate": of_numbers(lambda column: -column),
    "abs": of_numbers(F.abs),
    "length": lambda expression, columns: (
        F.length(columns[0]) if expression.arguments[0].type.kind is Kind.TEXT else None
    ),
    "concat": same(F.concat),
    "startswith": same(lambda text, part: text.startswith(part)),
    "endswith": same(lambda text, part: text.endswith(part)),
    "contains": same(lambda text, part: text.contains(part)),
    "like": like,
    **{name: same(getattr(F, name)) for name in ("year", "month", "hour", "minute", "second")},
    "day": same(F.dayofmonth),
    "quarter": same(F.quarter),
    "week": same(F.weekofyear),
    "dayofyear": same(F.dayofyear),
    "dayofweek": same(lambda at: F.dayofweek(at) - 1),
    "dayofweekiso": same(lambda at: F.weekday(at) + 1),
}
