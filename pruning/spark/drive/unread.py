"""The row groups that Spark is sure to skip in files that it opens, by the filters that it pushes.

Inside a file, Spark's Parquet reader skips the row groups whose bounds lie outside a pushed comparison. A row
group without a needed row may lie inside all pushed comparisons, and is then read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pruning.expressions.trees import (
    MIRRORED,
    And,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)
from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.table.comparable import comparable_columns
from pruning.metadata.table.schema import column_types
from pruning.pushed.exact_times import is_exact
from pruning.pushed.value_ranges import closed_ranges
from pruning.spark.drive.range_filters import IN_LIST_MAX, RangeFilter, ordered_bounds

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

    @property
    def type(self) -> Type:
        """The type of their constants."""
        return self.ranges[0].type


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBounds:
    """Bounds and counts of a column in row groups or pages, as the file states them; null is unknown."""

    min: pa.Array
    max: pa.Array
    null_counts: pa.Array
    rows: pa.Array


# What Spark pushes of a scan, a conjunction.
Conjuncts: TypeAlias = Sequence[PushedRange | PushedUnion]


def pushed_kinds(spark: SparkSession) -> frozenset[Kind]:
    """Return the kinds of columns by which this session's Parquet reader skips row groups."""
    if not (_is_on(spark, _PUSHDOWN) and _is_on(spark, _BY_STATISTICS)):
        return frozenset()
    off = {kind for kind, switch in _SWITCHES.items() if spark.conf.get(switch, "true") == "false"}
    return _KINDS - off


def skips_pages(spark: SparkSession) -> bool:
    """Tell whether this session's Parquet reader skips pages by their indexes."""
    return _is_on(spark, _PUSHDOWN) and _is_on(spark, _BY_PAGES)


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
    ranges: Conjuncts,
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
        name, type_ = conjunct.column, conjunct.type
        if name not in compared or type_.kind not in kinds:
            continue
        if not stored.get(name) == types.get(name) == type_:
            continue
        column = columns.field(columns.type.get_field_index(name))
        stated = StatedBounds(
            min=column.field("min"),
            max=column.field("max"),
            null_counts=column.field("null_count"),
            rows=rows,
        )
        unread |= is_outside(conjunct, stated)  # (3)
    return unread


def pushed_ranges(
    predicate: Expression, *, in_list_max: int = IN_LIST_MAX
) -> Iterator[PushedRange | PushedUnion]:
    """Yield the parts of a scan's own filter that Spark pushes as ranges of one column.

    Timestamps are left out, because a comparison is not pushed if its constant has microseconds. Comparisons
    with zero, NaN or dates that are not exact, and comparisons that NaN satisfies, are never pushed. Of a
    list that is longer than `in_list_max`, Spark pushes the least and the greatest member.
    """
    for part in predicate.operands if isinstance(predicate, And) else (predicate,):
        if isinstance(part, Not) and isinstance(part.operand, IsNull):
            column = part.operand.operand
            if isinstance(column, Column):
                yield PushedRange(column=column.name, type=column.type)
            continue
        ranges = _ranges_of(part, in_list_max)
        if ranges is not None:
            yield ranges[0] if len(ranges) == 1 else PushedUnion(ranges)


def in_list_max(spark: SparkSession) -> int:
    """Return the length of the longest IN list that this session pushes member by member."""
    return int(spark.conf.get("spark.sql.parquet.pushdown.inFilterThreshold", str(IN_LIST_MAX)))


def _ranges_of(part: Expression, in_list_max: int) -> tuple[PushedRange, ...] | None:
    """Return the ranges of one column, joined by OR, that Spark pushes for a condition; None for others."""
    match part:
        case Compare(operator, Column() as column, Literal() as literal):
            return _comparison_ranges(operator, column, literal)
        case Compare(operator, Literal() as literal, Column() as column):
            return _comparison_ranges(MIRRORED.get(operator, operator), column, literal)
        case In(Column() as column, members):
            equalities = [
                _comparison_ranges(Comparison.EQUAL, column, member) if isinstance(member, Literal) else None
                for member in members
            ]
            return _union(equalities) if len(members) <= in_list_max else None
        case Or(operands):
            return _union([_ranges_of(operand, in_list_max) for operand in operands])
    return None


def _union(alternatives: Sequence[tuple[PushedRange, ...] | None]) -> tuple[PushedRange, ...] | None:
    """Return the ranges of all alternatives; None if one has none, or if they are not of one column."""
    ranges: list[PushedRange] = []
    for alternative in alternatives:
        if alternative is None:
            return None
        ranges += alternative
    is_one_column = len({(range_.column, range_.type) for range_ in ranges}) == 1
    return tuple(ranges) if is_one_column else None


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


def _comparison_ranges(
    operator: Comparison, column: Column, literal: Literal
) -> tuple[PushedRange, ...] | None:
    value = literal.value
    if value is None or column.type != literal.type or column.type.kind is Kind.TIMESTAMP:
        return None
    if not is_exact(value, column.type):
        return None
    if column.type.floating and (operator not in _PUSHED_ON_FLOATS or value == 0 or value != value):
        return None
    below = operator in (Comparison.LESS, Comparison.AT_MOST)
    above = operator in (Comparison.GREATER, Comparison.AT_LEAST)
    return (
        PushedRange(
            column=column.name,
            type=column.type,
            lower=None if below else value,
            upper=None if above else value,
            lower_strict=operator is Comparison.GREATER,
            upper_strict=operator is Comparison.LESS,
        ),
    )


def is_outside(pushed: PushedRange | PushedUnion, stated: StatedBounds) -> np.ndarray:
    """Mark the row groups or pages of which the reader can tell that no row passes; shape (blocks,)."""
    if isinstance(pushed, PushedUnion):
        union: np.ndarray = np.logical_and.reduce([is_outside(part, stated) for part in pushed.ranges])
        return union
    minimum, maximum = ordered_bounds(stated.min), ordered_bounds(stated.max)
    outside = pa.repeat(False, len(stated.rows))
    if pushed.lower is not None:
        below = pc.less_equal if pushed.lower_strict else pc.less
        outside = pc.or_(outside, pc.fill_null(below(maximum, pa.scalar(pushed.lower, maximum.type)), False))
    if pushed.upper is not None:
        above = pc.greater_equal if pushed.upper_strict else pc.greater
        outside = pc.or_(outside, pc.fill_null(above(minimum, pa.scalar(pushed.upper, minimum.type)), False))
    # The reader uses no bound that stands alone.
    outside = pc.and_(outside, pc.and_(pc.is_valid(minimum), pc.is_valid(maximum)))
    if pushed.null_passes:
        outside = pc.and_(outside, pc.fill_null(pc.equal(stated.null_counts, 0), False))  # (2)
    else:
        outside = pc.or_(outside, pc.fill_null(pc.equal(stated.null_counts, stated.rows), False))  # (1)
    mask: np.ndarray = pc.and_(outside, pc.greater(stated.rows, 0)).to_numpy(zero_copy_only=False)
    return mask
