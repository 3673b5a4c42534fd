"""Keys in Spark: columns that are equal exactly for equal cells, and the row ids of `values.key_texts`."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from dynamic_tables.on_spark.physical_types import ENCODED, spark_type
from dynamic_tables.on_spark.python_functions import Canonical, KeyText
from dynamic_tables.values.key_texts import HASH_DIGITS, PREFIX_LENGTH, READABLE_MAX
from dynamic_tables.values.types import TEXT, Kind, Type

# The text of a cell that is not NULL, for types whose cells are not encoded.
CELL_TEXTS: Mapping[Kind, str] = {
    Kind.BOOLEAN: "IF({0}, 't', 'f')",
    Kind.INTEGER: "concat('n', CAST({0} AS STRING), ';')",
    Kind.INTERVAL: "concat('n', CAST({0} AS STRING), ';')",
    Kind.FLOAT: (
        "concat('r', java_method('java.lang.Double', 'doubleToLongBits', IF({0} = 0, 0.0D, {0})), ';')"
    ),
    Kind.TEXT: "concat('s', length({0}), ':', {0})",
    Kind.BINARY: "concat('b', octet_length({0}), ':', lower(hex({0})))",
    Kind.DATE: "concat('d', unix_date({0}), ';')",
    Kind.TIMESTAMP: "concat('m', unix_micros(CAST({0} AS TIMESTAMP)), ';')",
    Kind.NULL: "'~'",
}


def canonical_column(column: Column, type_: Type) -> Column:
    """Return the canonical cell of a column's key, as `values.cells.canonical` gives it."""
    if type_.kind is Kind.FLOAT:
        return F.when(column == 0, F.lit(0.0)).otherwise(column)
    if type_.kind in ENCODED:
        return Canonical().column(spark_type(TEXT), column, deterministic=True)
    return column


def comparable_column(column: Column, type_: Type, other: Type) -> Column:
    """Return a column that is equal to that of the other type exactly for equal cells.

    Numbers of different scales are compared by their digits: Spark would cast both to one scale, at which
    large numbers have too many digits.
    """
    return canonical_column(column, type_) if type_ == other else digits(column, type_)


def digits(column: Column, type_: Type) -> Column:
    """Return the digits of an exact number, without zeros at its end behind the point."""
    text = column.cast(spark_type(TEXT))
    return F.regexp_replace(text, r"\.?0+$", "") if type_.scale else text


def key_text(name: str, type_: Type) -> Column:
    """Return the text of the cells of a column as part of a key."""
    column = F.col(name)
    if type_.kind in ENCODED:
        text = KeyText().column(spark_type(TEXT), column, deterministic=True)
    elif type_.kind is Kind.DECIMAL:
        text = F.concat(F.lit("n"), digits(column, type_), F.lit(";"))
    else:
        text = F.expr(CELL_TEXTS[type_.kind].format(name))
    return F.when(column.isNull(), F.lit("~")).otherwise(text)


def key_id(names: Sequence[str], types: Sequence[Type]) -> Column:
    """Return the row id of a group, from the names of the columns of its key."""
    text = F.concat(F.lit(""), *[key_text(name, type_) for name, type_ in zip(names, types, strict=True)])
    digest = F.substring(F.sha2(text.cast("binary"), 256), 1, HASH_DIGITS)
    hashed = F.concat(F.lit("h:"), F.substring(text, 1, PREFIX_LENGTH), digest)
    return F.when(F.length(text) <= READABLE_MAX, F.concat(F.lit("g:"), text)).otherwise(hashed)
