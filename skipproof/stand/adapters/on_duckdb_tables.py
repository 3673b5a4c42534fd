"""The adapter of DuckDB's own tables: a row group for each block, in a database on disk."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from .on_duckdb import OnDuckDB, zoned_columns
from .serving import Unsupported

# The smallest size of row groups that can be configured, and the default size.
ROWS_PER_GROUP = 2048
_ROWS_UNTOLD = 122_880
# A block's rows lie in so many places of a row group of the default size, which that is a multiple of.
_PLACES_MAX = 6
# When a table is written to its file: with the rows that fill its row groups, or without; then those that
# have few rows become one row group.
_BEFORE, _AFTER = "before deleting", "after deleting"
# Tables of large row groups take long to make, so that they are rare; None is the smallest size.
_GROUP_SIZES = [None, None, None, _ROWS_UNTOLD]
# The databases on disk: of row groups of the smallest size, and of the default size.
_DISK, _WIDE = "disk", "wide"


class OnDuckDBTables(OnDuckDB):
    """Pads each row group with copies of its rows, and deletes them, so that a block may have few rows.

    Row groups of the default size are written in one transaction, as those of large tables are. Tables
    without statistics are in memory, where one row group holds all rows.
    """

    def __init__(self) -> None:
        super().__init__()
        # The qualified name of each table of the current request.
        self.places: dict[str, str] = {}

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of DuckDB with tables that it may change."""
        hello = super().hello()
        return dict(
            hello,
            engine="duckdb-tables",
            tables="own",
            areas=[*hello["areas"], "dml"],
            without=dict(hello["without"], types=[]),
            layouts={"checkpoint": [_BEFORE, _AFTER], "reattached": [_BEFORE, _AFTER]}
            | ({"row_group_size": _GROUP_SIZES} if rows_per_group() == ROWS_PER_GROUP else {}),
            writes=False,
        )

    def start(self) -> str:
        """Return text that opens the databases on disk beside the one in memory."""
        directory = "import tempfile\ndirectory = tempfile.TemporaryDirectory()\n"
        return super().start() + directory + _attach(_DISK) + _attach(_WIDE)

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes each table, on disk or in memory, and a view of it."""
        if any("files" in table for table in tables.values()):
            raise Unsupported("Parquet files")
        text, names = super().setup({}, settings)
        self.sql.epoch_columns = zoned_columns(tables)
        for database in sorted(set(map(_database, tables.values()))):
            text += f"con.execute('DROP SCHEMA IF EXISTS {database}.stand CASCADE')\n"
            text += f"con.execute('CREATE SCHEMA {database}.stand')\n"
        on_disk = {name: table for name, table in tables.items() if table.get("statistics", True)}
        self.places = {
            name: f"{_database(table)}.stand.{self.sql.name(name)}"
            if name in on_disk
            else self.sql.name(name)
            for name, table in tables.items()
        }
        for name, table in tables.items():
            make = self._in_groups if name in on_disk else self.table_statements
            text += _executions(make(name, table))
        text += _reattach(on_disk, _BEFORE)
        for name, table in on_disk.items():
            text += _executions(self._deletions(name, table))
        return text + _reattach(on_disk, _AFTER), names

    def _in_groups(self, name: str, table: dict[str, Any]) -> Iterator[str]:
        """Yield the statements that make a table on disk with a full row group for each block, and a view."""
        quoted = [self.sql.name(column["name"]) for column in table["columns"]]
        types = [self.sql.type(column["type"]) for column in table["columns"]]
        full = self.places[name]
        columns = ", ".join(f"{name_text} {type_}" for name_text, type_ in zip(quoted, types, strict=True))
        yield f"CREATE TABLE {full} ({columns}, kept BOOLEAN)"
        database = _database(table)
        if database == _WIDE:
            yield "BEGIN"
        for block in table["blocks"]:
            for rows, fill in _places(block, database):
                yield from self.insertions(full, rows, table["columns"], ", true")
                yield f"INSERT INTO {full} SELECT {self._row(rows[0], table)}, false FROM range({fill})"
        if database == _WIDE:
            yield "COMMIT"
        if _layout(table).get("checkpoint") == _BEFORE:
            yield f"CHECKPOINT {database}"
        yield f"CREATE VIEW {self.sql.name(name)} AS SELECT {', '.join(quoted)} FROM {full}"

    def _deletions(self, name: str, table: dict[str, Any]) -> Iterator[str]:
        """Yield the statements that delete the rows that fill row groups."""
        yield f"DELETE FROM {self.places[name]} WHERE NOT kept"
        if _layout(table).get("checkpoint") == _AFTER:
            yield f"CHECKPOINT {_database(table)}"

    def _row(self, row: list[Any], table: dict[str, Any]) -> str:
        """Return the values of a row as SQL."""
        return ", ".join(self.cell(v, c["type"]) for v, c in zip(row, table["columns"], strict=True))

    def ask(self, question: dict[str, Any]) -> str:
        """Return text of one statement, or of a change that is rolled back after its table was read."""
        if not question["change"]:
            return super().ask(question)
        source = question["source"]
        place = self.places[source["table"]]
        where = "" if source["where"] is None else f" WHERE {self.sql.term(source['where'])}"
        if question["change"] == "delete":
            change = f"DELETE FROM {place}{where}"
        else:
            value = self.sql.literal(question["to"]["literal"], question["to"]["type"])
            change = f"UPDATE {place} SET {self.sql.name(question['change'])} = {value}{where}"
        columns = ", ".join(map(self.sql.answer_column, question["select"])) or "1"
        return (
            "con.execute('BEGIN')\n"
            "try:\n"
            f"    con.execute({change!r})\n"
            f"    answer = con.execute({f'SELECT {columns} FROM {place}'!r}).fetchall()\n"
            "finally:\n"
            "    con.execute('ROLLBACK')\n"
        )


def _executions(statements: Iterable[str]) -> str:
    """Return text that executes statements."""
    return "".join(f"con.execute({statement!r})\n" for statement in statements)


def _reattach(tables: dict[str, Any], moment: str) -> str:
    """Return text that attaches the databases again of the tables for which this is the moment.

    What is read from a file again has the statistics that the file holds.
    """
    again = {_database(table) for table in tables.values() if _layout(table).get("reattached") == moment}
    return "".join(f"con.execute('DETACH {database}')\n{_attach(database)}" for database in sorted(again))


def _layout(table: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a table."""
    return table.get("layout") or {}


def _database(table: dict[str, Any]) -> str:
    """Return the database of a table, by the size of its row groups."""
    return _WIDE if "row_group_size" in _layout(table) else _DISK


def _places(block: list[list[Any]], database: str) -> Iterator[tuple[list[list[Any]], int]]:
    """Yield the rows of a block that lie together, and the number of dead rows that follow them.

    In a row group of the default size rows lie far apart, in several vectors.
    """
    count = min(len(block), _PLACES_MAX) if database == _WIDE else min(len(block), 1)
    for place in range(count):
        rows = block[place * len(block) // count : (place + 1) * len(block) // count]
        size = _ROWS_UNTOLD if database == _WIDE else rows_per_group()
        yield rows, -len(rows) % (size // count)


def _attach(database: str) -> str:
    """Return text that attaches a database on disk."""
    is_small = database == _DISK and rows_per_group() == ROWS_PER_GROUP
    option = f" (ROW_GROUP_SIZE {ROWS_PER_GROUP})" if is_small else ""
    return f'con.execute("ATTACH \'" + directory.name + "/{database}.db\' AS {database}{option}")\n'


@functools.cache
def rows_per_group() -> int:
    """Return the number of rows in a row group; early releases cannot configure it."""
    with tempfile.TemporaryDirectory() as directory:
        attach = f"ATTACH '{Path(directory, 't.db')}' AS t (ROW_GROUP_SIZE {ROWS_PER_GROUP})"
        try:
            duckdb.connect().execute(attach)
        except duckdb.Error:
            return _ROWS_UNTOLD
    return ROWS_PER_GROUP


ADAPTER = OnDuckDBTables
