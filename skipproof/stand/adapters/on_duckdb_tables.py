"""DuckDB's own tables on the stand: a row group for each block, in a database on disk."""

from __future__ import annotations

import functools
import tempfile
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
        self.directory = tempfile.TemporaryDirectory()

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
        path = str(Path(self.directory.name, "stand.db"))
        told = f" (ROW_GROUP_SIZE {rows_per_group()})" if rows_per_group() == ROWS_PER_GROUP else ""
        attach = f"ATTACH {self.sql.text(path)} AS disk{told}"
        return super().start() + f"con.execute({attach!r})\n"

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """A view of each table, wherever that is."""
        if any("files" in table for table in tables.values()):
            raise Unsupported("Parquet files")
        text, names = super().setup({}, settings)
        self.sql.counted = counted(tables)
        text += "con.execute('DROP SCHEMA IF EXISTS disk.stand CASCADE')\n"
        text += "con.execute('CREATE SCHEMA disk.stand')\n"
        names["in_groups"] = self._in_groups
        for name, table in tables.items():
            names[name] = table
            if table.get("statistics", True):
                text += f"in_groups(con, {name!r}, {name})\n"
            else:
                text += f"fill(con, {name!r}, {name})\n"
        return text, names

    def _in_groups(self, con: Any, name: str, table: dict[str, Any]) -> None:
        quoted = [self.sql.name(column["name"]) for column in table["columns"]]
        types = [self.sql.type(column["type"]) for column in table["columns"]]
        full = f"disk.stand.{self.sql.name(name)}"
        columns = ", ".join(f"{one} {type_}" for one, type_ in zip(quoted, types, strict=True))
        con.execute(f"CREATE TABLE {full} ({columns}, kept BOOLEAN)")
        for block in table["blocks"]:
            if block:
                cells = [self._row(row, table) for row in block]
                con.execute(f"INSERT INTO {full} VALUES " + ", ".join(f"({row}, true)" for row in cells))
                fill = -len(block) % rows_per_group()
                con.execute(f"INSERT INTO {full} SELECT {cells[0]}, false FROM range({fill})")
        checkpoint = (table.get("layout") or {}).get("checkpoint")
        if checkpoint == "before deleting":
            con.execute("CHECKPOINT disk")
        con.execute(f"DELETE FROM {full} WHERE NOT kept")
        if checkpoint == "after deleting":
            con.execute("CHECKPOINT disk")
        con.execute(f"CREATE VIEW {self.sql.name(name)} AS SELECT {', '.join(quoted)} FROM {full}")

    def _row(self, row: list[Any], table: dict[str, Any]) -> str:
        return ", ".join(self._cell(v, c["type"]) for v, c in zip(row, table["columns"], strict=True))

    def ask(self, question: dict[str, Any]) -> str:
        """One statement, or a change that is taken back when its table has been read."""
        if not question["change"]:
            return super().ask(question)
        source = question["source"]
        table = self.sql.name(source["table"])
        where = "" if source["where"] is None else f" WHERE {self.sql.term(source['where'])}"
        if question["change"] == "delete":
            change = f"DELETE FROM {{}}{where}"
        else:
            value = self.sql.literal(question["to"]["literal"], question["to"]["type"])
            change = f"UPDATE {{}} SET {self.sql.name(question['change'])} = {value}{where}"
        shown = ", ".join(map(self.sql.shown, question["select"])) or "1"
        return (
            f"place = 'disk.stand.' + {table!r} if {source['table']}.get('statistics', True) else {table!r}\n"
            "con.execute('BEGIN')\n"
            "try:\n"
            f"    con.execute({change!r}.replace('{{}}', place))\n"
            f"    answer = con.execute('SELECT {shown} FROM ' + place).fetchall()\n"
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
