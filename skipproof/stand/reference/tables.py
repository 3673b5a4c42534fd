"""The tables of the small engine: row groups in memory, and the statistics that their files have."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from pruning.metadata.table.structs import field_of
from skipproof.stand.reference.evaluating import Schema
from skipproof.stand.reference.values import Row, Value, from_arrow, from_json
from strategies.engines.questions import Json

_BALLAST = {"a": "int32", "b": "string"}
# The names of a column and of the field in it, or the place of the element.
_Path: TypeAlias = tuple[str, ...]
_FIRST = "0"
# Enough for every small table.
_PARTITIONS_MAX = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableStatistics:
    """The kinds of statistics that a column of a row group has."""

    bounds: bool = True
    nulls: bool = True
    nans: bool = True
    dictionary: bool = True
    bloom: bool = True
    pages: bool = True


NOTHING = AvailableStatistics(
    bounds=False, nulls=False, nans=False, dictionary=False, bloom=False, pages=False
)


@dataclass(frozen=True, slots=True)
class Partition:
    """The partition of a group: the value of a transform of the first column, the same for all rows."""

    transform: str
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A leaf column of a row group.

    Attributes:
        path: The names of the column and of the fields that lead to it, joined by dots.
        column: The column of the table that it holds; empty if the table does not name it.
        ordinal: The position of the column in the file.
        stored: The type in the file, which may be narrower; empty for a field of a struct or no file.
    """

    path: str
    column: str
    type: str
    cells: Sequence[Value]
    stated: AvailableStatistics
    ordinal: int
    stored: str = ""
    partition: Partition | None = None


@dataclass(slots=True, eq=False)
class Group:
    """A row group; a column that it does not hold is NULL in all its rows."""

    rows: Sequence[Row]
    chunks: Sequence[Chunk]
    facts: dict[int, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table as a sequence of row groups.

    Attributes:
        remembered: The row groups that had a row that satisfies a condition, by the condition's key.
    """

    schema: Schema
    groups: Sequence[Group]
    remembered: dict[str, list[Group]] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """All rows of the table."""
        return [row for group in self.groups for row in group.rows]


def schema_of(table: Json) -> dict[str, tuple[int, str]]:
    """Return the position and the type of each column of a request's table."""
    return {column["name"]: (at, column["type"]) for at, column in enumerate(table["columns"])}


def from_blocks(table: Json, stated: AvailableStatistics) -> Table:
    """Return a table whose row groups are the blocks of a request's table."""
    types = [column["type"] for column in table["columns"]]
    groups = []
    for block in table["blocks"]:
        rows = [tuple(map(from_json, row, types)) for row in block]
        groups.append(Group(rows, [_chunk(rows, column, at, stated) for at, column in _columns(table)]))
    return Table(schema_of(table), groups)


def _columns(table: Json) -> Iterable[tuple[int, Json]]:
    """Return the columns of a request's table with their positions."""
    return enumerate(table["columns"])


def _chunk(rows: Sequence[Row], column: Json, at: int, stated: AvailableStatistics) -> Chunk:
    """Return the chunk of one column of a block."""
    cells = [row[at] for row in rows]
    name = column["name"]
    return Chunk(path=name, column=name, type=column["type"], cells=cells, stated=stated, ordinal=at)


def from_files(table: Json) -> Table:
    """Return a table of Parquet files, with their row groups."""
    groups: list[Group] = []
    partitions = table.get("partitions") or [{} for _ in table["files"]]
    for path, texts in zip(table["files"], partitions, strict=True):
        types = {column["name"]: column["type"] for column in table["columns"]}
        values = {name: _from_text(text, types[name]) for name, text in texts.items()}
        names = {
            tuple(map(str, column.get("path", [column["name"]]))): column["name"]
            for column in table["columns"]
        }
        with pq.ParquetFile(path) as file:
            groups += [_read(file, at, types, names, values) for at in range(file.num_row_groups)]
    return Table(schema_of(table), groups)


def _from_text(text: str | None, type_: str) -> Value:
    """Return the value of a partition that a directory names."""
    return text if text is None or type_ == "string" else int(text)


def _read(
    file: pq.ParquetFile,
    at: int,
    types: Mapping[str, str],
    names: Mapping[_Path, str],
    values: Mapping[str, Value],
) -> Group:
    """Read a row group; a column that the file lacks is NULL, or the value of its partition.

    Args:
        names: The columns of the table by their paths in files.
    """
    columns = file.read_row_group(at, use_threads=False)
    leaves = {path: _leaf(columns, path) for path in names}
    held = {
        names[path]: from_arrow(leaf, types[names[path]]) for path, leaf in leaves.items() if leaf is not None
    }
    cells = {name: held.get(name, [values.get(name)] * columns.num_rows) for name in types}
    chunks = _chunks(columns, file.metadata.row_group(at), cells, types, names)
    for name, value in values.items():
        partition = Partition("identity", value)
        chunks.append(
            Chunk(
                path=name,
                column=name,
                type=types[name],
                cells=cells[name],
                stated=NOTHING,
                ordinal=len(chunks),
                partition=partition,
            )
        )
    return Group(list(zip(*cells.values(), strict=True)), chunks)


def _chunks(
    columns: pa.Table,
    facts: Any,
    cells: Mapping[str, Sequence[Value]],
    types: Mapping[str, str],
    names: Mapping[_Path, str],
) -> list[Chunk]:
    """Return the chunks of a row group of a file."""
    chunks = []
    for ordinal, path in enumerate(_leaf_paths(columns.schema, names)):
        column = names.get(path, "")
        leaf, type_ = (cells[column], types[column]) if column else _unasked_leaf(columns, path, types)
        chunks.append(
            Chunk(
                path=".".join(path),
                column=column,
                type=type_,
                cells=leaf,
                # The statistics of a list are of all its elements.
                stated=NOTHING if path[-1] == _FIRST else _available_statistics(facts.column(ordinal)),
                ordinal=ordinal,
                stored=str(columns.schema.field(column).type) if path == (column,) else "",
            )
        )
    return chunks


def _leaf_paths(schema: pa.Schema, names: Mapping[_Path, str]) -> Iterator[_Path]:
    """Yield the paths of the leaves of a file's columns; of a list, the one that the table names.

    A list has one leaf, under the name of the list if the table does not name its element.
    """
    for column in schema:
        fields = column.type if pa.types.is_struct(column.type) else ()
        element = (column.name, _FIRST)
        leaf = element if element in names else (column.name,)
        yield from ((column.name, part.name) for part in fields) if fields else [leaf]


def _leaf(columns: pa.Table, path: _Path) -> pa.ChunkedArray | None:
    """Return a column of a file, or a field of a struct or an element of a list, NULL where there is none.

    None if the file has not the column.
    """
    if path[0] not in columns.column_names:
        return None
    column = columns[path[0]]
    if len(path) == 1:
        return column
    return _first_elements(column) if path[1] == _FIRST else field_of(column, path[1])


def _first_elements(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the first element of each list, NULL if there is none."""
    cells = (values[0] if values.is_valid and len(values) else None for values in lists)
    return pa.chunked_array([pa.array(list(cells), lists.type.value_type)])


def _unasked_leaf(columns: pa.Table, path: _Path, types: Mapping[str, str]) -> tuple[Sequence[Value], str]:
    """Return the cells and the type of a leaf that is no column of the table; none of a list.

    At the top level, it has the type of the column after which it, or the last part of its name, is named.
    """
    type_ = _BALLAST.get(path[1], "") if len(path) > 1 else types.get(path[0].rpartition(".")[2], "")
    leaf = _leaf(columns, path)
    return (from_arrow(leaf, type_), type_) if leaf is not None and type_ else ([], "")


def _available_statistics(column: Any) -> AvailableStatistics:
    """Return the kinds of statistics in a file; bloom filters and pages are always made by the engine."""
    statistics = column.statistics
    return AvailableStatistics(
        bounds=statistics is not None and statistics.has_min_max,
        nulls=statistics is not None and statistics.has_null_count,
        nans=statistics is not None,
        dictionary=bool(column.has_dictionary_page),
    )


def with_statistics(table: Table, statistics: str) -> Table:
    """Return the table with only the kinds of statistics that a setting allows."""
    if statistics == "all":
        return table
    return Table(
        table.schema,
        [
            Group(group.rows, [_with_fewer_statistics(chunk, statistics) for chunk in group.chunks])
            for group in table.groups
        ],
    )


def _with_fewer_statistics(chunk: Chunk, statistics: str) -> Chunk:
    """Return a chunk with only the kinds of statistics that a setting allows."""
    counted, stated = statistics != "no counts", chunk.stated
    few = AvailableStatistics(
        bounds=stated.bounds and statistics != "no bounds",
        nulls=stated.nulls and counted,
        nans=stated.nans and counted,
        dictionary=stated.dictionary and counted,
        bloom=stated.bloom,
        pages=stated.pages,
    )
    return replace(chunk, stated=few)


def split_by_partition(table: Table, transform: str, values: Sequence[Sequence[Value]]) -> Table:
    """Split each group by the values of a transform, which are given for each row of each group.

    A table of too many partitions is left whole: it would have about as many groups as rows.
    """
    partitions = [_positions(some) for some in values]
    if sum(map(len, partitions)) > _PARTITIONS_MAX:
        return table
    name, groups = next(iter(table.schema)), []
    for group, places in zip(table.groups, partitions, strict=True):
        groups += [
            _partition_group(group, at, Partition(transform, value), name) for value, at in places.items()
        ]
    return Table(table.schema, groups)


def _positions(values: Sequence[Value]) -> dict[Value, list[int]]:
    """Return the positions of each distinct value."""
    positions: dict[Value, list[int]] = {}
    for at, value in enumerate(values):
        positions.setdefault(value, []).append(at)
    return positions


def _partition_group(group: Group, positions: Sequence[int], partition: Partition, name: str) -> Group:
    """Return the group of the rows of a partition, whose value is of the column of that name."""
    chunks = []
    for chunk in group.chunks:
        cells = [chunk.cells[at] for at in positions] if chunk.cells else []
        shared = partition if chunk.column == name else None
        chunks.append(replace(chunk, cells=cells, partition=shared))
    return Group([group.rows[at] for at in positions], chunks)


def has_transform(transform: str, type_: str) -> bool:
    """Tell whether values of a type have a transform."""
    if transform == "truncate":
        return type_.startswith("int") or type_ == "string"
    return transform in ("identity", "bucket")
