"""Blocks whose columns are constant, and the facts that follow about functions of those columns.

A block qualifies if each column holds at most one value besides NULL and NaN. Then its rows are among a few
combinations of values, and evaluating a function on those gives its bounds in the whole block ([M] 5.3.11).

Claim     The facts of a column that `with_function` adds are true of the function's value in each row
          of the block.
Premises  The metadata is true. The function depends on the columns alone. `values` has its value for
          each combination, and `failed` marks those for which it is unknown.
Proof     (1) min <= v <= max and min = max, so each v that is neither NULL nor NaN equals min; widened
              bounds bound v too.
          (2) Equal values are one value, but for 0.0 and -0.0, which are both among the combinations.
          (3) NULL and NaN are among them unless a count excludes them; an unknown count excludes nothing.
          (4) So each row is one of its block's combinations, and the function's value there is one of
              theirs: no less than their least, NULL or NaN only where one of theirs is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.trees import Column
from pruning.expressions.types import Type
from pruning.metadata.table import points
from pruning.metadata.table.memberships import without_column
from pruning.metadata.table.schema import arrow_type, column_fields, column_types
from pruning.metadata.table.structs import field_of, make_struct, whole

COMBINATIONS_MAX = 10_000
# The most rows before duplicates are removed, enough for a few columns of a million blocks.
_ROWS_MAX = 8_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantBlocks:
    """The combinations of values that can occur in blocks that qualify.

    Attributes:
        combinations: A row per distinct combination, with the requested columns in order, named by their
            positions.
        block, combination: Pairs of indices: the block may hold rows of that combination.
    """

    combinations: pa.Table
    block: pa.Array
    combination: pa.Array


def constant_blocks(
    metadata: pa.Table, columns: Sequence[Column], among: pa.BooleanArray
) -> ConstantBlocks | None:
    """Return the combinations in the blocks that qualify; None if there are none or too many.

    Args:
        metadata: Block metadata.
        columns: At least one column, each with the type in the metadata or a wider integer type.
        among: The blocks to consider; shape (blocks,).
    """
    known_types = column_types(metadata)
    if not all(column.name in known_types and column.type.has_bounds for column in columns):
        return None
    structs, rows = whole(metadata.column("columns")), whole(metadata.column("row_count"))
    possible = [_possible_values(field_of(structs, column.name), rows, column.type) for column in columns]
    qualifies = pc.and_(among, pc.greater(rows, 0))
    for one_value, _ in possible:
        qualifies = pc.and_(qualifies, one_value)
    combinations = pa.table({"block": pc.indices_nonzero(qualifies).cast(pa.int64())})
    for place, (_, alternatives) in enumerate(possible):
        combinations = pa.concat_tables(_with_value(combinations, str(place), *pair) for pair in alternatives)
        if not 0 < len(combinations) <= _ROWS_MAX:
            return None
    return _distinct_combinations(combinations, [column.type for column in columns])


def with_function(
    metadata: pa.Table,
    name: str,
    type_: Type,
    constants: ConstantBlocks,
    *,
    values: pa.Array,
    failed: pa.BooleanArray,
) -> pa.Table:
    """Return the metadata with one more column, a function of others, known where it could be evaluated.

    Args:
        metadata: The metadata that `constants` was computed from.
        name: The new column's name, which is unique.
        type_: The function's type.
        constants: The combinations that were evaluated.
        values: The function's value for each combination; shape (combinations,).
        failed: True where the evaluation failed; shape (combinations,).
    """
    facts = _block_facts(constants, type_, values, failed)
    place = pc.index_in(pa.array(range(len(metadata)), pa.int64()), value_set=facts["block"].combine_chunks())
    block_facts = facts.take(place)
    rows = whole(metadata.column("row_count"))
    fields = column_fields(type_)
    lanes = {
        "null_count": _counts(block_facts["some_null"], block_facts["all_null"], rows),
        "nan_count": _counts(block_facts["some_nan"], block_facts["all_nan"], rows)
        if type_.floating
        else None,
        "min": block_facts["min"].combine_chunks(),
        "max": block_facts["max"].combine_chunks(),
        "min_exact": block_facts["alone"].combine_chunks(),
        "max_exact": block_facts["alone"].combine_chunks(),
    }
    arrays = [lanes.get(field.name) for field in fields]
    arrays = [
        pa.nulls(len(metadata), field.type) if lane is None else lane.cast(field.type)
        for lane, field in zip(arrays, fields, strict=True)
    ]
    return _with_column(
        points.without_column(without_column(metadata, name), name),
        name,
        pa.StructArray.from_arrays(arrays, fields=list(fields)),
    )


def _possible_values(
    column: pa.StructArray, rows: pa.Array, type_: Type
) -> tuple[pa.BooleanArray, list[tuple[pa.BooleanArray, pa.Array]]]:
    """Return the flags of blocks with at most one value, and pairs of (block flags, value that may occur)."""
    minimum, maximum = (field_of(column, side).cast(arrow_type(type_)) for side in ("min", "max"))
    nulls = field_of(column, "null_count")
    nans = field_of(column, "nan_count") if type_.floating else pa.repeat(pa.scalar(0, pa.int64()), len(rows))
    without_value = pc.add(nulls, pc.fill_null(nans, 0))
    may_value = _true_where_unknown(pc.less(without_value, rows))
    has_one_value = pc.fill_null(pc.equal(minimum, maximum), False)
    pairs = [
        (pc.and_(has_one_value, may_value), minimum),
        (_true_where_unknown(pc.not_equal(nulls, 0)), pa.nulls(len(rows), minimum.type)),
    ]
    if type_.floating:
        zero = pc.and_(pairs[0][0], pc.fill_null(pc.equal(minimum, pa.scalar(0, minimum.type)), False))
        may_nan = pc.and_(
            _true_where_unknown(pc.not_equal(nans, 0)), _true_where_unknown(pc.less(nulls, rows))
        )
        nan = pa.repeat(pa.scalar(float("nan"), minimum.type), len(rows))
        pairs += [(zero, pc.negate(minimum)), (may_nan, nan)]
    return pc.or_(has_one_value, pc.invert(may_value)), pairs


def _true_where_unknown(flag: pa.BooleanArray) -> pa.BooleanArray:
    return pc.fill_null(flag, True)


def _with_value(combinations: pa.Table, name: str, may_hold: pa.BooleanArray, values: pa.Array) -> pa.Table:
    """Return the rows in whose block the value may occur, with the value as a new column."""
    kept = combinations.filter(may_hold.take(combinations["block"]))
    return kept.append_column(name, values.take(kept["block"]))


def _distinct_combinations(rows: pa.Table, types: list[Type]) -> ConstantBlocks | None:
    names = [str(place) for place in range(len(types))]
    for place, name in enumerate(names):
        rows = rows.set_column(place + 1, name, _bits(rows[name]))
    grouped = rows.group_by(names, use_threads=False).aggregate([("block", "list")])
    if len(grouped) > COMBINATIONS_MAX:
        return None
    blocks = grouped["block_list"].combine_chunks()
    combinations = {
        name: _from_bits(grouped[name].combine_chunks(), arrow_type(type_))
        for name, type_ in zip(names, types, strict=True)
    }
    return ConstantBlocks(
        combinations=pa.table(combinations),
        block=pc.list_flatten(blocks),
        combination=pc.list_parent_indices(blocks).cast(pa.int64()),
    )


def _bits(values: pa.ChunkedArray) -> pa.Array:
    """Return floats as their bits, which distinguish 0.0 from -0.0."""
    whole = pa.concat_arrays(values.chunks)
    widths = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
    return whole.view(widths[whole.type]) if whole.type in widths else whole


def _from_bits(values: pa.Array, type_: pa.DataType) -> pa.Array:
    return values.view(type_) if pa.types.is_floating(type_) else values


def _block_facts(
    constants: ConstantBlocks, type_: Type, values: pa.Array, failed: pa.BooleanArray
) -> pa.Table:
    """Summarize the function's values in each block; blocks with a failure are left out."""
    null = pc.is_null(values)
    nan = pc.fill_null(pc.is_nan(values), False) if type_.floating else pa.repeat(False, len(values))
    ordered, rank = _rank(pc.if_else(nan, pa.scalar(None, values.type), values))
    lanes = {"null": null, "nan": nan, "failed": failed, "rank": rank}
    pairs = pa.table(
        {"block": constants.block, **{name: lane.take(constants.combination) for name, lane in lanes.items()}}
    )
    totals = pairs.group_by("block", use_threads=False).aggregate(
        [
            ("null", "any"),
            ("null", "all"),
            ("nan", "any"),
            ("nan", "all"),
            ("failed", "any"),
            ("rank", "min"),
            ("rank", "max"),
        ]
    )
    totals = totals.filter(pc.invert(totals["failed_any"])).combine_chunks()
    alone = pc.fill_null(pc.equal(totals["rank_min"], totals["rank_max"]), False)
    alone = pc.and_(alone, pc.invert(pc.or_(totals["null_any"], totals["nan_any"])))
    return pa.table(
        {
            "block": totals["block"],
            "some_null": totals["null_any"],
            "all_null": totals["null_all"],
            "some_nan": totals["nan_any"],
            "all_nan": totals["nan_all"],
            "min": ordered.take(totals["rank_min"]),
            "max": ordered.take(totals["rank_max"]),
            "alone": alone,
        }
    )


def _rank(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the distinct values in ascending order, and the index of each value among them."""
    distinct = pc.drop_null(pc.unique(values))
    ordered = distinct.take(pc.array_sort_indices(distinct))
    return ordered, pc.index_in(values, value_set=ordered)


def _counts(some: pa.ChunkedArray, all_: pa.ChunkedArray, rows: pa.Array) -> pa.Array:
    """Return the count of rows for which a flag holds: none, all, or unknown."""
    none = pc.invert(some.combine_chunks())
    zero, unknown = pa.scalar(0, pa.int64()), pa.scalar(None, pa.int64())
    otherwise = pc.if_else(pc.fill_null(all_.combine_chunks(), False), rows, unknown)
    return pc.if_else(pc.fill_null(none, False), zero, otherwise)


def _with_column(metadata: pa.Table, name: str, struct: pa.StructArray) -> pa.Table:
    columns = whole(metadata.column("columns"))
    fields = {field.name: field_of(columns, field.name) for field in columns.type} | {name: struct}
    place = metadata.schema.get_field_index("columns")
    return metadata.set_column(place, "columns", make_struct(fields, len(metadata)))
