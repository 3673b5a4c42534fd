"""DuckDB's own tables on the stand: a row group for each block, in a database on disk."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from .on_duckdb import OnDuckDB, counted
from .serving import Unsupported

# The fewest rows that a row group may be told to have, and how many it has where it is told nothing.
ROWS_PER_GROUP = 2048
_ROWS_UNTOLD = 122_880


class OnDuckDBTables(OnDuckDB):
    """Fills up each row group with copies of its first row, which are deleted then: few rows are asked for.

    Tables without statistics are in memory, where a row group holds all of them.
    """

    def __init__(self) -> None:
        super().__init__()
        # Of each table of the present request.
        self.places: dict[str, str] = {}

    def hello(self) -> dict[str, Any]:
        """What DuckDB can be asked of tables that it may change."""
        said = super().hello()
        return dict(
            said,
            engine="duckdb-tables",
            tables="own",
            areas=[*said["areas"], "dml"],
            without=dict(said["without"], types=[]),
            layouts={"checkpoint": ["before deleting", "after deleting"]},
            writes=False,
        )

    def start(self) -> str:
        """A database on disk beside the one in memory."""
        told = f" (ROW_GROUP_SIZE {rows_per_group()})" if rows_per_group() == ROWS_PER_GROUP else ""
        return (
            super().start() + "import tempfile\ndirectory = tempfile.TemporaryDirectory()\n"
            f'con.execute("ATTACH \'" + directory.name + "/stand.db\' AS disk{told}")\n'
        )

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """A view of each table, wherever that is."""
        if any("files" in table for table in tables.values()):
            raise Unsupported("Parquet files")
        text, names = super().setup({}, settings)
        self.sql.counted = counted(tables)
        text += "con.execute('DROP SCHEMA IF EXISTS disk.stand CASCADE')\n"
        text += "con.execute('CREATE SCHEMA disk.stand')\n"
        self.places = {}
        for name, table in tables.items():
            if table.get("statistics", True):
                self.places[name] = f"disk.stand.{self.sql.name(name)}"
                text += "".join(f"con.execute({one!r})\n" for one in self._in_groups(name, table))
            else:
                self.places[name] = self.sql.name(name)
                text += "".join(f"con.execute({one!r})\n" for one in self.filled(name, table))
        return text, names

    def _in_groups(self, name: str, table: dict[str, Any]) -> Iterator[str]:
        """The statements that make a table, so that a script needs nothing of the worker's."""
        quoted = [self.sql.name(column["name"]) for column in table["columns"]]
        types = [self.sql.type(column["type"]) for column in table["columns"]]
        full = self.places[name]
        columns = ", ".join(f"{one} {type_}" for one, type_ in zip(quoted, types, strict=True))
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
        return ", ".join(self.cell(v, c["type"]) for v, c in zip(row, table["columns"], strict=True))

    def ask(self, question: dict[str, Any]) -> str:
        """One statement, or a change that is taken back when its table has been read."""
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
        shown = ", ".join(map(self.sql.shown, question["select"])) or "1"
        return (
            "con.execute('BEGIN')\n"
            "try:\n"
            f"    con.execute({change!r})\n"
            f"    answer = con.execute({f'SELECT {shown} FROM {place}'!r}).fetchall()\n"
            "finally:\n"
            "    con.execute('ROLLBACK')\n"
        )


@functools.cache
def rows_per_group() -> int:
    """How many rows a row group gets; early releases cannot be told."""
    with tempfile.TemporaryDirectory() as directory:
        attach = f"ATTACH '{Path(directory, 't.db')}' AS t (ROW_GROUP_SIZE {ROWS_PER_GROUP})"
        try:
            duckdb.connect().execute(attach)
        except duckdb.Error:
            return _ROWS_UNTOLD
    return ROWS_PER_GROUP


ADAPTER = OnDuckDBTables
