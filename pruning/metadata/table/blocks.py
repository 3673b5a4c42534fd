"""Shards of block metadata: tables of files whose columns agree, and their union."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import INTEGRAL_BITS, Type
from pruning.metadata.footers.chunk_facts import ranges
from pruning.metadata.footers.footer import Footer
from pruning.metadata.footers.frame_files import facts_of_footers
from pruning.metadata.footers.other_columns import other_columns_of, unite_columns, with_other_columns
from pruning.metadata.table.believing import BlockPart, block_parts
from pruning.metadata.table.comparable import comparable_in_all, with_comparable
from pruning.metadata.table.schema import block_schema, column_types
from pruning.metadata.table.structs import field_of, make_typed_struct, whole


@dataclass(frozen=True, slots=True)
class Shard:
    """The block metadata of files whose columns agree in name, type and order.

    The rows of a file are adjacent, in the order of row groups; a file without row groups has none.
    """

    files: tuple[str, ...]
    table: pa.Table


def shards(footers: Iterable[tuple[str, Footer]]) -> list[Shard]:
    """Return the block metadata of files, each named once, grouped by their columns."""
    footers = list(footers)
    return make_shards(block_parts(facts_of_footers(footers)), [file for file, _ in footers])


def make_shards(parts: Iterable[BlockPart], files: Sequence[str]) -> list[Shard]:
    """Return the shards of block metadata that was made in parts, with the files in the given order."""
    position = {file: place for place, file in enumerate(files)}
    alike: dict[tuple[tuple[tuple[str, Type], ...], str], list[BlockPart]] = {}
    for part in sorted(parts, key=lambda part: min(map(position.__getitem__, part.files))):
        alike.setdefault((part.columns, part.others), []).append(part)
    return [_shard(dict(columns), others, members, position) for (columns, others), members in alike.items()]


def _shard(
    types: dict[str, Type], others: str, parts: Sequence[BlockPart], position: Mapping[str, int]
) -> Shard:
    schema = with_other_columns(block_schema(types), json.loads(others))
    batches = [pa.RecordBatch.from_arrays(list(part.arrays), schema=schema) for part in parts]
    table = pa.Table.from_batches(batches).combine_chunks()
    files = [file for part in parts for file in part.files]
    places = np.array([position[file] for file in files])
    order = np.argsort(places, kind="stable")
    if len(order) > 1 and (np.diff(places) < 0).any():
        counts = np.concatenate([part.group_counts for part in parts])
        starts = np.cumsum(counts) - counts
        table = table.take(pa.array(ranges(starts[order], counts[order]))).combine_chunks()
    comparable = frozenset.intersection(*(part.comparable for part in parts))
    return Shard(tuple(files[place] for place in order), with_comparable(table, comparable))


def unite(parts: Sequence[Shard], files: Sequence[str]) -> pa.Table:
    """Return one table of the shards, with the rows of `files` in their order; a file may occur twice.

    If a column has different types in different files, integers are widened to the widest; otherwise the
    type of the first file is taken, and the column is unknown in the blocks of the others.
    """
    position = {file: place for place, file in reversed(list(enumerate(files)))}
    wanted = [part for part in parts if any(file in position for file in part.files)]
    wanted.sort(key=lambda part: min(position.get(file, len(files)) for file in part.files))
    schema = with_other_columns(
        block_schema(_common_types([column_types(part.table) for part in wanted])),
        unite_columns(other_columns_of(part.table.schema) for part in wanted),
    )
    tables = [_conform(part.table, schema) for part in wanted]
    # One chunk, so that all columns can be sliced at the same positions.
    if len(tables) == 1 and tables[0].num_rows:
        table = tables[0].combine_chunks()
    else:
        table = pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()
    table = with_comparable(table, comparable_in_all([part.table for part in wanted], table))
    return _in_file_order(table, files)


def merge_alike(parts: Iterable[Shard]) -> list[Shard]:
    """Merge the shards of the same schema, so that their number does not grow with that of their parts."""
    alike: dict[tuple[object, ...], list[Shard]] = {}
    for part in parts:
        if part.files:
            schema = part.table.schema
            key = (
                tuple((schema.metadata or {}).items()),
                *(
                    (inner.name, str(inner.type))
                    for field in schema
                    for inner in (field.type if pa.types.is_struct(field.type) else [field])
                ),
            )
            alike.setdefault(key, []).append(part)
    return [
        Shard(
            tuple(file for part in same for file in part.files),
            _concatenation([part.table for part in same]),
        )
        for same in alike.values()
    ]


def _concatenation(tables: Sequence[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables)
    return (
        with_comparable(table, comparable_in_all(tables, table)) if "columns" in table.schema.names else table
    )


def rename(part: Shard, names: dict[str, str]) -> Shard:
    """Return the part of a shard that belongs to the files in `names`, under their new names."""
    old = [file for file in part.files if file in names]
    new = [names[file] for file in old]
    if old == new and len(old) == len(part.files):
        return part
    place = pc.index_in(part.table["file"], value_set=pa.array(old, pa.string()))
    # Filter only if necessary, because the time grows with the columns, of which there may be thousands.
    table = part.table.filter(pc.is_valid(place)) if place.null_count else part.table
    spelled = pa.array(new, pa.string()).take(pc.drop_null(place))
    return Shard(tuple(new), table.set_column(0, table.schema.field(0), spelled))


def _common_types(tables: list[dict[str, Type]]) -> dict[str, Type]:
    types_by_name: dict[str, list[Type]] = {}
    for name, type_ in chain.from_iterable(types.items() for types in tables):
        types_by_name.setdefault(name, []).append(type_)
    return {name: _widest_type(types) for name, types in types_by_name.items()}


def _widest_type(types: list[Type]) -> Type:
    if all(type_.integral for type_ in types):
        return max(types, key=lambda type_: INTEGRAL_BITS[type_.kind])
    return types[0]


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the same blocks under a schema with more or wider columns."""
    if table.schema.equals(schema, check_metadata=True):
        return table
    # A sliced or filtered table may have several chunks; structs are built from unchunked arrays.
    table = table.combine_chunks()
    here = column_types(table)
    columns = whole(table["columns"])
    columns_united = schema.field("columns").type
    structs = []
    for place, (name, type_) in enumerate(column_types(schema.empty_table()).items()):
        type_here = here.get(name)
        if type_here is not None and _fits(type_here, type_):
            structs.append(_widen(field_of(columns, name), columns_united.field(place).type))
        else:
            structs.append(_unknown_lanes(columns_united.field(place).type, len(table)))
    arrays = [*table.columns[:-1], make_typed_struct(structs, columns_united, len(table))]
    return pa.Table.from_arrays(arrays, schema=schema)


def _fits(stored: Type, united: Type) -> bool:
    """Tell whether values of the first type are values of the second."""
    if not (stored.integral and united.integral):
        return stored == united
    return INTEGRAL_BITS[stored.kind] <= INTEGRAL_BITS[united.kind]


def _widen(column: pa.StructArray, struct: pa.StructType) -> pa.StructArray:
    lanes = [field_of(column, field.name).cast(field.type) for field in struct]
    return make_typed_struct(lanes, struct, len(column))


def _unknown_lanes(struct: pa.StructType, length: int) -> pa.StructArray:
    return make_typed_struct([pa.nulls(length, field.type) for field in struct], struct, length)


def _in_file_order(table: pa.Table, files: Sequence[str]) -> pa.Table:
    counts = table["file"].value_counts()
    spans: dict[str, range] = {}
    start = 0
    for file, count in zip(
        counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True
    ):
        spans[file] = range(start, start + count)
        start += count
    rows = list(chain.from_iterable(spans.get(file, range(0)) for file in files))
    if rows == list(range(len(table))):
        return table
    return table.take(pa.array(rows, pa.int64())).combine_chunks()
