"""Blocks whose columns hold one value each, and what is then known of a function of those columns.

A block qualifies where each column holds one value, or none. Its rows are then known but for which
of them are NULL or NaN: they are among a few combinations, and a function that is evaluated on
those is known in the whole block ([M] 5.3.11).

Claim     A column that `with_function` adds says nothing of a block that is false of the function's
          value in one of its rows.
Premises  The metadata is true. The function depends on the columns alone. `values` has its value for
          each combination, and `failed` marks those for which it is not known.
Proof     (1) min <= v <= max and min = max, so each v that is neither NULL nor NaN equals min; widened
              bounds bound v too.
          (2) Equal values are one value, but for 0.0 and -0.0, which are both among the combinations.
          (3) NULL and NaN are among them unless a count excludes them; an unknown count does not.
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
from pruning.metadata.table.memberships import without
from pruning.metadata.table.schema import arrow_type, column_fields, column_types
from pruning.metadata.table.structs import field_of, made_of, whole

COMBINATIONS_MAX = 10_000
# Before equal ones are found; a few columns of a million blocks each.
_OCCURRENCES_MAX = 8_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrences:
    """The rows that can occur in blocks that qualify.

    Attributes:
        combinations: A row per distinct combination of values, a column per column asked for, in that
            order, named by its place.
        block, combination: Pairs: the block may hold rows of that combination.
    """

    combinations: pa.Table
    block: pa.Array
    combination: pa.Array


def occurrences(metadata: pa.Table, columns: Sequence[Column], among: pa.BooleanArray) -> Occurrences | None:
    """What can occur in the blocks that qualify; None where there is none, or far too much.

    Args:
        metadata: Block metadata.
        columns: At least one, each of the type that the metadata has, or of a wider integer.
        among: Which blocks are worth asking of; shape (blocks,).
    """
    known = column_types(metadata)
    if not all(column.name in known and column.type.known for column in columns):
        return None
    structs, rows = whole(metadata.column("columns")), whole(metadata.column("row_count"))
    each = [_alternatives(field_of(structs, column.name), rows, column.type) for column in columns]
    qualifies = pc.and_(among, pc.greater(rows, 0))
    for one_value, _ in each:
        qualifies = pc.and_(qualifies, one_value)
    found = pa.table({"block": pc.indices_nonzero(qualifies).cast(pa.int64())})
    for place, (_, alternatives) in enumerate(each):
        found = pa.concat_tables(_with_value(found, str(place), *pair) for pair in alternatives)
        if not 0 < len(found) <= _OCCURRENCES_MAX:
            return None
    return _distinct(found, [column.type for column in columns])


def with_function(
    metadata: pa.Table,
    name: str,
    type_: Type,
    found: Occurrences,
    *,
    values: pa.Array,
    failed: pa.BooleanArray,
) -> pa.Table:
    """The metadata with one more column, a function of others, known where it could be evaluated.

    Args:
        metadata: That of which `found` was asked.
        name: The new column's name, which no other has.
        type_: The function's type.
        found: What was evaluated.
        values: The function's value for each combination; shape (combinations,).
        failed: Where it has none; shape (combinations,).
    """
    facts = _per_block(found, type_, values, failed)
    place = pc.index_in(pa.array(range(len(metadata)), pa.int64()), value_set=facts["block"].combine_chunks())
    known = facts.take(place)
    rows = whole(metadata.column("row_count"))
    fields = column_fields(type_)
    lanes = {
        "null_count": _count(known["some_null"], known["all_null"], rows),
        "nan_count": _count(known["some_nan"], known["all_nan"], rows) if type_.floating else None,
        "min": known["min"].combine_chunks(),
        "max": known["max"].combine_chunks(),
        "min_exact": known["alone"].combine_chunks(),
        "max_exact": known["alone"].combine_chunks(),
    }
    arrays = [lanes.get(field.name) for field in fields]
    arrays = [
        pa.nulls(len(metadata), field.type) if lane is None else lane.cast(field.type)
        for lane, field in zip(arrays, fields, strict=True)
    ]
    return _with_struct(
        points.without(without(metadata, name), name),
        name,
        pa.StructArray.from_arrays(arrays, fields=list(fields)),
    )


def _alternatives(
    column: pa.StructArray, rows: pa.Array, type_: Type
) -> tuple[pa.BooleanArray, list[tuple[pa.BooleanArray, pa.Array]]]:
    """Which blocks hold one value at most, and all that a row may be: (in which blocks, what) pairs."""
    minimum, maximum = (field_of(column, side).cast(arrow_type(type_)) for side in ("min", "max"))
    nulls = field_of(column, "null_count")
    nans = field_of(column, "nan_count") if type_.floating else pa.repeat(pa.scalar(0, pa.int64()), len(rows))
    without_value = pc.add(nulls, pc.fill_null(nans, 0))
    may_value = _unless_known(pc.less(without_value, rows))
    one = pc.fill_null(pc.equal(minimum, maximum), False)
    pairs = [
        (pc.and_(one, may_value), minimum),
        (_unless_known(pc.not_equal(nulls, 0)), pa.nulls(len(rows), minimum.type)),
    ]
    if type_.floating:
        zero = pc.and_(pairs[0][0], pc.fill_null(pc.equal(minimum, pa.scalar(0, minimum.type)), False))
        may_nan = pc.and_(_unless_known(pc.not_equal(nans, 0)), _unless_known(pc.less(nulls, rows)))
        nan = pa.repeat(pa.scalar(float("nan"), minimum.type), len(rows))
        pairs += [(zero, pc.negate(minimum)), (may_nan, nan)]
    return pc.or_(one, pc.invert(may_value)), pairs


def _unless_known(flag: pa.BooleanArray) -> pa.BooleanArray:
    return pc.fill_null(flag, True)


def _with_value(found: pa.Table, name: str, where: pa.BooleanArray, what: pa.Array) -> pa.Table:
    """Those rows in whose block the value may occur, with that value."""
    kept = found.filter(where.take(found["block"]))
    return kept.append_column(name, what.take(kept["block"]))


def _distinct(found: pa.Table, types: list[Type]) -> Occurrences | None:
    names = [str(place) for place in range(len(types))]
    for place, name in enumerate(names):
        found = found.set_column(place + 1, name, _bits(found[name]))
    grouped = found.group_by(names, use_threads=False).aggregate([("block", "list")])
    if len(grouped) > COMBINATIONS_MAX:
        return None
    blocks = grouped["block_list"].combine_chunks()
    combinations = {
        name: _from_bits(grouped[name].combine_chunks(), arrow_type(type_))
        for name, type_ in zip(names, types, strict=True)
    }
    return Occurrences(
        combinations=pa.table(combinations),
        block=pc.list_flatten(blocks),
        combination=pc.list_parent_indices(blocks).cast(pa.int64()),
    )


def _bits(values: pa.ChunkedArray) -> pa.Array:
    """Floats as their bits, by which 0.0 and -0.0 differ."""
    whole = pa.concat_arrays(values.chunks)
    widths = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
    return whole.view(widths[whole.type]) if whole.type in widths else whole


def _from_bits(values: pa.Array, type_: pa.DataType) -> pa.Array:
    return values.view(type_) if pa.types.is_floating(type_) else values


def _per_block(found: Occurrences, type_: Type, values: pa.Array, failed: pa.BooleanArray) -> pa.Table:
    """What the values of each block's combinations have in common; blocks with a failure are left out."""
    null = pc.is_null(values)
    nan = pc.fill_null(pc.is_nan(values), False) if type_.floating else pa.repeat(False, len(values))
    ordered, rank = _ranked(pc.if_else(nan, pa.scalar(None, values.type), values))
    lanes = {"null": null, "nan": nan, "failed": failed, "rank": rank}
    pairs = pa.table(
        {"block": found.block, **{name: lane.take(found.combination) for name, lane in lanes.items()}}
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


def _ranked(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The distinct values in their order, and where among them each value stands."""
    distinct = pc.drop_null(pc.unique(values))
    ordered = distinct.take(pc.array_sort_indices(distinct))
    return ordered, pc.index_in(values, value_set=ordered)


def _count(some: pa.ChunkedArray, all_: pa.ChunkedArray, rows: pa.Array) -> pa.Array:
    """How many rows: none, all of them, or unknown; unknown as well where neither flag is known."""
    none = pc.invert(some.combine_chunks())
    zero, unknown = pa.scalar(0, pa.int64()), pa.scalar(None, pa.int64())
    otherwise = pc.if_else(pc.fill_null(all_.combine_chunks(), False), rows, unknown)
    return pc.if_else(pc.fill_null(none, False), zero, otherwise)


def _with_struct(metadata: pa.Table, name: str, struct: pa.StructArray) -> pa.Table:
    columns = whole(metadata.column("columns"))
    fields = {field.name: field_of(columns, field.name) for field in columns.type} | {name: struct}
    place = metadata.schema.get_field_index("columns")
    return metadata.set_column(place, "columns", made_of(fields, len(metadata)))
