"""Range filters, by which Spark skips row groups and pages inside the files that are left.

A plan can name files, but neither row groups nor pages; Spark's Parquet reader skips those by the filters
that are pushed to it. So what was proved for a reason that Spark cannot push, such as an IF or the keys of a
join, is added as ranges of single columns: of the values in the kept row groups, and of those on which the
conditions may be TRUE.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.names import quoted_name
from pruning.expressions.sql import literal_sql
from pruning.expressions.traversal import columns
from pruning.expressions.trees import (
    And,
    Column,
    Compare,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    StartsWith,
)
from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.table.measured import STATED
from pruning.metadata.table.schema import columns_only, is_nested, sql_type
from pruning.metadata.table.structs import field_of, has_field, whole
from pruning.pushed.block_ranges import BlockBounds, block_ranges, hull, spared_blocks
from pruning.pushed.exact_times import with_exact_ends
from pruning.pushed.value_ranges import (
    as_cuts,
    as_ranges,
    closed_ranges,
    conjuncts_on,
    may_match_null,
    value_ranges,
    value_set,
    width,
    with_fewer_ranges,
)
from pruning.rules.sets import cuts
from pruning.rules.sets.cuts import Cuts
from pruning.spark.drive import paging

# Floating types are absent because Spark's pushdown on them loses NaN, and booleans because a filter on two
# values gains little.
RANGED = frozenset(
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
_FIELDS = ["file", "row_count", "byte_count", "columns"]
# Each range of a filter takes Spark about 2 ms to plan and to compile.
RANGES_MAX = 32
# Ranges inside row groups are added if they leave at most this share of the values that Spark's own filters
# leave; each row is compared with them.
_SHARE_MAX = 0.9
# Values separate row groups if they spare at least this share of the bytes that would be read without them: a
# filter on a column lets the reader read the index of its pages, too.
_SPARED_MIN = 0.05
# Of a longer IN list, Spark pushes the least and the greatest member only, unless it is told otherwise.
IN_LIST_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFilter:
    """The filter that a column's value is in a set, which NULL passes too unless it is rejected.

    The set is made of those on which the conditions may be TRUE, or else of the kept blocks' alone.
    """

    column: str
    type: Type
    values: Cuts
    rejects_null: bool
    is_of_conditions: bool

    @property
    def sql(self) -> str:
        """The filter as Spark SQL over the scanned table."""
        name = quoted_name(self.column)
        inside = [_range_sql(name, self.type, *ends) for ends in closed_ranges(self.values, self.type)]
        if self.rejects_null and len(inside) == 1:
            return inside[0]
        alternatives = [text if " AND " not in text else f"({text})" for text in inside]
        if not self.rejects_null:
            alternatives.append(f"{name} IS NULL")
        return f"({' OR '.join(alternatives)})"


@dataclass(slots=True)
class DerivedRanges:
    """The range filters that were derived for one scan, which are asked for again with each plan it is in."""

    _by_state: dict[tuple[object, ...], tuple[pa.Table, list[RangeFilter]]] = field(default_factory=dict)

    def of_files(
        self,
        predicate: Expression,
        metadata: pa.Table,
        keep: np.ndarray,
        inside: np.ndarray,
        allowed: Mapping[str, Type],
        *,
        needed: Sequence[Expression] = (),
        deferred: Sequence[Expression] = (),
    ) -> list[RangeFilter]:
        """Return the filters for some of a table's files, as `range_filters` does.

        Args:
            predicate: The filter that the scan has already, the same in all calls.
            metadata: The row groups of the table.
            keep: True for those that may hold a needed row; shape (blocks,).
            inside: True for those of files that are still read; shape (blocks,).
            allowed: As for `range_filters`; it follows from the metadata.
            needed: As for `range_filters`.
            deferred: As for `range_filters`.
        """
        state = _state_of_files(metadata, keep, inside, (*needed, None, *deferred))
        if state not in self._by_state:
            named = [name for part in (predicate, *needed) for name in columns(part)]
            here = columns_only(metadata, named).select(_FIELDS).filter(pa.array(inside))
            here_kept = pa.array(keep[inside])
            filters = range_filters(predicate, here, here_kept, allowed, needed=needed, deferred=deferred)
            # The entry holds its metadata, so that no later table can have the same id.
            self._by_state[state] = metadata, filters
        return self._by_state[state][1]


def _state_of_files(
    metadata: pa.Table, keep: np.ndarray, inside: np.ndarray, conditions: Sequence[Expression | None]
) -> tuple[object, ...]:
    """Return all that the range filters of a scan depend on.

    The conditions are the needed and, behind a None, the deferred ones; the rest is as for `of_files`.
    """
    return (id(metadata), keep.tobytes(), inside.tobytes(), tuple(conditions))


def range_filters(
    predicate: Expression,
    metadata: pa.Table,
    keep: pa.BooleanArray,
    allowed: Mapping[str, Type],
    *,
    needed: Sequence[Expression] = (),
    deferred: Sequence[Expression] = (),
) -> list[RangeFilter]:
    """Return the filters that let Spark skip more row groups, or more pages of them.

    Claim     Every needed row of a kept block passes each filter.
    Premises  All conditions are TRUE on each needed row. Bounds enclose values, and a kept block's
              statistics are those that the file states.
    Proof     (1) The row's value is in the ranges of the kept blocks, and among the values on which the
              conditions may be TRUE, so in both sets.
              (2) NULL passes, unless the conditions are TRUE on no row with it.
    Unsound   by a reader that skips by other statistics than the bounds: a column is left out where a kept
              block that may hold values has bounds that are unknown, or not stated by the file.

    Args:
        predicate: The filter that the scan has already.
        metadata: The row groups, or other runs of rows, of every file that is still read; all of them.
        keep: True for those that may hold a needed row; shape (blocks,).
        allowed: The types of the columns that a filter may name; those in the files, not partitions.
        needed: Conditions beside the filter, which the plan does not have.
        deferred: Conjuncts of the filter that were not evaluated for every block, so that the reader is to
            compare the bounds of those that it opens.
    """
    kept: np.ndarray = keep.to_numpy(zero_copy_only=False)
    rows: np.ndarray = metadata.column("row_count").to_numpy()
    has_pages = bool((rows[kept] > paging.PAGE_ROWS).any())
    if kept[rows > 0].all() and not has_pages and not deferred:
        return []
    deferred_columns = {name for conjunct in deferred for name in columns(conjunct)}
    searches = list(_column_searches(predicate, needed, metadata, kept, allowed))
    sizes = pc.fill_null(metadata.column("byte_count"), 0).to_numpy()
    sizes = np.where(rows > 0, np.maximum(sizes, 1), 0)
    # The excluded blocks that Spark's own filters do not skip.
    in_vain = ~kept & (rows > 0)
    for search in searches:
        in_vain &= ~search.skipped_by_query
    bounds = {search.column.name: search.bounds for search in searches}
    gains = np.where(in_vain, sizes, 0)
    ranges = {
        name: with_exact_ends(as_cuts(column_ranges, allowed[name]), allowed[name])
        for name, column_ranges in block_ranges(bounds, kept, gains, ranges_max=RANGES_MAX).items()
    }
    for search in searches:
        if search.column.name in ranges:
            in_vain &= ~search.spares(ranges[search.column.name])
    filters = []
    for search in searches:
        values, is_of_conditions = ranges.get(search.column.name), False
        may_skip_more = has_pages or search.column.name in deferred_columns
        narrower = search.narrower_values(values) if may_skip_more or in_vain.any() else None
        if narrower is not None:
            spared = in_vain & search.spares(narrower)
            is_clear_gain = sizes[spared].sum() > _SPARED_MIN * sizes[kept | in_vain].sum()
            if is_clear_gain or (may_skip_more and search.leaves_less(narrower, values)):
                values, in_vain, is_of_conditions = narrower, in_vain & ~spared, True
        if values is not None and _are_texts(values):
            filters.append(search.filter(values, is_of_conditions))
    return filters


@dataclass(frozen=True, slots=True, kw_only=True)
class _ColumnSearch:
    """A column that a range filter may name, and what the conditions say of it."""

    column: Column
    bounds: BlockBounds
    conjuncts: tuple[Expression, ...]
    # A range that holds the values of all kept blocks; None where it is not known.
    hull: Cuts | None
    # The values that pass the filters that Spark pushes itself, and the blocks that the reader skips by them.
    pushed: Cuts
    skipped_by_query: np.ndarray
    rejects_null: bool

    def filter(self, values: Cuts, is_of_conditions: bool) -> RangeFilter:
        """Return the filter that lets these values of the column pass."""
        return RangeFilter(
            column=self.column.name,
            type=self.column.type,
            values=values,
            rejects_null=self.rejects_null,
            is_of_conditions=is_of_conditions,
        )

    def narrower_values(self, ranges: Cuts | None) -> Cuts | None:
        """Return the values of kept blocks that needed rows may have; None if none are known, or none left.

        Args:
            ranges: A set that holds the values of all kept blocks; None is their hull.
        """
        around = self.hull if ranges is None else ranges
        if around is None:
            return None
        values = value_ranges(self.conjuncts, self.column, around)
        if values.empty:
            return None
        return with_fewer_ranges(with_exact_ends(values, self.column.type), self.column.type, RANGES_MAX)

    def spares(self, values: Cuts) -> np.ndarray:
        """Mark the blocks that the reader skips by a filter on these values; shape (blocks,)."""
        return spared_blocks(self.bounds, as_ranges(values, self.column.type))

    def leaves_less(self, narrower: Cuts, ranges: Cuts | None) -> bool:
        """Tell whether values are clearly fewer than those that Spark's own filters leave.

        Args:
            narrower: The values.
            ranges: As for `narrower_values`, where these are known.
        """
        around, type_ = self.hull if ranges is None else ranges, self.column.type
        assert around is not None
        left = cuts.intersection(self.pushed, around)
        count, count_left = width(narrower, type_), width(left, type_)
        if count is None or count_left is None:
            # Strings cannot be counted. Ranges are added where Spark's own filters say nothing.
            return left == around != narrower
        return count <= _SHARE_MAX * count_left


def _column_searches(
    predicate: Expression,
    needed: Sequence[Expression],
    metadata: pa.Table,
    kept: np.ndarray,
    allowed: Mapping[str, Type],
) -> Iterator[_ColumnSearch]:
    """Yield the columns that a range filter may name; the arguments are those of `range_filters`."""
    conditions = (predicate, *needed)
    structs = whole(metadata.column("columns"))
    rows = metadata.column("row_count").combine_chunks()
    named = {name: type_ for condition in conditions for name, type_ in columns(condition).items()}
    for name, type_ in named.items():
        if is_nested(name) or allowed.get(name) != type_ or not has_field(structs, name):
            continue
        column = field_of(structs, name)
        stored = sql_type(column.type.field("min").type)
        if type_.kind not in RANGED or not (stored == type_ or (stored.integral and type_.integral)):
            continue
        # Of a measured block, the file may state other statistics, by which the reader would lose rows.
        if has_field(column, STATED) and _mask(pc.invert(field_of(column, STATED)))[kept].any():
            continue
        own = conjuncts_on(predicate, name)
        parts = tuple(
            dict.fromkeys((*own, *(part for other in needed for part in conjuncts_on(other, name))))
        )
        named_column = Column(name, type_)
        rejects_null = not may_match_null(parts, named_column)
        bounds = _block_bounds(column, rows, rejects_null=rejects_null)
        around = hull(bounds, kept)
        pushed = value_set([part for part in own if is_pushed(part)], named_column).cuts
        assert isinstance(pushed, Cuts)
        yield _ColumnSearch(
            column=named_column,
            bounds=bounds,
            conjuncts=parts,
            hull=None if around is None else as_cuts(around, type_),
            pushed=pushed,
            skipped_by_query=_skipped_blocks(bounds, pushed, type_),
            rejects_null=rejects_null,
        )


def _skipped_blocks(bounds: BlockBounds, pushed: Cuts, type_: Type) -> np.ndarray:
    """Mark the blocks that the reader skips by filters that Spark pushes itself; shape (blocks,)."""
    is_bounded = pc.and_(bounds.lower.is_valid(), bounds.upper.is_valid()).to_numpy(zero_copy_only=False)
    around = hull(bounds, is_bounded)
    inside = None if around is None else cuts.intersection(pushed, as_cuts(around, type_))
    # Comparisons of timestamps are not always pushed.
    if inside is None or inside.empty or type_.kind is Kind.TIMESTAMP:
        nothing: np.ndarray = np.zeros(len(is_bounded), bool)
        return nothing
    return spared_blocks(bounds, as_ranges(inside, type_))


def _block_bounds(column: pa.StructArray, rows: pa.Array, *, rejects_null: bool) -> BlockBounds:
    """Return the bounds of a column; a block whose NULL count is unknown may hold values and NULL."""
    null_count = field_of(column, "null_count")
    all_null = _mask(pc.equal(null_count, rows))
    no_null = _mask(pc.equal(null_count, 0))
    return BlockBounds(
        lower=ordered_bounds(field_of(column, "min")),
        upper=ordered_bounds(field_of(column, "max")),
        may_value=~all_null,
        may_pass_null=np.zeros(len(rows), bool) if rejects_null else ~no_null,
    )


def is_pushed(part: Expression) -> bool:
    """Tell whether Spark pushes a condition as it is, so that Parquet's reader skips pages by it."""
    match part:
        case And(operands) | Or(operands):
            return all(map(is_pushed, operands))
        case Not(operand):
            return is_pushed(operand)
        case In(Column(), members):
            return len(members) <= IN_LIST_MAX and all(isinstance(member, Literal) for member in members)
        case Compare(_, Column(), Literal()) | Compare(_, Literal(), Column()):
            return True
    return isinstance(part, IsNull | StartsWith) and isinstance(part.operand, Column)


def ordered_bounds(bounds: pa.Array) -> pa.Array:
    """Return bounds as bytes, integers or decimals, which Arrow orders as Spark orders the values."""
    kind = sql_type(bounds.type).kind
    if kind is Kind.STRING:
        return bounds.cast(pa.binary())
    if kind is Kind.DATE:
        return bounds.cast(pa.int32())
    return bounds.cast(pa.int64()) if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) else bounds


def _mask(flags: pa.Array) -> np.ndarray:
    """Return flags as a numpy array, False where they are unknown."""
    mask: np.ndarray = pc.fill_null(flags, False).to_numpy(zero_copy_only=False)
    return mask


def _are_texts(values: Cuts) -> bool:
    """Tell whether each end that is a string is text: of other bytes, Spark's Parquet reader makes text."""
    try:
        for value, _ in values.points:
            if isinstance(value, bytes):
                value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _range_sql(name: str, type_: Type, lower: Value | None, upper: Value | None, excluded: bool) -> str:
    """Return the condition that a value is in a range, whose greatest value may be excluded."""
    if lower is not None and lower == upper and not excluded:
        return f"{name} = {literal_sql(lower, type_)}"
    sides = [] if lower is None else [f"{name} >= {literal_sql(lower, type_)}"]
    if upper is not None:
        sides.append(f"{name} {'<' if excluded else '<='} {literal_sql(upper, type_)}")
    return " AND ".join(sides) if sides else f"{name} IS NOT NULL"
