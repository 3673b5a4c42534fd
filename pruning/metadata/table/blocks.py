"""From footers to block metadata: a row per row group, and tables of different files made one."""

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
from pruning.metadata.footers.nested import Leaf
from pruning.metadata.footers.other_columns import other_columns_of, united, with_other_columns
from pruning.metadata.footers.physical_types import Form, form_of
from pruning.metadata.footers.trust import Known, believed
from pruning.metadata.table.comparable import comparable_in_all, compares, with_comparable
from pruning.metadata.table.schema import block_schema, column_fields, column_types
from pruning.metadata.table.structs import field_of, whole

_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Shard:
    """Block metadata of files whose columns agree in name, type and order.

    The rows of a file stand together, by row group; a file without row groups has none.
    """

    files: tuple[str, ...]
    table: pa.Table


@dataclass(frozen=True, slots=True)
class _Column:
    leaf: Leaf
    form: Form


def shards(footers: Iterable[tuple[str, Footer]]) -> list[Shard]:
    """Block metadata of the files, those with the same columns together; files are named once each."""
    groups: dict[tuple[tuple[tuple[str, Type], ...], str], list[tuple[str, Footer, list[_Column]]]] = {}
    for file, footer in footers:
        known = [_Column(leaf, form) for leaf in footer.leaves if (form := form_of(leaf.element)) is not None]
        key = tuple((column.leaf.name, column.form.type) for column in known)
        groups.setdefault((key, json.dumps(footer.others)), []).append((file, footer, known))
    return [
        Shard(tuple(file for file, _, _ in members), _table(dict(key), members))
        for (key, _), members in groups.items()
    ]


def unite(parts: Sequence[Shard], files: Sequence[str]) -> pa.Table:
    """One table over the shards, with the rows of `files` in their order; a file may be asked for twice.

    Where files give a column different types, integers are widened to the widest; otherwise the type
    of the first file stands, and the others' blocks know nothing of the column.
    """
    position = {file: place for place, file in reversed(list(enumerate(files)))}
    wanted = [part for part in parts if any(file in position for file in part.files)]
    wanted.sort(key=lambda part: min(position.get(file, len(files)) for file in part.files))
    schema = with_other_columns(
        block_schema(_united_types([column_types(part.table) for part in wanted])),
        united(other_columns_of(part.table.schema) for part in wanted),
    )
    tables = [_conform(part.table, schema) for part in wanted]
    # One chunk, so that the lanes of all columns can be cut alike.
    if len(tables) == 1 and tables[0].num_rows:
        table = tables[0].combine_chunks()
    else:
        table = pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()
    table = with_comparable(table, comparable_in_all([part.table for part in wanted], table))
    return _in_order(table, files)


def rename(part: Shard, names: dict[str, str]) -> Shard:
    """The part of a shard that belongs to the files in `names`, under their new names."""
    old = [file for file in part.files if file in names]
    new = [names[file] for file in old]
    if old == new and len(old) == len(part.files):
        return part
    place = pc.index_in(part.table["file"], value_set=pa.array(old, pa.string()))
    # A filter takes a step per column, of which there may be thousands.
    table = part.table.filter(pc.is_valid(place)) if place.null_count else part.table
    spelled = pa.array(new, pa.string()).take(pc.drop_null(place))
    return Shard(tuple(new), table.set_column(0, table.schema.field(0), spelled))


def _table(types: dict[str, Type], members: list[tuple[str, Footer, list[_Column]]]) -> pa.Table:
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
    structs = [_facts(members, place, type_) for place, type_ in enumerate(types.values())]
    arrays.append(_struct(structs, schema.field("columns").type, len(locators[0])))
    names = (
        name
        for place, name in enumerate(types)
        if all(compares(footer, columns[place].leaf) for _, footer, columns in members)
    )
    return with_comparable(pa.Table.from_arrays(arrays, schema=schema), names)


def _extent(group: RowGroup) -> tuple[int | None, int | None]:
    """Where a row group's first page starts, and its compressed bytes; None where a chunk does not say."""
    offsets = [chunk.byte_offset for chunk in group.chunks if chunk.byte_offset is not None]
    sizes = [chunk.byte_count for chunk in group.chunks if chunk.byte_count is not None]
    complete = len(sizes) == len(group.chunks) and sum(sizes) <= _INT64_MAX
    return (
        min(offsets) if offsets and len(offsets) == len(group.chunks) else None,
        sum(sizes) if complete else None,
    )


def _facts(members: list[tuple[str, Footer, list[_Column]]], place: int, type_: Type) -> pa.StructArray:
    """What is known of one column, a lane per row group of all members."""
    known: list[Known] = []
    byte_counts: list[int | None] = []
    for _, footer, columns in members:
        column, source = columns[place], provenance(footer)
        for group in footer.row_groups:
            chunk = group.chunks[column.leaf.chunk]
            byte_counts.append(chunk.byte_count)
            known.append(
                believed(
                    chunk.statistics,
                    column.leaf,
                    column.form,
                    rows=group.row_count,
                    values=chunk.value_count,
                    source=source,
                )
            )
    struct = column_fields(type_)
    told = {field.name for field in fields(Known)}
    lanes = [
        pa.array([getattr(facts, field.name) for facts in known], field.type)
        if field.name in told
        else pa.array(byte_counts, field.type)
        if field.name == "byte_count"
        else pa.nulls(len(known), field.type)
        for field in struct
    ]
    return _struct(lanes, struct, len(known))


def _struct(arrays: list[Any], type_: pa.StructType, length: int) -> pa.StructArray:
    if not arrays:
        return pa.array([{}] * length, type_)
    return pa.StructArray.from_arrays(arrays, fields=list(type_))


def _united_types(tables: list[dict[str, Type]]) -> dict[str, Type]:
    seen: dict[str, list[Type]] = {}
    for name, type_ in chain.from_iterable(types.items() for types in tables):
        seen.setdefault(name, []).append(type_)
    return {name: _united(types) for name, types in seen.items()}


def _united(types: list[Type]) -> Type:
    if all(type_.integral for type_ in types):
        return max(types, key=lambda type_: INTEGRAL_BITS[type_.kind])
    return types[0]


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same blocks under a schema with more columns, or wider ones."""
    if table.schema.equals(schema, check_metadata=True):
        return table
    # A table that was cut or filtered may be in pieces; structs are put together from whole arrays.
    table = table.combine_chunks()
    here = column_types(table)
    columns = whole(table["columns"])
    columns_united = schema.field("columns").type
    structs = []
    for place, (name, type_) in enumerate(column_types(schema.empty_table()).items()):
        known = here.get(name)
        if known == type_ or (known is not None and known.integral and type_.integral):
            structs.append(_widened(field_of(columns, name), columns_united.field(place).type))
        else:
            structs.append(_unknown(columns_united.field(place).type, len(table)))
    arrays = [*table.columns[:-1], _struct(structs, columns_united, len(table))]
    return pa.Table.from_arrays(arrays, schema=schema)


def _widened(column: pa.StructArray, struct: pa.StructType) -> pa.StructArray:
    lanes = [field_of(column, field.name).cast(field.type) for field in struct]
    return _struct(lanes, struct, len(column))


def _unknown(struct: pa.StructType, length: int) -> pa.StructArray:
    return _struct([pa.nulls(length, field.type) for field in struct], struct, length)


def _in_order(table: pa.Table, files: Sequence[str]) -> pa.Table:
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
