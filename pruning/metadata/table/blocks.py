"""Conversion of footers to block metadata with a row per row group, and union of such tables."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import INTEGRAL_BITS, Type
from pruning.metadata.footers.evidence import provenance
from pruning.metadata.footers.footer import Footer, RowGroup
from pruning.metadata.footers.nested import SchemaLeaf
from pruning.metadata.footers.other_columns import other_columns_of, unite_columns, with_other_columns
from pruning.metadata.footers.physical_types import ColumnStorage, column_storage
from pruning.metadata.footers.trust import ColumnFacts, believed_facts
from pruning.metadata.table.comparable import comparable_in_all, is_compared, with_comparable
from pruning.metadata.table.schema import block_schema, column_fields, column_types
from pruning.metadata.table.structs import field_of, whole

_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Shard:
    """The block metadata of files whose columns agree in name, type and order.

    The rows of a file are adjacent, in the order of row groups; a file without row groups has none.
    """

    files: tuple[str, ...]
    table: pa.Table


@dataclass(frozen=True, slots=True)
class _Column:
    leaf: SchemaLeaf
    storage: ColumnStorage


def shards(footers: Iterable[tuple[str, Footer]]) -> list[Shard]:
    """Return the block metadata of files, each named once, grouped by their columns."""
    groups: dict[tuple[tuple[tuple[str, Type], ...], str], list[tuple[str, Footer, list[_Column]]]] = {}
    for file, footer in footers:
        columns = [
            _Column(leaf, storage)
            for leaf in footer.leaves
            if (storage := column_storage(leaf.element)) is not None
        ]
        key = tuple((column.leaf.name, column.storage.type) for column in columns)
        groups.setdefault((key, json.dumps(footer.others)), []).append((file, footer, columns))
    return [
        Shard(tuple(file for file, _, _ in members), _block_table(dict(key), members))
        for (key, _), members in groups.items()
    ]


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


def _block_table(types: dict[str, Type], members: list[tuple[str, Footer, list[_Column]]]) -> pa.Table:
    schema = with_other_columns(block_schema(types), members[0][1].others)
    locators: list[list[Any]] = [[], [], [], [], [], []]
    for file, footer, _ in members:
        row_offset = 0
        for ordinal, group in enumerate(footer.row_groups):
            row = (file, ordinal, row_offset, *_extent(group), group.row_count)
            for cells, cell in zip(locators, row, strict=True):
                cells.append(cell)
            row_offset += group.row_count
    arrays = [pa.array(cells, field.type) for cells, field in zip(locators, schema, strict=False)]
    structs = [_column_lanes(members, place, type_) for place, type_ in enumerate(types.values())]
    arrays.append(_make_struct(structs, schema.field("columns").type, len(locators[0])))
    names = (
        name
        for place, name in enumerate(types)
        if all(is_compared(footer, columns[place].leaf) for _, footer, columns in members)
    )
    return with_comparable(pa.Table.from_arrays(arrays, schema=schema), names)


def _extent(group: RowGroup) -> tuple[int | None, int | None]:
    """Return the offset of a row group's first page, and its compressed bytes; None if a chunk lacks them."""
    offsets = [chunk.byte_offset for chunk in group.chunks if chunk.byte_offset is not None]
    sizes = [chunk.byte_count for chunk in group.chunks if chunk.byte_count is not None]
    complete = len(sizes) == len(group.chunks) and sum(sizes) <= _INT64_MAX
    return (
        min(offsets) if offsets and len(offsets) == len(group.chunks) else None,
        sum(sizes) if complete else None,
    )


def _column_lanes(
    members: list[tuple[str, Footer, list[_Column]]], place: int, type_: Type
) -> pa.StructArray:
    """Return the facts about one column, a lane per row group of all members."""
    column_facts: list[ColumnFacts] = []
    byte_counts: list[int | None] = []
    for _, footer, columns in members:
        column, source = columns[place], provenance(footer)
        for group in footer.row_groups:
            chunk = group.chunks[column.leaf.chunk]
            byte_counts.append(chunk.byte_count)
            column_facts.append(
                believed_facts(
                    chunk.statistics,
                    column.leaf,
                    column.storage,
                    rows=group.row_count,
                    values=chunk.value_count,
                    source=source,
                )
            )
    struct = column_fields(type_)
    fact_names = {field.name for field in fields(ColumnFacts)}
    lanes = [
        pa.array([getattr(facts, field.name) for facts in column_facts], field.type)
        if field.name in fact_names
        else pa.array(byte_counts, field.type)
        if field.name == "byte_count"
        else pa.nulls(len(column_facts), field.type)
        for field in struct
    ]
    return _make_struct(lanes, struct, len(column_facts))


def _make_struct(arrays: list[Any], type_: pa.StructType, length: int) -> pa.StructArray:
    if not arrays:
        return pa.array([{}] * length, type_)
    return pa.StructArray.from_arrays(arrays, fields=list(type_))


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
        if type_here == type_ or (type_here is not None and type_here.integral and type_.integral):
            structs.append(_widen(field_of(columns, name), columns_united.field(place).type))
        else:
            structs.append(_unknown_lanes(columns_united.field(place).type, len(table)))
    arrays = [*table.columns[:-1], _make_struct(structs, columns_united, len(table))]
    return pa.Table.from_arrays(arrays, schema=schema)


def _widen(column: pa.StructArray, struct: pa.StructType) -> pa.StructArray:
    lanes = [field_of(column, field.name).cast(field.type) for field in struct]
    return _make_struct(lanes, struct, len(column))


def _unknown_lanes(struct: pa.StructType, length: int) -> pa.StructArray:
    return _make_struct([pa.nulls(length, field.type) for field in struct], struct, length)


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
