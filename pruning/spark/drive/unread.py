"""The row groups that Spark is sure to skip in files that it opens, by the filters that it pushes.

Inside a file, Spark's Parquet reader skips the row groups whose bounds lie outside a pushed comparison. A row
group without a needed row may lie inside all pushed comparisons, and is then read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pruning.expressions.trees import And, Column, Compare, Comparison, Expression, IsNull, Literal, Not
from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.table.comparable import comparable_columns
from pruning.metadata.table.schema import column_types
from pruning.pushed.value_ranges import closed_ranges
from pruning.spark.drive.range_filters import RangeFilter, ordered_bounds

_PUSHDOWN = "spark.sql.parquet.filterPushdown"
_BY_STATISTICS = "parquet.filter.stats.enabled"
_BY_PAGES = "parquet.filter.columnindex.enabled"
# The additional settings of types that have a switch of their own.
_SWITCHES = {Kind.DATE: f"{_PUSHDOWN}.date", Kind.TIMESTAMP: f"{_PUSHDOWN}.timestamp"}
_KINDS = frozenset(
    {
        Kind.BYTE,
        Kind.SHORT,
        Kind.INTEGER,
        Kind.LONG,
        Kind.FLOAT,
        Kind.DOUBLE,
        Kind.STRING,
        Kind.DATE,
        Kind.TIMESTAMP,
    }
)
# NaN, which no bounds enclose, satisfies the other comparisons; `pushdown` keeps those from the reader.
_PUSHED_ON_FLOATS = frozenset(
    {Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL, Comparison.LESS, Comparison.AT_MOST}
)
_MIRRORED = {
    Comparison.LESS: Comparison.GREATER,
    Comparison.AT_MOST: Comparison.AT_LEAST,
    Comparison.GREATER: Comparison.LESS,
    Comparison.AT_LEAST: Comparison.AT_MOST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedRange:
    """A range that Spark pushes: `lower <= column <= upper`, with `<` on a strict side.

    A side that is None has no bound. `null_passes` is True if rows with NULL pass as well.
    """

    column: str
    type: Type
    lower: Value | None = None
    upper: Value | None = None
    lower_strict: bool = False
    upper_strict: bool = False
    null_passes: bool = False


@dataclass(frozen=True, slots=True)
class PushedUnion:
    """Ranges of one column that Spark pushes, joined by OR; at least one."""

    ranges: tuple[PushedRange, ...]

    @property
    def column(self) -> str:
        """The column of the ranges."""
        return self.ranges[0].column


def pushed_kinds(spark: SparkSession) -> frozenset[Kind]:
    """Return the kinds of columns by which this session's Parquet reader skips row groups."""
    if not (_is_on(spark, _PUSHDOWN) and _is_on(spark, _BY_STATISTICS)):
        return frozenset()
    off = {kind for kind, switch in _SWITCHES.items() if spark.conf.get(switch, "true") == "false"}
    return _KINDS - off


def pushdown_notes(spark: SparkSession) -> list[str]:
    """Return a sentence about each setting that keeps Spark from skipping by the filters that are added."""
    effects = {
        _PUSHDOWN: "neither row groups nor pages inside files are skipped",
        _BY_STATISTICS: "row groups inside files are not skipped by their bounds",
        _BY_PAGES: "pages inside row groups are not skipped",
    }
    return [
        f"{effect}: {setting} is false" for setting, effect in effects.items() if not _is_on(spark, setting)
    ]


def _is_on(spark: SparkSession, setting: str) -> bool:
    """Tell whether a setting of the reader, on by default, is on for queries of the session."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration().get(setting)
    return str(spark.conf.get(setting, hadoop or "true")).lower() != "false"


def unread_blocks(
    ranges: Sequence[PushedRange | PushedUnion],
    metadata: pa.Table,
    types: Mapping[str, Type],
    *,
    kinds: frozenset[Kind] = _KINDS,
) -> np.ndarray:
    """Return whether the reader is sure to drop each block; shape (blocks,).

    Claim     A block that is TRUE here is dropped before any of its column chunks is read.
    Premises  Spark pushes each of the ranges. The reader uses the bounds of comparable columns of these
              kinds where both are there, and has the counts of NULL that the metadata has.
    Proof     (1) Where only values pass, and each row is NULL, no row passes.
              (2) Where the maximum is below the range, or the minimum above it, no value passes; and no
              NULL does where there is none, or NULL does not pass.
              (3) Where no row passes any of the ranges of a union, none passes the union.
              The reader drops a block where it finds this of one conjunct.
    Unsound   for a column whose values are read as another type than they are stored as.

    Args:
        ranges: What Spark pushes, a conjunction.
        metadata: As `pruning.metadata.table.schema` says.
        types: The types that Spark reads the files' columns as.
        kinds: What `pushed_kinds` gives.
    """
    unread = np.zeros(metadata.num_rows, bool)
    stored, compared = column_types(metadata), comparable_columns(metadata)
    columns = metadata.column("columns").combine_chunks()
    rows = metadata.column("row_count").combine_chunks()
    for conjunct in ranges:
        alternatives = conjunct.ranges if isinstance(conjunct, PushedUnion) else (conjunct,)
        name, type_ = conjunct.column, alternatives[0].type
        if name not in compared or type_.kind not in kinds:
            continue
        if not stored.get(name) == types.get(name) == type_:
            continue
        column = columns.field(columns.type.get_field_index(name))
        outside = [_is_outside(range_, column, rows) for range_ in alternatives]
        unread |= np.logical_and.reduce(outside)  # (3)
    return unread


def pushed_ranges(predicate: Expression) -> Iterator[PushedRange]:
    """Yield the parts of a scan's own filter that Spark pushes as a range of one column.

    Timestamps are left out, because a comparison is not pushed if its constant has microseconds. Comparisons
    with zero or NaN, and comparisons that NaN satisfies, are never pushed.
    """
    for part in predicate.operands if isinstance(predicate, And) else (predicate,):
        match part:
            case Not(IsNull(Column(name, type_))):
                yield PushedRange(column=name, type=type_)
            case Compare(operator, Column() as column, Literal() as literal):
                yield from _comparison_ranges(operator, column, literal)
            case Compare(operator, Literal() as literal, Column() as column):
                yield from _comparison_ranges(_MIRRORED.get(operator, operator), column, literal)


def union_of_filter(added: RangeFilter) -> PushedUnion:
    """Return a range filter that pruning has added to the query as ranges that Spark is sure to push.

    Of a file of timestamps in milliseconds, Spark asks by the constant rounded down; so least values are.
    """
    closed = closed_ranges(added.values, added.type)
    if added.type.kind is Kind.TIMESTAMP:
        closed = [
            (None if lower is None else int(lower) // 1_000 * 1_000, upper, is_excluded)
            for lower, upper, is_excluded in closed
        ]
    return PushedUnion(
        tuple(
            PushedRange(
                column=added.column,
                type=added.type,
                lower=lower,
                upper=upper,
                upper_strict=is_excluded,
                null_passes=not added.rejects_null,
            )
            for lower, upper, is_excluded in closed
        )
    )


def _comparison_ranges(operator: Comparison, column: Column, literal: Literal) -> Iterator[PushedRange]:
    value = literal.value
    if value is None or column.type != literal.type or column.type.kind is Kind.TIMESTAMP:
        return
    if column.type.floating and (operator not in _PUSHED_ON_FLOATS or value == 0 or value != value):
        return
    below = operator in (Comparison.LESS, Comparison.AT_MOST)
    above = operator in (Comparison.GREATER, Comparison.AT_LEAST)
    yield PushedRange(
        column=column.name,
        type=column.type,
        lower=None if below else value,
        upper=None if above else value,
        lower_strict=operator is Comparison.GREATER,
        upper_strict=operator is Comparison.LESS,
    )


def _is_outside(range_: PushedRange, column: pa.StructArray, rows: pa.Array) -> np.ndarray:
    """Mark the blocks of which the reader can tell that no row is in the range; shape (blocks,)."""
    null_count = column.field("null_count")
    minimum, maximum = ordered_bounds(column.field("min")), ordered_bounds(column.field("max"))
    outside = pa.repeat(False, len(rows))
    if range_.lower is not None:
        below = pc.less_equal if range_.lower_strict else pc.less
        outside = pc.or_(outside, pc.fill_null(below(maximum, pa.scalar(range_.lower, maximum.type)), False))
    if range_.upper is not None:
        above = pc.greater_equal if range_.upper_strict else pc.greater
        outside = pc.or_(outside, pc.fill_null(above(minimum, pa.scalar(range_.upper, minimum.type)), False))
    # The reader uses no bound that stands alone.
    outside = pc.and_(outside, pc.and_(pc.is_valid(minimum), pc.is_valid(maximum)))
    if range_.null_passes:
        outside = pc.and_(outside, pc.fill_null(pc.equal(null_count, 0), False))  # (2)
    else:
        outside = pc.or_(outside, pc.fill_null(pc.equal(null_count, rows), False))  # (1)
    mask: np.ndarray = pc.and_(outside, pc.greater(rows, 0)).to_numpy(zero_copy_only=False)
    return mask
