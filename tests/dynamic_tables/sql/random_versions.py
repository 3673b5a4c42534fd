"""Random versions of small tables, and their rows in DuckDB."""

from collections.abc import Mapping, Sequence
from random import Random

import duckdb
from maintaining import TABLES, Version

from dynamic_tables.values.changes import Cell, Contents, Row
from dynamic_tables.values.types import Kind

TYPES: Mapping[Kind, str] = {
    Kind.INTEGER: "BIGINT",
    Kind.FLOAT: "DOUBLE",
    Kind.DECIMAL: "DECIMAL(30, 2)",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def random_versions(
    random: Random, cells: Mapping[str, Sequence[Sequence[Cell]]], *, count: int = 4, rows_max: int = 8
) -> list[Version]:
    """Draw versions of tables, of which each keeps some rows of the one before.

    Args:
        cells: Of each table, the cells to draw of each column.
    """
    versions: list[Version] = []
    tables: dict[str, dict[str, Row]] = {name: {} for name in cells}
    for version in range(count):
        for name, columns in cells.items():
            rows = {row_id: row for row_id, row in tables[name].items() if random.random() < 0.6}
            for place in range(random.randint(0, rows_max - len(rows) // 2)):
                rows[f"{version}-{place}"] = tuple(random.choice(column) for column in columns)
            shuffled = list(rows.items())
            random.shuffle(shuffled)
            tables[name] = dict(shuffled)
        versions.append(dict(tables))
    return versions


def duckdb_of(version: Version) -> duckdb.DuckDBPyConnection:
    """A connection to DuckDB with the tables of a version."""
    connection = duckdb.connect()
    for name, contents in version.items():
        fields = TABLES[name].fields
        columns = ", ".join(f'"{field.name}" {TYPES[field.type.kind]}' for field in fields)
        connection.execute(f"CREATE TABLE {name} ({columns})")
        insert(connection, name, contents)
    return connection


def insert(connection: duckdb.DuckDBPyConnection, name: str, contents: Contents) -> None:
    """Insert the rows of a table."""
    if contents:
        marks = ", ".join("?" * len(TABLES[name].fields))
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", list(map(list, contents.values())))
