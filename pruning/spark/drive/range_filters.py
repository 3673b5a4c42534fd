"""Range filters, which let Spark skip row groups inside the files that are left.

A plan can name files, but not row groups; Spark skips those by filters that it pushes down. So where row
groups were excluded for a reason that Spark cannot push, such as an IF, the range of values in the row
groups that are left is added as a filter. They hold every row that can satisfy the predicate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.names import quoted_name
from pruning.expressions.sql import literal_sql
from pruning.expressions.traversal import columns
from pruning.expressions.trees import And, Column, Expression, IsNull, Not
from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.table.measured import STATED
from pruning.metadata.table.schema import columns_only, is_nested, sql_type
from pruning.metadata.table.structs import field_of, has_field, whole

# Floating types are absent because Spark's pushdown on them loses NaN, and booleans because a filter on two
# values gains little.
_RANGED = frozenset(
    {
        Kind.BYTE,
        Kind.SHORT,
        Kind.INTEGER,
        Kind.LONG,
        Kind.DECIMAL,
        Kind.STRING,
        Kind.DATE,
        Kind.TIMESTAMP,
        Kind.TIMESTAMP_NTZ,
    }
)
# The fields of block metadata that range filters are made from.
_FIELDS = ["file", "row_count", "columns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFilter:
    """The filter `lower <= column <= upper`, which NULL passes too unless the predicate rejects it."""

    column: str
    type: Type
    lower: Value
    upper: Value
    rejects_null: bool

    @property
    def sql(self) -> str:
        """The filter as Spark SQL over the scanned table."""
        name = quoted_name(self.column)
        lower, upper = literal_sql(self.lower, self.type), literal_sql(self.upper, self.type)
        inside = f"{name} >= {lower} AND {name} <= {upper}"
        return inside if self.rejects_null else f"(({inside}) OR {name} IS NULL)"


def range_filters_of_files(
    predicate: Expression,
    metadata: pa.Table,
    keep: np.ndarray,
    files: Sequence[str],
    allowed: Mapping[str, Type],
) -> list[RangeFilter]:
    """Return the filters for some of a table's files, as `range_filters` does.

    Args:
        predicate: The filter that the scan has already.
        metadata: The row groups of the table.
        keep: True for those that may hold a row that satisfies the predicate; shape (blocks,).
        files: The files that are still read.
        allowed: As for `range_filters`.
    """
    inside = pc.is_in(metadata.column("file"), value_set=pa.array(files, pa.string()))
    here = columns_only(metadata, columns(predicate)).select(_FIELDS).filter(inside)
    # A file without blocks in the metadata may hold anything, so no range is known to cover it.
    if len(here.column("file").unique()) < len(files):
        return []
    return range_filters(predicate, here, pa.array(keep).filter(inside.combine_chunks()), allowed)


def range_filters(
    predicate: Expression, metadata: pa.Table, keep: pa.BooleanArray, allowed: Mapping[str, Type]
) -> list[RangeFilter]:
    """Return the filters that let Spark skip at least one more row group each.

    Args:
        predicate: The filter that the scan has already.
        metadata: The row groups of every file that is still read, all their footers known.
        keep: True for those that may hold a row that satisfies the predicate; shape (blocks,).
        allowed: The types of the columns that a filter may name; those in the files, not partitions.
    """
    column_structs = whole(metadata.column("columns"))
    rows = metadata.column("row_count").combine_chunks()
    filters = []
    for name in columns(predicate):
        if is_nested(name) or name not in allowed or not has_field(column_structs, name):
            continue
        hull = _hull(field_of(column_structs, name), rows, keep)
        if hull is not None:
            lower, upper = (_value(bound) for bound in hull)
            rejects_null = name in _not_null_columns(predicate)
            filters.append(
                RangeFilter(
                    column=name, type=allowed[name], lower=lower, upper=upper, rejects_null=rejects_null
                )
            )
    return filters


def _hull(
    column: pa.StructArray, rows: pa.Array, keep: pa.BooleanArray
) -> tuple[pa.Scalar, pa.Scalar] | None:
    """Return the least minimum and greatest maximum of the kept blocks; None if unknown or of no use."""
    if sql_type(column.type.field("min").type).kind not in _RANGED:
        return None
    mins, maxes = (ordered_bounds(field_of(column, side)) for side in ("min", "max"))
    # A block of NULL alone needs no bounds. A block whose NULL count is unknown is taken to hold values.
    all_null = pc.fill_null(pc.equal(field_of(column, "null_count"), rows), False)
    holds_values = pc.and_(keep, pc.invert(all_null))
    # Of a measured block, the file may state other statistics, by which the reader would lose rows.
    if has_field(column, STATED) and pc.any(pc.and_(keep, pc.invert(field_of(column, STATED)))).as_py():
        return None
    kept_mins, kept_maxes = mins.filter(holds_values), maxes.filter(holds_values)
    if len(kept_mins) == 0 or kept_mins.null_count or kept_maxes.null_count:
        return None
    lower, upper = pc.min(kept_mins), pc.max(kept_maxes)
    outside = pc.or_kleene(pc.less(maxes, lower), pc.greater(mins, upper))
    skipped = pc.and_(pc.invert(keep), pc.greater(rows, 0))
    gain = pc.any(pc.and_kleene(skipped, outside)).as_py()
    return (lower, upper) if gain else None


def ordered_bounds(bounds: pa.Array) -> pa.Array:
    """Return bounds as bytes, integers or decimals, which Arrow orders as Spark orders the values."""
    kind = sql_type(bounds.type).kind
    if kind is Kind.STRING:
        return bounds.cast(pa.binary())
    if kind is Kind.DATE:
        return bounds.cast(pa.int32())
    return bounds.cast(pa.int64()) if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) else bounds


def _value(bound: pa.Scalar) -> Value:
    value: Value = bound.as_py()
    return value


def _not_null_columns(predicate: Expression) -> set[str]:
    """Return the columns for which the predicate has an IS NOT NULL."""
    parts = predicate.operands if isinstance(predicate, And) else (predicate,)
    names = set()
    for part in parts:
        match part:
            case Not(IsNull(Column(name))):
                names.add(name)
    return names
