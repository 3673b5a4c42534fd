"""The adapter of chDB, ClickHouse in a wheel; the pruned form is of files, the plain form in its memory.

Only functions that run it import chDB, so that its statements can be tested without it.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .arrow_text import ROWS
from .clickhouse_sql import ClickHouse, refuse_change
from .parameters import with_parameters
from .serving import Adapter, Unsupported, columns_of_files, flattened

_FORMATS = {"parquet": "Parquet", "orc": "ORC"}
# Joins add NULL as in SQL; a name is a column before it is an alias; texts come as texts; a year, a month
# or a day may start before 1970.
_SESSION = {
    "join_use_nulls": "1",
    "prefer_column_name_to_alias": "1",
    "output_format_arrow_string_as_string": "1",
    "session_timezone": "'UTC'",
    "enable_extended_results_for_datetime_functions": "1",
    # Wait until a change is done.
    "mutations_sync": "1",
}
_SWITCH = ("1", "0")
# The switches of readers of files, and of every reader; the values beside the default are tried.
_FILE_SETTINGS = {
    "input_format_parquet_filter_push_down": _SWITCH,
    "input_format_parquet_bloom_filter_push_down": _SWITCH,
    "input_format_parquet_page_filter_push_down": _SWITCH,
    "input_format_parquet_dictionary_filter_push_down": ("0",),
    "input_format_parquet_use_offset_index": _SWITCH,
    "input_format_parquet_max_block_size": ("2",),
    "input_format_orc_filter_push_down": _SWITCH,
    "optimize_count_from_files": _SWITCH,
    "query_plan_optimize_lazy_materialization_for_file": _SWITCH,
}
COMMON_SETTINGS = {
    "optimize_move_to_prewhere": _SWITCH,
    "query_plan_optimize_prewhere": _SWITCH,
    "enable_multiple_prewhere_read_steps": _SWITCH,
    "use_query_condition_cache": _SWITCH,
    "query_plan_optimize_lazy_materialization": _SWITCH,
    "use_top_k_dynamic_filtering": _SWITCH,
    "enable_join_runtime_filters": _SWITCH,
    "query_plan_filter_push_down": _SWITCH,
    "optimize_trivial_count_query": _SWITCH,
    "join_algorithm": ("full_sorting_merge", "grace_hash"),
    "max_threads": ("1", "4"),
}
# Not a setting of ClickHouse: the word before conditions on tables that take it.
FILTER_WORD = "filter word"
# The options of the Parquet files that it writes, each with the values that hunts draw.
_LAYOUTS: dict[str, list[Any]] = {
    "output_format_parquet_row_group_size": [1, 2, 3],
    "output_format_parquet_data_page_size": [1],
    "output_format_parquet_batch_size": [1],
    "output_format_parquet_max_dictionary_size": [0],
    "output_format_parquet_write_bloom_filter": [0],
    "output_format_parquet_bloom_filter_bits_per_value": [1],
    "output_format_parquet_write_page_index": [0],
}


# A line of a plan that names a kind of index; one that tells how much it left; a value.
_INDEX = re.compile(r"Min-Max|Partition|PrimaryKey|Skip")
_LEFT = re.compile(r"(Parts|Granules): (\d+)/(\d+)")
_VALUE = re.compile(r"'[^']*'|\b\d[\w.:+-]*")


class OnChDB(Adapter):
    """Runs questions in one session; each request makes its tables anew and resets earlier settings."""

    def __init__(self) -> None:
        self.sql = ClickHouse()
        self._set: set[str] = set()
        # Without SYNC, files of thousands of tables would wait for minutes to be removed.
        self._drop_word = " SYNC"

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of ClickHouse."""
        version = str(_value("version()"))
        if version.startswith("25."):
            # It would wait for ever.
            self._drop_word = ""
        return {
            "engine": "chdb",
            "version": version,
            "tables": "files",
            "formats": list(_FORMATS),
            "areas": ["filter", "limit", "topk", "join", "aggregate", "window", "set", "subquery"],
            # NOT IN passes over NULL in the other table.
            "without": {"functions": _functions_missing(), "types": [], "joins": ["not in"]},
            "settings": settings_to_try(_FILE_SETTINGS | COMMON_SETTINGS),
            "features": True,
            "writes": True,
            "layouts": {name: values for name, values in _LAYOUTS.items() if name in _defaults()},
        }

    def start(self) -> str:
        """Return text that opens one connection for all questions."""
        statements = [f"SET {name} = {value}" for name, value in _SESSION.items()]
        return (
            ROWS + "import chdb\n\ncon = chdb.connect(':memory:')\n" + self.statements_text(statements) + "\n"
            "def rows_of(sql, **others):\n"
            "    return rows(pa.ipc.open_stream(con.query(sql, 'ArrowStream', **others).bytes()))\n\n"
        )

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes a table of each table's files, or a table in memory."""
        return self.statements_text(self._statements(tables, settings)), {}

    def statements_text(self, statements: Iterable[str]) -> str:
        """Return text that runs statements."""
        return "".join(f"con.query({statement!r})\n" for statement in statements)

    def _statements(self, tables: dict[str, Any], settings: dict[str, str]) -> Iterator[str]:
        """Yield the statements of a setup."""
        yield from (f"SET {name} = DEFAULT" for name in sorted(self._set - set(settings)))
        self._set = set(settings) - {FILTER_WORD}
        yield from (f"SET {name} = {_setting(settings[name])}" for name in sorted(self._set))
        columns = [column for table in tables.values() for column in table["columns"]]
        self.sql.binary_columns = frozenset(c["name"] for c in columns if c["type"] == "binary")
        word = settings.get(FILTER_WORD, "WHERE")
        self.sql.filter_words = {name: word for name, table in tables.items() if self.is_pruned(table)}
        self.sql.null_for_empty = False
        for name, table in tables.items():
            yield f"DROP TABLE IF EXISTS {self.sql.name(name)}{self._drop_word}"
            yield from self.table_statements(name, table)

    def is_pruned(self, table: dict[str, Any]) -> bool:
        """Tell whether a table has the form that may be pruned."""
        return "files" in table

    def table_statements(self, name: str, table: dict[str, Any]) -> Iterator[str]:
        """Yield the statements that make a table."""
        if "files" in table:
            yield f"CREATE TABLE {self.sql.name(name)} AS {self._files(table)}"
        else:
            yield from self.memory_statements(name, table)

    def _files(self, table: dict[str, Any]) -> str:
        """Return the table function of a table's files.

        Raises:
            Unsupported: values are in names of directories, whose escapes it would read as they stand.
        """
        if table.get("partitions"):
            raise Unsupported("values in the names of directories")
        directory = os.path.dirname(table["files"][0])
        names = ",".join(os.path.basename(path) for path in table["files"])
        place = table["files"][0] if len(table["files"]) == 1 else f"{directory}/{{{names}}}"
        format_ = _FORMATS[table.get("format", "parquet")]
        structure = self.sql.text(self.sql.structure(columns_of_files(table["columns"])))
        return f"file({self.sql.text(place)}, {format_}, {structure})"

    def memory_statements(self, name: str, table: dict[str, Any]) -> Iterator[str]:
        """Yield the statements that make a table in memory, which has nothing to prune by."""
        yield f"CREATE TABLE {self.sql.name(name)} ({self.structure(table)}) ENGINE = Memory"
        rows = flattened(table)
        if rows:
            yield self.insert(self.sql.name(name), rows, table)

    def structure(self, table: dict[str, Any]) -> str:
        """Return the names and types of a table's columns."""
        return self.sql.structure(table["columns"])

    def insert(self, place: str, rows: list[list[Any]], table: dict[str, Any]) -> str:
        """Return the statement that inserts rows."""
        types = [column["type"] for column in table["columns"]]
        texts = (f"({', '.join(map(self.sql.cell, row, types))})" for row in rows)
        return f"INSERT INTO {place} VALUES {', '.join(texts)}"

    def ask(self, question: dict[str, Any]) -> str:
        """Return text that runs one statement."""
        refuse_change(question)
        if not question.get("prepared"):
            return f"answer = rows_of({self.sql.select(question)!r})\n"
        numbered, literals = with_parameters(question)
        values = self.sql.parameters(literals)
        return f"answer = rows_of({self.sql.select(numbered)!r}, params={values!r})\n"

    def features(self, question: dict[str, Any], names: dict[str, Any]) -> list[str]:
        """Return the lines of the plan, and how much each kind of index left."""
        rows = names["rows_of"]("EXPLAIN indexes = 1 " + self.sql.select(question))
        return list(plan_features([line for (line,) in rows]))

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Write a Parquet file, with rows in the order of their blocks.

        Raises:
            Unsupported: a type would be another one in the file.
        """
        for word in ("binary", "timestamp"):
            if any(column["type"].startswith(word) for column in table["columns"]):
                raise Unsupported("writing " + word)
        structure = self.sql.text(self.sql.structure(table["columns"]))
        place = f"FUNCTION file({self.sql.text(path)}, Parquet, {structure})"
        settings = dict({"max_threads": "1", "output_format_parquet_parallel_encoding": "0"}, **options)
        texts = ", ".join(f"{name} = {value}" for name, value in settings.items())
        insert = self.insert(f"{place} SETTINGS {texts}", flattened(table), table)
        _connection().query(insert)


def settings_to_try(settings: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """Return the settings that this release has, with their values, the default first."""
    defaults = _defaults()
    return {
        name: list(dict.fromkeys((defaults[name], *values)))
        for name, values in settings.items()
        if name in defaults
    }


def _setting(value: str) -> str:
    """Return the value of a setting as SQL."""
    return value if value.isdecimal() else f"'{value}'"


@functools.cache
def _defaults() -> dict[str, str]:
    """Return the values of all settings that are not obsolete."""
    sql = "SELECT name, value FROM system.settings WHERE NOT is_obsolete"
    return dict(json.loads(str(_connection().query(sql, "JSONCompact")))["data"])


def _value(term: str) -> Any:
    """Return the value of a term."""
    return json.loads(str(_connection().query(f"SELECT {term}", "JSONCompact")))["data"][0][0]


def _has(term: str) -> bool:
    """Tell whether this release can evaluate a term."""
    try:
        _value(term)
    except RuntimeError:
        return False
    return True


def _functions_missing() -> list[str]:
    """Return the functions that this release lacks, or has in other types.

    A column s.a is the field a of s, which a dotted name cannot be; sums of Float32 are Float64. Only
    inner joins can do without equal keys.
    """
    takes_parameters = "params" in inspect.signature(_connection().query).parameters
    missing = ["dotted name", "float arithmetic", "join without equal keys"]
    missing += [] if _has("1 IS DISTINCT FROM 2") else ["is distinct from"]
    return [*missing, *([] if takes_parameters else ["parameters"])]


@functools.cache
def _connection() -> Any:
    """Return a connection to the one database of the process."""
    import chdb

    return chdb.connect(":memory:")


ADAPTER = OnChDB


def plan_features(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a plan without values; of counts, whether an index leaves all, some or none."""
    index = ""
    for line in lines:
        text = line.strip(" │└─├")
        left = _LEFT.fullmatch(text)
        if left is not None:
            unit, count, total = left.groups()
            share = "all" if count == total else "some" if int(count) else "no"
            yield f"{index} leaves {share} {unit.lower()}"
        elif _INDEX.fullmatch(text):
            index = text
        elif text:
            yield _VALUE.sub("?", text)
