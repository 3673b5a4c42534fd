"""The extra filter that lets Spark skip row groups inside the files that are left.

Spark can choose files, but not row groups; those it skips by filters that it can push down. So
where row groups were skipped for a reason that Spark cannot push, such as an IF, the hull of the
row groups that are left is added as a filter. Every row that can satisfy the predicate is in them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.names import quoted_name
from pruning.expressions.sql import literal_sql
from pruning.expressions.traversal import columns
from pruning.expressions.trees import And, Column, Expression, IsNull, Not
from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.table.schema import is_nested, sql_type
from pruning.metadata.table.structs import field_of, has_field, whole

# Spark's own pushdown on floating columns loses NaN; two values of a boolean are not worth a filter.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFilter:
    """`lower <= column <= upper`, or NULL unless the predicate rejects that."""

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


def range_filters(
    predicate: Expression, metadata: pa.Table, keep: pa.BooleanArray, allowed: Mapping[str, Type]
) -> list[RangeFilter]:
    """The filters that let Spark skip at least one row group more.

    Args:
        predicate: What the scan is filtered by already.
        metadata: The row groups of every file that is still read, all their footers known.
        keep: Which of them may hold a row that satisfies the predicate; shape (blocks,).
        allowed: The types of the columns that a filter may name; those in the files, not partitions.
    """
    known = whole(metadata.column("columns"))
    rows = metadata.column("row_count").combine_chunks()
    found = []
    for name in columns(predicate):
        if is_nested(name) or name not in allowed or not has_field(known, name):
            continue
        hull = _hull(field_of(known, name), rows, keep)
        if hull is not None:
            lower, upper = (_value(bound) for bound in hull)
            rejects_null = name in _not_null_columns(predicate)
            found.append(
                RangeFilter(
                    column=name, type=allowed[name], lower=lower, upper=upper, rejects_null=rejects_null
                )
            )
    return found


def _hull(
    column: pa.StructArray, rows: pa.Array, keep: pa.BooleanArray
) -> tuple[pa.Scalar, pa.Scalar] | None:
    """The least minimum and greatest maximum that are left, where known and of any use."""
    if sql_type(column.type.field("min").type).kind not in _RANGED:
        return None
    mins, maxes = (ordered_bounds(field_of(column, side)) for side in ("min", "max"))
    # NULL alone needs no bounds; an unknown count is not "all".
    all_null = pc.fill_null(pc.equal(field_of(column, "null_count"), rows), False)
    holds_values = pc.and_(keep, pc.invert(all_null))
    kept_mins, kept_maxes = mins.filter(holds_values), maxes.filter(holds_values)
    if len(kept_mins) == 0 or kept_mins.null_count or kept_maxes.null_count:
        return None
    lower, upper = pc.min(kept_mins), pc.max(kept_maxes)
    outside = pc.or_kleene(pc.less(maxes, lower), pc.greater(mins, upper))
    skipped = pc.and_(pc.invert(keep), pc.greater(rows, 0))
    gain = pc.any(pc.and_kleene(skipped, outside)).as_py()
    return (lower, upper) if gain else None


def ordered_bounds(bounds: pa.Array) -> pa.Array:
    """Bounds as what Arrow orders and Python holds them by: bytes, integers, decimals."""
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
    """The columns that the predicate demands a value of."""
    parts = predicate.operands if isinstance(predicate, And) else (predicate,)
    found = set()
    for part in parts:
        match part:
            case Not(IsNull(Column(name))):
                found.add(name)
    return found
