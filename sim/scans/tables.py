"""Tables of a simulated world: blocks, and their metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa

from pruning.expressions.types import Type, Value
from pruning.metadata.table.schema import arrow_type, block_schema
from sim.scans.layouts import FileLayout

# A row by column; each row of a table with rows has a unique number under `ID`.
Row: TypeAlias = Mapping[str, Value | None]
ID = "id"


class ScannedTable(Protocol):
    """The interface of both kinds of tables.

    Attributes:
        metadata: Block metadata as the metadata service or footers have it (`pruning.metadata.table.schema`).
        layout: The positions of the bytes of blocks.
    """

    @property
    def name(self) -> str: ...

    @property
    def types(self) -> Mapping[str, Type]: ...

    @property
    def metadata(self) -> pa.Table: ...

    @property
    def layout(self) -> FileLayout: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowTable:
    """A table with rows, so that answers can be judged."""

    name: str
    types: Mapping[str, Type]
    blocks: tuple[tuple[Row, ...], ...]
    metadata: pa.Table
    layout: FileLayout

    @property
    def rows(self) -> list[Row]:
        """All rows, block by block."""
        return [row for block in self.blocks for row in block]


def unknown_metadata(table: ScannedTable) -> pa.Table:
    """Return metadata of as many blocks, with nothing but their places and sizes."""
    metadata = table.metadata
    rows = metadata.num_rows
    schema = block_schema({})
    columns = {
        name: metadata.column(name) for name in schema.names if name in ("file", "row_group", "byte_count")
    }
    # Claim one row for each block: its number of rows is unknown, so it may have some.
    filled = {
        "row_offset": pa.nulls(rows, pa.int64()).fill_null(0),
        "byte_offset": pa.nulls(rows, pa.int64()),
        "row_count": pa.nulls(rows, pa.int64()).fill_null(1),
        "columns": pa.array([{}] * rows, pa.struct([])),
    }
    return pa.Table.from_arrays([columns.get(name, filled.get(name)) for name in schema.names], schema=schema)


def metadata_table(
    name: str,
    types: Mapping[str, Type],
    blocks: Sequence[Sequence[Row]],
    facts: Sequence[Mapping[str, dict[str, object]]],
) -> pa.Table:
    """Return block metadata with the given statistics of each column of each block."""
    schema = block_schema(types)
    records = [
        {
            "file": f"{name}/{ordinal:05d}",
            "row_group": 0,
            "row_offset": 0,
            "byte_offset": 4,
            "byte_count": None,
            "row_count": len(block),
            "columns": {column: facts[ordinal][column] for column in types},
        }
        for ordinal, block in enumerate(blocks)
    ]
    return pa.Table.from_pylist(records, schema=schema)


def lane(values: Sequence[Value | None], type_: Type) -> pa.Array:
    """Return values of a column in the form of bounds in block metadata."""
    return pa.array(values, arrow_type(type_))
