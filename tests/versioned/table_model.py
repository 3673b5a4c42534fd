"""The model of a table that changes: its columns by ids, its rows in memory, and their values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from pruning.expressions.trees import Column
from pruning.expressions.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    Value,
    decimal,
)
from strategies.base.tables import Table, to_arrow

# The values of a row by the ids of columns; a column that it lacks is NULL.
ModelRow: TypeAlias = Mapping[int, Value | None]

# The column that numbers the rows, of which no two are the same.
NUMBER_ID, NUMBER = 0, "n"
NAMES = ("a", "b", "c", "d", "e f")
COLUMNS_MAX = 5
_HOUR_US, _MORNING_US = 3_600_000_000, 1_700_000_000_000_000
_LONG = b"a text as long as a bound of texts"
_DOUBLES = (float("-inf"), -2.5, -0.0, 0.0, 0.25, 3.0, 1e300, float("nan"))
# The values of each type, in order.
VALUES: Mapping[Type, tuple[Value, ...]] = {
    INTEGER: (-(2**31), -1, 0, 1, 2, 3, 5, 8, 13, 2**31 - 1),
    STRING: (
        b"A",
        _LONG[:16],
        _LONG[:16] + b"z",
        _LONG[:31] + "\U0010ffff".encode(),
        _LONG[:32],
        _LONG[:32] + b"x",
        _LONG[:32] + b"y",
        b"b",
        "\u00e9".encode() * 33,
        # PyIceberg names directories after partition values, with twelve characters for each of these.
        "\U0010ffff".encode() * 17,
    ),
    FLOAT: _DOUBLES[:6] + _DOUBLES[7:],
    DOUBLE: _DOUBLES,
    DATE: (-141_428, -1, 0, 19_000, 19_001, 19_002, 19_030, 19_400),
    TIMESTAMP: (
        -1,
        *(_MORNING_US + hour * _HOUR_US for hour in range(4)),
        _MORNING_US + 1_999,
        _MORNING_US + 24 * _HOUR_US,
    ),
    decimal(9, 2): tuple(Decimal(digits).scaleb(-2) for digits in (-999_999_999, -5, 0, 5, 150, 1_000)),
}
WIDER = {INTEGER: LONG, FLOAT: DOUBLE, decimal(9, 2): decimal(18, 2)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelColumn:
    """A column of the table; its id stays when its name and its type change."""

    id: int
    name: str
    type: Type

    @property
    def values(self) -> tuple[Value, ...]:
        """The values that rows have in it, in order."""
        first = next((narrow for narrow, wide in WIDER.items() if wide == self.type), self.type)
        return VALUES[self.type if self.type in VALUES else first]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """The table at one version.

    Attributes:
        columns: All columns but the one that numbers the rows.
        rows: The rows, by their numbers.
    """

    columns: tuple[ModelColumn, ...]
    rows: Mapping[int, ModelRow]

    @property
    def all_columns(self) -> tuple[ModelColumn, ...]:
        """The columns, and last the one that numbers the rows."""
        return (*self.columns, ModelColumn(id=NUMBER_ID, name=NUMBER, type=LONG))

    @property
    def table(self) -> Table:
        """The rows as queries and oracles take them."""
        columns = tuple(Column(column.name, column.type) for column in self.all_columns)
        return Table(columns, (self.tuples(self.rows.values()),))

    def tuples(self, rows: Any) -> tuple[tuple[Value | None, ...], ...]:
        """Return rows as tuples in the order of the columns."""
        return tuple(tuple(row.get(column.id) for column in self.all_columns) for row in rows)

    def python_rows(self) -> list[tuple[Any, ...]]:
        """Return the rows with the values that Arrow has for Python."""
        return [tuple(row.values()) for row in to_arrow(self.table.columns, self.table.rows).to_pylist()]

    def with_rows(self, changed: Mapping[int, ModelRow], without: Sequence[int] = ()) -> "ModelState":
        """Return the table with some rows added or changed, and without others."""
        rows = {number: row for number, row in self.rows.items() if number not in without}
        return replace(self, rows=rows | dict(changed))

    def with_columns(self, columns: Sequence[ModelColumn]) -> "ModelState":
        """Return the table with other columns."""
        return replace(self, columns=tuple(columns))


def arrow_rows(columns: Sequence[ModelColumn], rows: Sequence[ModelRow]) -> pa.Table:
    """Return the values of some columns as Arrow has them, under the columns' names."""
    cells = [tuple(row.get(column.id) for column in columns) for row in rows]
    return to_arrow([Column(column.name, column.type) for column in columns], cells)


def model_values(column: pa.ChunkedArray) -> list[Value | None]:
    """Return values of Arrow as the model has them."""
    type_ = column.type
    if pa.types.is_timestamp(type_):
        column = column.cast(pa.timestamp("us", type_.tz)).cast(pa.int64())
    elif pa.types.is_date32(type_):
        column = column.cast(pa.int32())
    values: list[Value | None] = column.to_pylist()
    return [value.encode() if isinstance(value, str) else value for value in values]


def is_key(type_: Type) -> bool:
    """Tell whether columns of a type partition tables: floating numbers do not, for 0.0 is -0.0."""
    return type_.kind not in (Kind.FLOAT, Kind.DOUBLE)
