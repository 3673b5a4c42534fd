"""The adapter of DuckDB's own tables: a row group for each block, in a database on disk."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from .on_duckdb import OnDuckDB, zoned_columns
from .serving import Unsupported

# The smallest size of row groups that can be configured, and the default size.
ROWS_PER_GROUP = 2048
_ROWS_UNTOLD = 122_880


class OnDuckDBTables(OnDuckDB):
    """Pads each row group with copies of its first row, and deletes them, so that a block may have few rows.

    Tables without statistics are in memory, where one row group holds all rows.
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
            layouts={"checkpoint": ["before deleting", "after deleting"], "reattached": [True]},
            writes=False,
        )

    def start(self) -> str:
        """Return text that opens a database on disk beside the one in memory."""
        return super().start() + f"import tempfile\ndirectory = tempfile.TemporaryDirectory()\n{_attach()}"

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes each table, on disk or in memory, and a view of it."""
        if any("files" in table for table in tables.values()):
            raise Unsupported("Parquet files")
        text, names = super().setup({}, settings)
        self.sql.epoch_columns = zoned_columns(tables)
        text += "con.execute('DROP SCHEMA IF EXISTS disk.stand CASCADE')\n"
        text += "con.execute('CREATE SCHEMA disk.stand')\n"
        self.places = {}
        for name, table in tables.items():
            if table.get("statistics", True):
                self.places[name] = f"disk.stand.{self.sql.name(name)}"
                text += "".join(f"con.execute({statement!r})\n" for statement in self._in_groups(name, table))
            else:
                self.places[name] = self.sql.name(name)
                text += "".join(
                    f"con.execute({statement!r})\n" for statement in self.table_statements(name, table)
                )
        if any((table.get("layout") or {}).get("reattached") for table in tables.values()):
            # What is read from a file again has the statistics that the file holds.
            text += f"con.execute('DETACH disk')\n{_attach()}"
        return text, names

    def _in_groups(self, name: str, table: dict[str, Any]) -> Iterator[str]:
        """Yield the statements that make a table on disk with a row group for each block."""
        quoted = [self.sql.name(column["name"]) for column in table["columns"]]
        types = [self.sql.type(column["type"]) for column in table["columns"]]
        full = self.places[name]
        columns = ", ".join(f"{name_text} {type_}" for name_text, type_ in zip(quoted, types, strict=True))
        yield f"CREATE TABLE {full} ({columns}, kept BOOLEAN)"
        for block in table["blocks"]:
            if block:
                cells = [self._row(row, table) for row in block]
                yield f"INSERT INTO {full} VALUES " + ", ".join(f"({row}, true)" for row in cells)
                fill = -len(block) % rows_per_group()
                yield f"INSERT INTO {full} SELECT {cells[0]}, false FROM range({fill})"
        checkpoint = (table.get("layout") or {}).get("checkpoint")
        if checkpoint == "before deleting":
            yield "CHECKPOINT disk"
        yield f"DELETE FROM {full} WHERE NOT kept"
        if checkpoint == "after deleting":
            yield "CHECKPOINT disk"
        yield f"CREATE VIEW {self.sql.name(name)} AS SELECT {', '.join(quoted)} FROM {full}"

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


def _attach() -> str:
    """Return text that attaches the database on disk."""
    option = f" (ROW_GROUP_SIZE {rows_per_group()})" if rows_per_group() == ROWS_PER_GROUP else ""
    return f'con.execute("ATTACH \'" + directory.name + "/stand.db\' AS disk{option}")\n'


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
