"""Base tables, their rows and the writes to them as statements of SQL that this project reads."""

import json
from collections.abc import Mapping
from typing import Any

from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.types import Kind, Type
from strategies.dynamic.base_tables import Choice, RowDeletion, RowInsertion, RowUpdate, TableWrite
from strategies.dynamic.contents import SourceTable

NAMES: Mapping[Kind, str] = {kind: kind.value for kind in Kind} | {
    Kind.NULL: "INTEGER",
    Kind.FLOAT: "DOUBLE",
}
NESTED = frozenset({Kind.ARRAY, Kind.OBJECT, Kind.VARIANT})


def type_text(kind: Type) -> str:
    """Return the name of a type."""
    return f"NUMBER(38, {kind.scale})" if kind.kind is Kind.DECIMAL else NAMES[kind.kind]


def literal_text(value: Cell, kind: Type) -> str:
    """Return a cell as SQL."""
    if value is None:
        return f"NULL::{type_text(kind)}"
    if kind.kind in NESTED:
        return f"parse_json('{json.dumps(as_json(value))}')::{type_text(kind)}"
    text = repr(value) if kind.kind is Kind.FLOAT else str(value)
    quoted = text.replace("'", "''")
    return f"'{quoted}'::{type_text(kind)}" if kind.kind is not Kind.TEXT else f"'{quoted}'"


def as_json(value: Cell) -> Any:
    """Return a list or an object as JSON has it."""
    if isinstance(value, tuple):
        return [as_json(part) for part in value]
    if isinstance(value, Mapping):
        return {name: as_json(part) for name, part in value.items()}
    return value


def creation_text(table: SourceTable) -> str:
    """Return the statement that creates a table."""
    columns = ", ".join(f"{field.name} {type_text(field.type)}" for field in table.fields)
    return f"CREATE TABLE {table.identity} ({columns})"


def row_text(table: SourceTable, row: Row) -> str:
    """Return a row as the values of an INSERT."""
    cells = zip(row, table.fields, strict=True)
    return f"({', '.join(literal_text(cell, field.type) for cell, field in cells)})"


def choice_text(table: SourceTable, choice: Choice) -> str:
    """Return the condition of the chosen rows."""
    field = table.fields[choice.place]
    if choice.value is None:
        return f"{field.name} IS NULL"
    return f"{field.name} = {literal_text(choice.value, field.type)}"


def write_text(write: TableWrite) -> str:
    """Return the statement that writes to a table."""
    table = write.table
    match write:
        case RowInsertion(rows=rows):
            return f"INSERT INTO {table.identity} VALUES {', '.join(row_text(table, row) for row in rows)}"
        case RowUpdate(place=place, value=value, choice=choice):
            field = table.fields[place]
            change = f"{field.name} = {literal_text(value, field.type)}"
            return f"UPDATE {table.identity} SET {change} WHERE {choice_text(table, choice)}"
        case RowDeletion(choice=None):
            return f"TRUNCATE TABLE {table.identity}"
        case RowDeletion(choice=choice) if choice is not None:
            return f"DELETE FROM {table.identity} WHERE {choice_text(table, choice)}"
    raise AssertionError(write)
