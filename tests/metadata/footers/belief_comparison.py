"""Comparison of the block metadata of footers with what the plain reference believes of each chunk."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from reference_beliefs import SchemaColumn, believed_statistics, form_of

from oracles.files.footers import (
    I32,
    InElement,
    InFile,
    InGroup,
    InMeta,
    Struct,
    chunks_of,
    int_field,
    meta_of,
    struct_list,
)
from pruning.expressions.types import Kind, Type
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.comparable import comparable_columns
from pruning.metadata.table.schema import column_types
from pruning.metadata.table.structs import field_of

_LOCATORS = ("row_group", "row_offset", "byte_offset", "byte_count", "row_count")
_FACTS = ("null_count", "nan_count", "byte_count", "min", "max", "min_exact", "max_exact")
# The types of flat columns that Spark's reader compares, if the schema does not say otherwise.
_COMPARED = {
    Kind.BYTE,
    Kind.SHORT,
    Kind.INTEGER,
    Kind.LONG,
    Kind.DATE,
    Kind.TIMESTAMP,
    Kind.FLOAT,
    Kind.DOUBLE,
    Kind.STRING,
}


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """The block metadata of a file: types by column, locators and facts by block, comparable columns."""

    types: dict[str, Type]
    locators: list[tuple[Any, ...]]
    facts: dict[str, list[tuple[Any, ...]]]
    comparable: frozenset[str]


def expected_file(footer: Struct, columns: Iterable[SchemaColumn]) -> ExpectedFile:
    """Return the block metadata of a file from its footer, one chunk after the other."""
    entries = struct_list(footer, InFile.KEYS)
    keys = {entry[1][1].decode(): entry[2][1] if 2 in entry else b"" for entry in entries}
    created_by = footer[InFile.CREATED_BY][1] if InFile.CREATED_BY in footer else None
    groups = struct_list(footer, InFile.ROW_GROUPS)
    types: dict[str, Type] = {}
    facts: dict[str, list[tuple[Any, ...]]] = {}
    comparable = set()
    for column in columns:
        form = form_of(column.element)
        if form is None or not _agree_with_schema(footer, column):
            continue
        types[column.name], facts[column.name] = form.type, []
        is_counted = True
        for group, chunks in zip(groups, chunks_of(footer), strict=True):
            rows, meta = int_field(group, InGroup.ROWS), meta_of(chunks[column.chunk])
            believed = believed_statistics(column, form, meta, rows, created_by=created_by, keys=keys)
            believed |= {"nan_count": None, "byte_count": _size(meta)}
            facts[column.name].append(tuple(believed[name] for name in _FACTS))
            statistics = meta.get(InMeta.STATISTICS, (0, {}))[1]
            is_counted &= 3 in statistics or rows == 0
        if is_counted and is_flat(column) and form.type.kind in _COMPARED and _is_compared(column.element):
            comparable.add(column.name)
    return ExpectedFile(types, _locators(footer), facts, frozenset(comparable))


def _agree_with_schema(footer: Struct, column: SchemaColumn) -> bool:
    """Tell whether the row groups have the type and the path of a column as the schema has them."""
    metas = [meta_of(chunks[column.chunk]) for chunks in chunks_of(footer)]
    return all(
        meta[InMeta.TYPE] == column.element[InElement.TYPE] and tuple(meta[InMeta.PATH][1][1]) == column.path
        for meta in metas
    )


def is_flat(column: SchemaColumn) -> bool:
    """Tell whether a column is at the top of the schema."""
    return not column.name.startswith("`")


def _is_compared(element: Struct) -> bool:
    """Tell whether Spark's reader compares a column of a compared type: neither unsigned nor INT96."""
    if element[InElement.TYPE] == (I32, 3):
        return False
    logical = element[10][1] if 10 in element else {}
    if 10 in logical:
        return bool(logical[10][1][2][1])
    if logical:
        return bool({1, 6, 8} & logical.keys())
    converted = element[6][1] if 6 in element else None
    return converted in (None, 0, 6, 9, 10, 15, 16, 17, 18)


def _size(meta: Struct) -> int | None:
    size = int_field(meta, InMeta.COMPRESSED, -1)
    return size if size >= 0 else None


def _locators(footer: Struct) -> list[tuple[Any, ...]]:
    locators: list[tuple[Any, ...]] = []
    row_offset = 0
    for ordinal, (group, chunks) in enumerate(
        zip(struct_list(footer, InFile.ROW_GROUPS), chunks_of(footer), strict=True)
    ):
        rows, metas = int_field(group, InGroup.ROWS), [meta_of(chunk) for chunk in chunks]
        offsets, sizes = [_first_page(meta) for meta in metas], [_size(meta) for meta in metas]
        total = sum(size or 0 for size in sizes)
        locators.append(
            (
                ordinal,
                row_offset,
                None if None in offsets else min(offset for offset in offsets if offset is not None),
                None if None in sizes or total >= 1 << 63 else total,
                rows,
            )
        )
        row_offset += rows
    return locators


def _first_page(meta: Struct) -> int | None:
    data = int_field(meta, InMeta.DATA_PAGE, -1)
    dictionary = int_field(meta, InMeta.DICTIONARY_PAGE, -1)
    if data > 0 and dictionary > 0:
        return min(data, dictionary)
    return data if data >= 0 else None


def check_shards(shards: Sequence[Shard], expected: Mapping[str, ExpectedFile]) -> None:
    """Raise AssertionError unless the shards are the expected block metadata of all files."""
    assert sorted(file for part in shards for file in part.files) == sorted(expected)
    for part in shards:
        members = [expected[file] for file in part.files]
        types = column_types(part.table)
        assert all(list(member.types.items()) == list(types.items()) for member in members)
        names = [file for file, member in zip(part.files, members, strict=True) for _ in member.locators]
        assert part.table["file"].to_pylist() == names
        for place, name in enumerate(_LOCATORS):
            wanted = [locator[place] for member in members for locator in member.locators]
            _check_lanes(part.table[name].combine_chunks(), wanted, names, name)
        columns = part.table["columns"].combine_chunks()
        for column in types:
            struct = field_of(columns, column)
            for place, fact in enumerate(_FACTS):
                wanted = [facts[place] for member in members for facts in member.facts[column]]
                _check_lanes(field_of(struct, fact), wanted, names, f"{column}: {fact}")
        comparable = frozenset.intersection(*(member.comparable for member in members))
        assert comparable_columns(part.table) == comparable, json.dumps(sorted(comparable))


def _check_lanes(array: pa.Array, wanted: list[Any], files: Sequence[str], name: str) -> None:
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    expected = pa.array(wanted, array.type)
    # Equal floats may differ in their sign; and any bytes and any instant can be shown as numbers or bytes.
    bits = _BITS.get(array.type.id)
    if bits is not None:
        array, expected = pa.concat_arrays([array]).view(bits), expected.view(bits)
    if not array.equals(expected):
        lanes = zip(files, array.to_pylist(), expected.to_pylist(), strict=True)
        file, lane, reference = next(lane for lane in lanes if lane[1] != lane[2])
        raise AssertionError(f"{file}: {name} is {lane!r}, and by the reference {reference!r}")


_BITS = {
    pa.float32().id: pa.int32(),
    pa.float64().id: pa.int64(),
    pa.date32().id: pa.int32(),
    pa.timestamp("us").id: pa.int64(),
    pa.string().id: pa.binary(),
}
