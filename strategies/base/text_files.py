"""Tables whose values are plain as text files, CSV and JSON, and as Python rows.

Plain values are those that every text format keeps: numbers of few digits, words of letters and digits, and
days and times of our century or so.
"""

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

from pruning.expressions.types import Kind, Type, Value
from strategies.base.tables import Table

_WORD = re.compile(rb"[a-z0-9]+\Z")
_EIGHTHS_MAX = 8_000_000
_DAYS_MAX, _US_OF_DAY = 40_000, 86_400_000_000
_DAY_0 = datetime.date(1970, 1, 1)
_TIME_0 = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_QUOTED = (Kind.STRING, Kind.DATE, Kind.TIMESTAMP)


def is_plain(table: Table) -> bool:
    """Tell whether text files and Python rows hold each value of a table."""
    return all(
        value is None or _is_plain(value, column.type)
        for position, column in enumerate(table.columns)
        for value in (row[position] for row in table.rows)
    )


def write_csv(table: Table, path: Path) -> None:
    """Write the rows of a table as CSV without a header; NULL is nothing."""
    lines = (
        ",".join(
            "" if cell is None else cell_text(cell, column.type)
            for cell, column in zip(row, table.columns, strict=True)
        )
        for row in table.rows
    )
    path.write_text("".join(f"{line}\n" for line in lines))


def write_json(table: Table, path: Path) -> None:
    """Write the rows of a table as an object of JSON a line; NULL is no member."""
    lines = (
        ", ".join(
            f'"{column.name}": {_json(cell, column.type)}'
            for cell, column in zip(row, table.columns, strict=True)
            if cell is not None
        )
        for row in table.rows
    )
    path.write_text("".join(f"{{{line}}}\n" for line in lines))


def python_rows(table: Table) -> list[tuple[Any, ...]]:
    """Return the rows of a table as PySpark takes them."""
    return [
        tuple(
            None if cell is None else _python_value(cell, column.type)
            for cell, column in zip(row, table.columns, strict=True)
        )
        for row in table.rows
    ]


def cell_text(value: Value, type_: Type) -> str:
    """Return a plain value as text that Spark reads back as the value."""
    python = _python_value(value, type_)
    if isinstance(python, bool):
        return str(python).lower()
    if isinstance(python, Decimal):
        return f"{python:f}"
    return python.isoformat() if isinstance(python, datetime.date) else str(python)


def _json(value: Value, type_: Type) -> str:
    text = cell_text(value, type_)
    return f'"{text}"' if type_.kind in _QUOTED else text


def _is_plain(value: Value, type_: Type) -> bool:
    match value:
        case float():
            return abs(value * 8) < _EIGHTHS_MAX and value * 8 == int(value * 8)
        case bytes():
            return _WORD.match(value) is not None
        case int() if type_.kind is Kind.DATE:
            return abs(value) < _DAYS_MAX
        case int() if type_.kind is Kind.TIMESTAMP:
            return abs(value) < _DAYS_MAX * _US_OF_DAY
    return True


def _python_value(value: Value, type_: Type) -> Any:
    match type_.kind:
        case Kind.DATE:
            assert isinstance(value, int)
            return _DAY_0 + datetime.timedelta(days=value)
        case Kind.TIMESTAMP:
            assert isinstance(value, int)
            return _TIME_0 + datetime.timedelta(microseconds=value)
    return value.decode() if isinstance(value, bytes) else value
