"""DuckDB on the stand: Parquet files by `read_parquet`, tables in its own memory as their twins."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import duckdb

from .serving import Adapter, Unsupported, flattened
from .sql_text import Dialect


class DuckDB(Dialect):
    """DuckDB's dialect.

    Attributes:
        counted: Columns whose moments an answer gives as microseconds.
    """

    counted: frozenset[str] = frozenset()
    types: ClassVar[dict[str, str]] = dict(
        Dialect.types,
        uint8="UTINYINT",
        uint16="USMALLINT",
        uint32="UINTEGER",
        uint64="UBIGINT",
        binary="BLOB",
    )

    def timestamp(self, unit: str, zone: str | None = None) -> str:
        """One type for each unit."""
        if zone is not None:
            return "TIMESTAMPTZ"
        return {"ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}[unit]

    def binary(self, digits: str) -> str:
        """Each byte is escaped."""
        escaped = "".join("\\x" + digits[at : at + 2] for at in range(0, len(digits), 2))
        return f"'{escaped}'::BLOB"

    def shown(self, name: str) -> str:
        """A moment as its count, where it is to be counted."""
        text = super().shown(name)
        return f"epoch_us({text})" if name in self.counted else text

    def aggregate(self, aggregate: dict[str, Any]) -> str:
        """The least and the greatest moment are moments too."""
        text = super().aggregate(aggregate)
        is_moment = aggregate["of"] in self.counted and aggregate["function"] in ("min", "max")
        return f"epoch_us({text})" if is_moment else text


# How files are written.
_LAYOUTS: dict[str, list[Any]] = {
    "dictionary_size_limit": [1],
    "write_bloom_filter": [False],
    "parquet_version": ["V2"],
}


def _takes(option: str, value: Any) -> bool:
    """Whether this release writes files with an option."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            given = f"FORMAT parquet, {option} {json.dumps(value)}"
            duckdb.connect().execute(f"COPY (SELECT 1 AS a) TO '{directory}/a.parquet' ({given})")
        except duckdb.Error:
            return False
    return True


class OnDuckDB(Adapter):
    """Asks one database in memory."""

    def __init__(self) -> None:
        self.sql = DuckDB()
        self._set: set[str] = set()

    def hello(self) -> dict[str, Any]:
        """What DuckDB can be asked."""
        return {
            "engine": "duckdb",
            "version": duckdb.__version__,
            "tables": "files",
            "areas": ["filter", "limit", "topk", "join", "aggregate"],
            "without": {"functions": [], "types": types_missing(), "joins": []},
            "settings": {"preserve_insertion_order": ["true", "false"], "threads": ["1", "4"]},
            "writes": True,
            "layouts": {name: values for name, values in _LAYOUTS.items() if _takes(name, values[0])},
        }

    def start(self) -> str:
        """One connection for all questions."""
        return "import duckdb\ncon = duckdb.connect()\ncon.execute(\"SET timezone = 'UTC'\")\n"

    def is_over(self, names: dict[str, Any]) -> bool:
        """An internal error may invalidate the database, and each later statement fails."""
        try:
            names["con"].execute("SELECT 1")
        except duckdb.Error:
            names["con"].close()
            return True
        return False

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """A view for each table of files, a table for each of rows, in a schema that had none."""
        statements = ["DROP SCHEMA IF EXISTS stand CASCADE", "CREATE SCHEMA stand", "SET schema = 'stand'"]
        statements += [f"RESET {name}" for name in self._set if name not in settings]
        statements += [f"SET {name} = {value}" for name, value in settings.items()]
        self._set = set(settings)
        self.sql.counted = counted(tables)
        for name, table in tables.items():
            statements += [self._view(name, table)] if "files" in table else self.filled(name, table)
        return "".join(f"con.execute({statement!r})\n" for statement in statements), {}

    def _view(self, name: str, table: dict[str, Any]) -> str:
        values = [text for named in table.get("partitions") or [] for text in named.values()]
        if None in values and not _reads_null_of_directories():
            raise Unsupported("NULL as the name of a directory")
        files = ", ".join(self.sql.text(path) for path in table["files"])
        options = ", union_by_name = true" if table.get("schemas_differ") else ""
        if values and _takes_types_of_directories():
            # Of no name but NULL it cannot guess them.
            types = {column["name"]: self.sql.type(column["type"]) for column in table["columns"]}
            told = (
                f"{self.sql.text(named)}: {self.sql.text(types[named])}" for named in table["partitions"][0]
            )
            options += f", hive_partitioning = true, hive_types = {{{', '.join(told)}}}"
        return f"CREATE VIEW {self.sql.name(name)} AS SELECT * FROM read_parquet([{files}]{options})"

    def filled(self, name: str, table: dict[str, Any]) -> Iterator[str]:
        """The statements that make a table of rows."""
        columns = table["columns"]
        typed = ", ".join(f"{self.sql.name(c['name'])} {self.sql.type(c['type'])}" for c in columns)
        yield f"CREATE TABLE {self.sql.name(name)} ({typed})"
        types = [column["type"] for column in columns]
        rows = [f"({', '.join(map(self.cell, row, types))})" for row in flattened(table)]
        if rows:
            yield f"INSERT INTO {self.sql.name(name)} VALUES {', '.join(rows)}"

    def cell(self, value: Any, type_: str) -> str:
        """A value as SQL, the sign of NaN included."""
        if value == "-NaN" and type_ in ("float32", "float64"):
            return f"-CAST('NaN' AS {self.sql.type(type_)})"
        return self.sql.literal(value, type_)

    def ask(self, question: dict[str, Any]) -> str:
        """One statement."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        return f"answer = con.execute({self.sql.select(question)!r}).fetchall()\n"

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Rows by COPY, in the order of their blocks."""
        con = duckdb.connect()
        con.execute("SET timezone = 'UTC'")
        for statement in self.filled("t", table):
            con.execute(statement)
        given = "".join(f", {name} {json.dumps(value)}" for name, value in options.items())
        con.execute(f"COPY (SELECT * FROM t) TO {self.sql.text(path)} (FORMAT parquet{given})")


def counted(tables: dict[str, Any]) -> frozenset[str]:
    """The columns of moments, where this release cannot give them to Python."""
    columns = [column for table in tables.values() for column in table["columns"]]
    zoned = [column["name"] for column in columns if column["type"] == "timestamp(us,UTC)"]
    return frozenset() if not zoned or _gives_moments() else frozenset(zoned)


def types_missing() -> list[str]:
    """Nanoseconds, where this release reads them as microseconds: its tables in memory would hold others."""
    read = _copied("SELECT TIMESTAMP_NS '1970-01-01' AS a", "t.parquet", "typeof(a)")
    return [] if read == "TIMESTAMP_NS" else ["timestamp(ns)"]


@functools.cache
def _reads_null_of_directories() -> bool:
    """Early releases read the name that Hive has for NULL as a text."""
    return _copied("SELECT 1 AS b", "a=__HIVE_DEFAULT_PARTITION__/t.parquet", "a") is None


def _copied(rows: str, path: str, term: str) -> Any:
    """What a term is in the first row of a file that held these rows."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, path)
        file.parent.mkdir(exist_ok=True)
        con = duckdb.connect()
        con.execute(f"COPY ({rows}) TO '{file}' (FORMAT parquet)")
        found = con.execute(f"SELECT {term} FROM read_parquet('{file}', hive_partitioning = true)").fetchone()
        assert found is not None
        return found[0]


@functools.cache
def _takes_types_of_directories() -> bool:
    """Releases before 0.9 guess them."""
    known = "SELECT parameters FROM duckdb_functions() WHERE function_name = 'read_parquet'"
    return any("hive_types" in names for (names,) in duckdb.connect().execute(known).fetchall())


@functools.cache
def _gives_moments() -> bool:
    """Releases before 2.0 need pytz for that."""
    try:
        duckdb.connect().execute("SELECT TIMESTAMPTZ '1970-01-01 00:00:00+00'").fetchall()
    except (duckdb.Error, ImportError):
        return False
    return True


ADAPTER = OnDuckDB
