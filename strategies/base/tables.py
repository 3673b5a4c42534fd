"""A table as the generators and the oracles share it: typed columns and blocks of plain rows.

Values are represented as in `pruning.expressions.types`. This module draws nothing, so an oracle
can use it without Hypothesis.

"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from pruning.expressions.trees import Column
from pruning.expressions.types import Kind, Type, Value

Row: TypeAlias = tuple[Value | None, ...]
Block: TypeAlias = tuple[Row, ...]

# Not the map of `pruning.metadata.table.schema`: an oracle must not depend on what it judges.
_ARROW: dict[Kind, pa.DataType] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.BYTE: pa.int8(),
    Kind.SHORT: pa.int16(),
    Kind.INTEGER: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
}
_STORED_AS = {Kind.DATE: pa.int32(), Kind.TIMESTAMP: pa.int64(), Kind.TIMESTAMP_NTZ: pa.int64()}


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, and blocks of rows; a row holds a value for each column, in their order."""

    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]

    @property
    def rows(self) -> Block:
        """Every row, block after block."""
        return tuple(row for block in self.blocks for row in block)

    @property
    def block_of_row(self) -> tuple[int, ...]:
        """The ordinal of the block that holds each of `rows`."""
        return tuple(ordinal for ordinal, block in enumerate(self.blocks) for _ in block)

    def values(self, name: str) -> tuple[Value | None, ...]:
        """Return the values of one column, in the order of `rows`."""
        position = [column.name for column in self.columns].index(name)
        return tuple(row[position] for row in self.rows)

    def as_mapping(self, row: Row) -> dict[str, Value | None]:
        """Return one row as a mapping from column names."""
        return {column.name: value for column, value in zip(self.columns, row, strict=True)}


def is_nan(value: Value | None) -> bool:
    """Tell whether a value is a floating NaN."""
    return isinstance(value, float) and math.isnan(value)


def sort_key(value: Value) -> tuple[bool, Value]:
    """Return a key that sorts non-NULL values of one type as Spark does: NaN is above every number."""
    return (True, 0.0) if is_nan(value) else (False, value)


def to_arrow(columns: Sequence[Column], rows: Iterable[Row]) -> pa.Table:
    """Return rows as an Arrow table, bit for bit: except NaN payloads, nothing is normalised."""
    rows = list(rows)
    arrays = [
        arrow_array(column.type, [row[position] for row in rows]) for position, column in enumerate(columns)
    ]
    fields = [pa.field(column.name, array.type) for column, array in zip(columns, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def arrow_array(type_: Type, values: Sequence[Value | None]) -> pa.Array:
    """Return one column's values as an Arrow array of the type that Spark reads `type_` from."""
    if type_.kind is Kind.DECIMAL:
        return pa.array(values, pa.decimal128(type_.precision, type_.scale))
    arrow = _ARROW[type_.kind]
    if type_.kind is Kind.STRING:
        # Convert by way of binary, so that bytes that are not UTF-8 stay as they are.
        binary = pa.array(values, pa.binary())
        return pa.Array.from_buffers(arrow, len(binary), binary.buffers())
    if type_.kind in _STORED_AS:
        return pa.array(values, _STORED_AS[type_.kind]).view(arrow)
    return pa.array(values, arrow)
