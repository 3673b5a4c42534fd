"""Tables of the small engine: row groups in memory, and what their files state."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from skipproof.stand.reference.evaluating import Schema
from skipproof.stand.reference.values import Row, Value, from_arrow, from_json
from strategies.engines.questions import Json

_BALLAST = {"a": "int32", "b": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """Which statistics there are of a column of a row group."""

    bounds: bool = True
    nulls: bool = True
    nans: bool = True
    dictionary: bool = True
    bloom: bool = True
    pages: bool = True


NOTHING = Stated(bounds=False, nulls=False, nans=False, dictionary=False, bloom=False, pages=False)


@dataclass(frozen=True, slots=True)
class Partition:
    """What all rows of a group share: the transform of the first column has one value."""

    transform: str
    value: Value


@dataclass(frozen=True, slots=True)
class Chunk:
    """A leaf column of a row group.

    Attributes:
        ordinal: Its place in the file.
        stored: The type that the file has, if it is narrower.
    """

    path: str
    type: str
    cells: Sequence[Value]
    stated: Stated
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
    """A table in row groups."""

    schema: Schema
    groups: Sequence[Group]

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for group in self.groups for row in group.rows]


def schema_of(table: Json) -> dict[str, tuple[int, str]]:
    """Where the columns of a request's table are in its rows."""
    return {column["name"]: (at, column["type"]) for at, column in enumerate(table["columns"])}


def from_blocks(table: Json, stated: Stated) -> Table:
    """A table of blocks, each of them a row group."""
    types = [column["type"] for column in table["columns"]]
    groups = []
    for block in table["blocks"]:
        rows = [tuple(map(from_json, row, types)) for row in block]
        groups.append(Group(rows, [_chunk(rows, column, at, stated) for at, column in _columns(table)]))
    return Table(schema_of(table), groups)


def _columns(table: Json) -> Iterable[tuple[int, Json]]:
    return enumerate(table["columns"])


def _chunk(rows: Sequence[Row], column: Json, at: int, stated: Stated) -> Chunk:
    return Chunk(column["name"], column["type"], [row[at] for row in rows], stated, at)


def from_files(table: Json) -> Table:
    """A table of Parquet files, with the row groups of these."""
    groups: list[Group] = []
    given = table.get("partitions") or [{} for _ in table["files"]]
    for path, texts in zip(table["files"], given, strict=True):
        types = {column["name"]: column["type"] for column in table["columns"]}
        values = {name: _from_text(text, types[name]) for name, text in texts.items()}
        with pq.ParquetFile(path) as file:
            groups += [_read(file, at, types, values) for at in range(file.num_row_groups)]
    return Table(schema_of(table), groups)


def _from_text(text: str | None, type_: str) -> Value:
    """The value of a partition that a directory names."""
    return text if text is None or type_ == "string" else int(text)


def _read(file: pq.ParquetFile, at: int, types: Mapping[str, str], values: Mapping[str, Value]) -> Group:
    """A row group; what the file does not hold is NULL, or the value of its partition."""
    columns = file.read_row_group(at, use_threads=False)
    held = {name: from_arrow(columns[name], types[name]) for name in types if name in columns.column_names}
    cells = {name: held.get(name, [values.get(name)] * columns.num_rows) for name in types}
    chunks = _chunks(columns, file.metadata.row_group(at), cells, types)
    for name, value in values.items():
        partition = Partition("identity", value)
        chunks.append(Chunk(name, types[name], cells[name], NOTHING, len(chunks), partition=partition))
    return Group(list(zip(*cells.values(), strict=True)), chunks)


def _chunks(
    columns: pa.Table, facts: Any, cells: Mapping[str, Sequence[Value]], types: Mapping[str, str]
) -> list[Chunk]:
    chunks = []
    for ordinal in range(facts.num_columns):
        path = facts.column(ordinal).path_in_schema
        leaf, type_ = (cells[path], types[path]) if path in cells else _ballast(columns, path)
        stored = str(columns.schema.field(path).type) if path in cells else ""
        chunks.append(Chunk(path, type_, leaf, _stated(facts.column(ordinal)), ordinal, stored))
    return chunks


def _ballast(columns: pa.Table, path: str) -> tuple[list[Value], str]:
    """The cells of a field of a struct, or none of a list, which has no statistics here."""
    column, _, inside = path.partition(".")
    if inside not in _BALLAST:
        return [], ""
    whole = columns[column].to_pylist()
    return [None if one is None else one[inside] for one in whole], _BALLAST[inside]


def _stated(column: Any) -> Stated:
    """What the file states; bloom filters and pages of its own the engine always has."""
    statistics = column.statistics
    return Stated(
        bounds=statistics is not None and statistics.has_min_max,
        nulls=statistics is not None and statistics.has_null_count,
        nans=statistics is not None,
        dictionary=bool(column.has_dictionary_page),
    )


def kept(table: Table, statistics: str) -> Table:
    """The same table with some kinds of statistics only."""
    if statistics == "all":
        return table
    return Table(
        table.schema,
        [Group(group.rows, [_less(chunk, statistics) for chunk in group.chunks]) for group in table.groups],
    )


def _less(chunk: Chunk, statistics: str) -> Chunk:
    counted, stated = statistics != "no counts", chunk.stated
    few = Stated(
        bounds=stated.bounds and statistics != "no bounds",
        nulls=stated.nulls and counted,
        nans=stated.nans and counted,
        dictionary=stated.dictionary and counted,
        bloom=stated.bloom,
        pages=stated.pages,
    )
    return replace(chunk, stated=few)


def partitioned(table: Table, transform: str, values: Sequence[Sequence[Value]]) -> Table:
    """The same rows in a row group for each value of a transform, given for the rows of each group."""
    name, groups = next(iter(table.schema)), []
    for group, some in zip(table.groups, values, strict=True):
        distinct = dict.fromkeys(some)
        groups += [_part(group, some, Partition(transform, value), name) for value in distinct]
    return Table(table.schema, groups)


def _part(group: Group, values: Sequence[Value], partition: Partition, name: str) -> Group:
    """The rows of a group that have one value."""
    positions = [at for at, value in enumerate(values) if value == partition.value]
    chunks = []
    for chunk in group.chunks:
        cells = [chunk.cells[at] for at in positions] if chunk.cells else []
        shared = partition if chunk.path == name else None
        chunks.append(replace(chunk, cells=cells, partition=shared))
    return Group([group.rows[at] for at in positions], chunks)


def shares(transform: str, type_: str) -> bool:
    """Whether values of a type have this transform."""
    if transform == "truncate":
        return type_.startswith("int") or type_ == "string"
    return transform in ("identity", "bucket")
