"""The adapter of DuckDB; the pruned form is read by `read_parquet`, the plain form is a table in memory."""

from __future__ import annotations

import functools
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import duckdb

from .serving import Adapter, Unsupported, flattened, parse_type, runs
from .sql_text import Dialect, cast_text


class DuckDB(Dialect):
    """The dialect of DuckDB.

    Attributes:
        epoch_columns: The columns whose timestamps an answer gives as microseconds.
    """

    epoch_columns: frozenset[str] = frozenset()
    types: ClassVar[dict[str, str]] = dict(
        Dialect.types,
        uint8="UTINYINT",
        uint16="USMALLINT",
        uint32="UINTEGER",
        uint64="UBIGINT",
        binary="BLOB",
    )
    infix: ClassVar[dict[str, str]] = {**Dialect.infix, "//": "//"}

    def timestamp(self, unit: str, zone: str | None = None) -> str:
        """Return the type of timestamps of a unit."""
        if zone is not None:
            return "TIMESTAMPTZ"
        return {"ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}[unit]

    def binary(self, digits: str) -> str:
        """Return a literal of bytes, each of them escaped."""
        return f"'{_blob_text(digits)}'::BLOB"

    def answer_column(self, name: str) -> str:
        """Return a column of an answer; a timestamp of `epoch_columns` as its count."""
        text = super().answer_column(name)
        return f"epoch_us({text})" if name in self.epoch_columns else text

    def aggregate(self, aggregate: dict[str, Any]) -> str:
        """Return an aggregate; the minimum and maximum of `epoch_columns` as counts."""
        text = super().aggregate(aggregate)
        is_moment = isinstance(aggregate["of"], str) and aggregate["of"] in self.epoch_columns
        is_moment = is_moment and aggregate["function"] in ("min", "max")
        return f"epoch_us({text})" if is_moment else text


# A constant in the condition of a plan.
_CONSTANT = re.compile(r"'[^']*'|\b\d[\w.:+-]*")
# Fewer equal rows than these are written out.
_RUN_MIN = 20
# So many rows are inserted as one text for each column, because DuckDB evaluates each cell of VALUES by
# itself; fewer rows are written out, which is easier to read.
_SPLIT_MIN = 64
# What is between the values of such a text, and what stands for NULL.
_SEPARATOR, _NULL = "\uf101", "\uf102"
# The options of written files.
_LAYOUTS: dict[str, list[Any]] = {
    "dictionary_size_limit": [1],
    "write_bloom_filter": [False],
    "parquet_version": ["V2"],
}


def _has_option(option: str, value: Any) -> bool:
    """Tell whether this release has an option of written files."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            copy_options = f"FORMAT parquet, {option} {json.dumps(value)}"
            duckdb.connect().execute(f"COPY (SELECT 1 AS a) TO '{directory}/a.parquet' ({copy_options})")
        except duckdb.Error:
            return False
    return True


class OnDuckDB(Adapter):
    """Runs questions in one database in memory."""

    def __init__(self) -> None:
        self.sql = DuckDB()
        self._set: set[str] = set()
        self._writer: duckdb.DuckDBPyConnection | None = None

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of DuckDB."""
        return {
            "engine": "duckdb",
            "version": duckdb.__version__,
            "tables": "files",
            "areas": ["filter", "limit", "topk", "join", "aggregate", "window", "set", "subquery"],
            "without": {"functions": [], "types": types_missing(), "joins": []},
            "settings": {"preserve_insertion_order": ["true", "false"], "threads": ["1", "4"]},
            "single_threaded": {"threads": "1"},
            "features": True,
            "writes": True,
            "layouts": {name: values for name, values in _LAYOUTS.items() if _has_option(name, values[0])},
        }

    def start(self) -> str:
        """Return text that opens one connection for all questions."""
        return "import duckdb\ncon = duckdb.connect()\ncon.execute(\"SET timezone = 'UTC'\")\n"

    def is_over(self, names: dict[str, Any]) -> bool:
        """Tell whether an internal error has invalidated the database; close it then."""
        try:
            names["con"].execute("SELECT 1")
        except duckdb.Error:
            names["con"].close()
            return True
        return False

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes a new schema, with a view of each table of files and a table of others."""
        statements = ["DROP SCHEMA IF EXISTS stand CASCADE", "CREATE SCHEMA stand", "SET schema = 'stand'"]
        statements += [f"RESET {name}" for name in self._set if name not in settings]
        statements += [f"SET {name} = {value}" for name, value in settings.items()]
        self._set = set(settings)
        self.sql.epoch_columns = zoned_columns(tables)
        for name, table in tables.items():
            statements += (
                [self._view(name, table)] if "files" in table else self.table_statements(name, table)
            )
        return "".join(f"con.execute({statement!r})\n" for statement in statements), {}

    def _view(self, name: str, table: dict[str, Any]) -> str:
        """Return the statement that makes a view of a table's files."""
        values = [text for named in table.get("partitions") or [] for text in named.values()]
        if None in values and not _reads_null_of_directories():
            raise Unsupported("NULL as the name of a directory")
        files = ", ".join(self.sql.text(path) for path in table["files"])
        options = ", union_by_name = true" if table.get("schemas_differ") else ""
        if values and _takes_types_of_directories():
            # If all names of directories are NULL, it cannot guess their types.
            types = {column["name"]: self.sql.type(column["type"]) for column in table["columns"]}
            hive_types = (
                f"{self.sql.text(named)}: {self.sql.text(types[named])}" for named in table["partitions"][0]
            )
            options += f", hive_partitioning = true, hive_types = {{{', '.join(hive_types)}}}"
        return f"CREATE VIEW {self.sql.name(name)} AS SELECT * FROM read_parquet([{files}]{options})"

    def table_statements(self, name: str, table: dict[str, Any]) -> Iterator[str]:
        """Yield the statements that make a table of rows."""
        columns = table["columns"]
        typed = ", ".join(f"{self.sql.name(c['name'])} {self.sql.type(c['type'])}" for c in columns)
        yield f"CREATE TABLE {self.sql.name(name)} ({typed})"
        yield from self.insertions(self.sql.name(name), flattened(table), columns)

    def insertions(
        self, place: str, rows: Iterable[list[Any]], columns: list[dict[str, Any]], more: str = ""
    ) -> Iterator[str]:
        """Yield the statements that insert rows in their order: one for each long run, others together.

        Args:
            more: What follows the values of each row.
        """
        types = [column["type"] for column in columns]
        waiting: list[list[Any]] = []
        for row, count in runs(rows):
            if count < _RUN_MIN:
                waiting += [row, *([*row[:-1], row[-1] + ordinal] for ordinal in range(1, count))]
                continue
            if waiting:
                yield self._insertion(place, waiting, types, more)
                waiting = []
            texts = ", ".join(map(self.cell, row, types))
            yield f"INSERT INTO {place} SELECT {texts} + range{more} FROM range({count})"
        if waiting:
            yield self._insertion(place, waiting, types, more)

    def _insertion(self, place: str, rows: list[list[Any]], types: list[str], more: str) -> str:
        """Return the statement that inserts rows."""
        if len(rows) < _SPLIT_MIN or any(map(_has_separator, rows)):
            texts = (", ".join(map(self.cell, row, types)) for row in rows)
            return f"INSERT INTO {place} VALUES {', '.join(f'({text}{more})' for text in texts)}"
        columns = map(self._split, zip(*rows, strict=True), types)
        return f"INSERT INTO {place} SELECT {', '.join(columns)}{more}"

    def _split(self, values: tuple[Any, ...], type_: str) -> str:
        """Return an expression that gives a row for each value of a column, in their order."""
        text = _SEPARATOR.join(_NULL if value is None else _cell_text(value, type_) for value in values)
        split = f"string_split({self.sql.text(text)}, {self.sql.text(_SEPARATOR)})"
        return self.sql.cast(f"nullif(unnest({split}), {self.sql.text(_NULL)})", type_)

    def cell(self, value: Any, type_: str) -> str:
        """Return a value as SQL, including the sign of NaN."""
        if value == "-NaN" and type_ in ("float32", "float64"):
            return f"-CAST('NaN' AS {self.sql.type(type_)})"
        return self.sql.literal(value, type_)

    def ask(self, question: dict[str, Any]) -> str:
        """Return text that runs one statement."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        if not question.get("prepared"):
            return f"answer = con.execute({self.sql.select(question)!r}).fetchall()\n"
        *before, last = self.sql.prepared_statements(question)
        text = "".join(f"con.execute({statement!r})\n" for statement in before)
        return f"{text}answer = con.execute({last!r}).fetchall()\n"

    def features(self, question: dict[str, Any], names: dict[str, Any]) -> list[str]:
        """Return the operators of the plan, each with its conditions."""
        ((_, text),) = names["con"].execute("EXPLAIN (FORMAT json) " + self.sql.select(question)).fetchall()
        return list(_operators(json.loads(text)))

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Write a file by COPY, with rows in the order of their blocks.

        All files are written through one database of their own, because it takes longer to open one than to
        write a file; it is opened again after an error, which may have invalidated it.
        """
        if self._writer is None:
            self._writer = duckdb.connect()
            self._writer.execute("SET timezone = 'UTC'")
        options_text = "".join(f", {name} {json.dumps(value)}" for name, value in options.items())
        try:
            self._writer.execute("DROP TABLE IF EXISTS t")
            for statement in self.table_statements("t", table):
                self._writer.execute(statement)
            self._writer.execute(
                f"COPY (SELECT * FROM t) TO {self.sql.text(path)} (FORMAT parquet{options_text})"
            )
        except duckdb.Error:
            self._writer.close()
            self._writer = None
            raise


def _operators(plans: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the operators of plans, each alone and with its conditions, whose constants are left out."""
    for plan in plans:
        name = plan["name"].strip()
        yield name
        for key, value in plan.get("extra_info", {}).items():
            if "Filter" in key or key in ("Join Type", "Conditions"):
                yield f"{name} {key}: " + _CONSTANT.sub("?", str(value))
        yield from _operators(plan.get("children", []))


def zoned_columns(tables: dict[str, Any]) -> frozenset[str]:
    """Return the columns of timestamps with a zone, if this release cannot convert them to Python."""
    columns = [column for table in tables.values() for column in table["columns"]]
    zoned = [column["name"] for column in columns if column["type"] == "timestamp(us,UTC)"]
    return frozenset() if not zoned or _gives_moments() else frozenset(zoned)


def types_missing() -> list[str]:
    """Return the type of nanoseconds if this release reads it as microseconds, unlike its own tables."""
    read = _first_value("SELECT TIMESTAMP_NS '1970-01-01' AS a", "t.parquet", "typeof(a)")
    return [] if read == "TIMESTAMP_NS" else ["timestamp(ns)"]


@functools.cache
def _reads_null_of_directories() -> bool:
    """Tell whether this release reads Hive's directory name for NULL as NULL; early ones read text."""
    return _first_value("SELECT 1 AS b", "a=__HIVE_DEFAULT_PARTITION__/t.parquet", "a") is None


def _first_value(rows: str, path: str, term: str) -> Any:
    """Write rows into a file, read it, and return the value of a term for the first row."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, path)
        file.parent.mkdir(exist_ok=True)
        con = duckdb.connect()
        con.execute(f"COPY ({rows}) TO '{file}' (FORMAT parquet)")
        row = con.execute(f"SELECT {term} FROM read_parquet('{file}', hive_partitioning = true)").fetchone()
        assert row is not None
        return row[0]


@functools.cache
def _takes_types_of_directories() -> bool:
    """Tell whether this release has the option of types of directory names; it is new in 0.9."""
    sql = "SELECT parameters FROM duckdb_functions() WHERE function_name = 'read_parquet'"
    return any("hive_types" in names for (names,) in duckdb.connect().execute(sql).fetchall())


@functools.cache
def _gives_moments() -> bool:
    """Tell whether timestamps with a zone convert to Python; before 2.0 this needs pytz."""
    try:
        duckdb.connect().execute("SELECT TIMESTAMPTZ '1970-01-01 00:00:00+00'").fetchall()
    except (duckdb.Error, ImportError):
        return False
    return True


def _blob_text(digits: str) -> str:
    """Return bytes in hexadecimal digits as the text of a BLOB."""
    return "".join("\\x" + digits[at : at + 2] for at in range(0, len(digits), 2))


def _cell_text(value: Any, type_: str) -> str:
    """Return a value as the text that a cast reads, including the sign of NaN."""
    word, inside = parse_type(type_)
    if word == "string":
        return str(value)
    if word == "binary":
        return _blob_text(value)
    return str(value) if value == "-NaN" else cast_text(value, word, inside)


def _has_separator(row: list[Any]) -> bool:
    """Tell whether a text of a row cannot be one of several in a text."""
    return any(isinstance(value, str) and (_SEPARATOR in value or value == _NULL) for value in row)


ADAPTER = OnDuckDB
