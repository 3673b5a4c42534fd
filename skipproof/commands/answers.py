"""Answers to a query: their first rows, and whether two of them hold the same rows.

All of it is computed by Spark, so that an answer may be larger than the driver's memory.
"""

from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

# The sum of doubles depends on the order of its rows, and this order on the files that are read.
RELATIVE_DIFFERENCE_MAX = 1e-9
_ROW_CHOOSING_NODES = frozenset({"GlobalLimit", "LocalLimit", "Offset", "Sample"})
_PUSHDOWN = ("spark.sql.parquet.filterPushdown", "spark.sql.parquet.aggregatePushdown")
_ROW_COUNT = "skipproof_row_count"
_RANK = "skipproof_rank"
_DOUBLES = ("float", "double")
# Doubles are rounded from 53 to 36 bits, which is finer than `RELATIVE_DIFFERENCE_MAX`.
_BITS_ROUNDED = 17
# Rounding is unstable halfway between two rounded numbers. Values that people choose, and their sums, do
# not lie there once they are multiplied by this factor.
_UNUSUAL_FACTOR = 0.7310585786300049


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison of a pruned answer with the answer that skipped nothing."""

    same: bool
    rows_expected: int
    rows_found: int
    difference: str = ""
    # SQL allows several answers to the query, so only the number of rows was compared.
    open: bool = False
    # Spark gives the same wrong answer without pruning: its own pushdown is at fault.
    spark_alone: bool = False


def first_rows(frame: "DataFrame", limit: int) -> tuple[list[Any], int]:
    """Return the first `limit` rows of a query and the number of all its rows, by one run of it.

    Every row is computed, with all its columns; no more than `limit` of a partition are kept, and no
    more than `limit` reach Python.
    """
    from pyspark.sql import functions

    counted = frame.observe(_ROW_COUNT, functions.count(functions.lit(1)).alias(_ROW_COUNT))
    # A LIMIT alone would end the run before all rows are counted. The sort reads all of them, and the ids
    # ascend with the partitions and within each, so its first rows are the ones that LIMIT would take.
    first = counted.orderBy(functions.monotonically_increasing_id()).limit(max(limit, 1))
    rows = first.collect()
    # The plan has no count where Spark's optimizer knows that there are no rows.
    count = first._jdf.queryExecution().observedMetrics().get(_ROW_COUNT)
    return rows[:limit], count.get().getLong(0) if count.isDefined() else 0


def materialize(frame: "DataFrame") -> "DataFrame":
    """Run a query and return its rows as a DataFrame, which Spark keeps in memory and on disk."""
    return frame.localCheckpoint(eager=True)


def verify(frame: "DataFrame", sql: str, answer: "DataFrame") -> Comparison:
    """Compare the pruned answer to a query with the answer that skips nothing.

    Where they differ, Spark also runs the query alone, so that a row that its own pushdown loses is not
    blamed on the pruning.

    Args:
        frame: The query, as it was pruned.
        sql: Its text.
        answer: The materialized rows of the pruned query.
    """
    open_answer = is_open(frame)
    expected = unpruned_rows(frame, sql)
    comparison = compare(answer, expected, open_answer=open_answer)
    if comparison.same:
        return comparison
    alone = compare(answer, materialize(frame), open_answer=open_answer)
    return replace(comparison, spark_alone=alone.same)


def compare(answer: "DataFrame", expected: "DataFrame", *, open_answer: bool) -> Comparison:
    """Compare two answers as bags of rows, top-level doubles up to rounding.

    Args:
        answer: The materialized rows of the pruned answer.
        expected: Those of the answer that skipped nothing.
        open_answer: Whether SQL allows several answers of the same size; then only sizes count.
    """
    rows_found, rows_expected = answer.count(), expected.count()
    difference = _difference(answer, expected)
    if difference and rows_found != rows_expected:
        difference += f"; {rows_found:,} rows instead of {rows_expected:,}"
    open_difference = open_answer and bool(difference) and rows_found == rows_expected
    return Comparison(
        same=not difference or open_difference,
        rows_expected=rows_expected,
        rows_found=rows_found,
        difference="" if open_difference else difference,
        open=open_difference,
    )


def is_open(frame: "DataFrame") -> bool:
    """Tell whether SQL allows several answers to the query: it has LIMIT, OFFSET or a random function."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    pending = [plan]
    while pending:
        node = pending.pop()
        if node.nodeName() in _ROW_CHOOSING_NODES:
            return True
        for below in (node.children(), node.subqueries()):
            pending.extend(below.apply(position) for position in range(below.size()))
    return not plan.deterministic()


def unpruned_rows(frame: "DataFrame", sql: str) -> "DataFrame":
    """Return the materialized rows of a query that Spark runs without skipping row groups.

    Trusts   Spark's reader and expressions.
    Removes  skipping by statistics, dictionaries and bloom filters: Parquet pushdown is off meanwhile.
    Leaves   Spark's optimizer and its pruning of partition directories.
    """
    spark = frame.sparkSession
    before = {name: spark.conf.get(name) for name in _PUSHDOWN}
    try:
        for name in _PUSHDOWN:
            spark.conf.set(name, "false")
        # Plan the query again: a query that was planned keeps its pushed filters.
        return materialize(spark.sql(sql))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "true")


def _difference(answer: "DataFrame", expected: "DataFrame") -> str:
    """Return a sentence that names a row in which two bags differ; empty where they are equal."""
    types, others = ([field.dataType.simpleString() for field in side.schema] for side in (answer, expected))
    if types != others:
        return f"columns of {', '.join(types)} were found where {', '.join(others)} were expected"
    pair = unpaired_rows(answer, expected).first()
    if pair is None:
        return ""
    row, other = (
        None
        if pair[f"{side}_{_RANK}"] is None
        else tuple(pair[f"{side}_{position}"] for position in range(len(types)))
        for side in ("found", "expected")
    )
    if row is None:
        return f"{other!r} was expected and not found"
    if other is None:
        return f"{row!r} was found and not expected"
    return f"found {row!r} where {other!r} was expected"


def unpaired_rows(answer: "DataFrame", expected: "DataFrame") -> "DataFrame":
    """Return the pairs of rows in which two bags of rows differ.

    Rows that are equal but for their doubles are ranked by these on either side, and those of the same
    rank are paired. A pair differs if its doubles do, or if one of its rows is lacking.

    Returns:
        Columns `found_0`, ... and `expected_0`, ..., in the order of the answers' columns, and the ranks,
        of which one is NULL where that side has no row.
    """
    from pyspark.sql import functions

    here, there = _with_ranks(answer, "found"), _with_ranks(expected, "expected")
    doubles = [
        position for position, field in enumerate(answer.schema) if field.dataType.typeName() in _DOUBLES
    ]
    keys = [position for position in range(len(answer.columns)) if position not in doubles]
    on = [here[f"found_{name}"].eqNullSafe(there[f"expected_{name}"]) for name in (_RANK, *keys)]
    both = [here[f"found_{_RANK}"].isNotNull(), there[f"expected_{_RANK}"].isNotNull()]
    close = [_is_close(here[f"found_{position}"], there[f"expected_{position}"]) for position in doubles]
    return here.join(there, on=reduce(and_, on), how="full_outer").where(
        ~functions.coalesce(reduce(and_, (*both, *close)), functions.lit(False))
    )


def _with_ranks(frame: "DataFrame", side: str) -> "DataFrame":
    """Return the rows with comparable columns `SIDE_0`, ..., and their rank among those of equal keys."""
    from pyspark.sql import Window, functions

    names = [f"{side}_{position}" for position in range(len(frame.columns))]
    columns = frame.toDF(*names)
    types = dict(zip(names, (field.dataType for field in frame.schema), strict=True))
    comparable = columns.select(*(_comparable(columns[name], types[name]).alias(name) for name in names))
    doubles = [name for name in names if types[name].typeName() in _DOUBLES]
    keys = [name for name in names if name not in doubles]
    order = [_rounded_doubles(comparable[name]) for name in doubles] + [comparable[name] for name in doubles]
    window = Window.partitionBy(*(keys or [functions.lit(0)])).orderBy(*(order or [functions.lit(0)]))
    return comparable.withColumn(f"{side}_{_RANK}", functions.row_number().over(window))


def _comparable(column: "Column", type_: "DataType") -> "Column":
    """Return a column that is equal exactly where `column` is, of a type that Spark groups and orders."""
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if _is_comparable(type_):
        return column
    if isinstance(type_, MapType):
        entry = StructType([StructField("key", type_.keyType), StructField("value", type_.valueType)])
        return functions.array_sort(_comparable(functions.map_entries(column), ArrayType(entry)))
    if isinstance(type_, ArrayType):
        return functions.transform(column, lambda element: _comparable(element, type_.elementType))
    if isinstance(type_, StructType):
        fields = [
            _comparable(column.getField(field.name), field.dataType).alias(field.name) for field in type_
        ]
        return functions.when(column.isNotNull(), functions.struct(*fields))
    if type_.typeName() == "variant":
        return functions.to_json(column)
    # Strings that are equal under a collation may still differ in their bytes: compare the bytes.
    return column.cast("binary" if type_.typeName() == "string" else "string")


def _is_comparable(type_: "DataType") -> bool:
    """Tell whether Spark groups and orders a type by equality of its values."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(type_, ArrayType):
        return _is_comparable(type_.elementType)
    if isinstance(type_, StructType):
        return all(_is_comparable(field.dataType) for field in type_)
    if type_.typeName() == "string":
        return bool(type_.simpleString() == "string")
    return not isinstance(type_, MapType) and type_.typeName() not in ("variant", "interval", "void")


def _rounded_doubles(column: "Column") -> "Column":
    """Return doubles that order rows alike on both sides, though the last bits of some differ."""
    scaled = column.cast("double") * _UNUSUAL_FACTOR
    # Veltkamp's split keeps the upper bits.
    large = scaled * float(2**_BITS_ROUNDED + 1)
    return large - (large - scaled)


def _is_close(here: "Column", there: "Column") -> "Column":
    """Compare two doubles up to rounding; NULL is equal to NULL and NaN to NaN."""
    from pyspark.sql import functions

    here, there = here.cast("double"), there.cast("double")
    largest = functions.greatest(functions.abs(here), functions.abs(there))
    # Spark orders NaN above infinity, so this also excludes NaN.
    is_near = (largest < float("inf")) & (functions.abs(here - there) <= RELATIVE_DIFFERENCE_MAX * largest)
    return here.eqNullSafe(there) | functions.coalesce(is_near, functions.lit(False))
