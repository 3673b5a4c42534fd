"""The adapter of DataFusion; the pruned form is a listing table, the plain form record batches in memory.

Adapters of engines that contain DataFusion use this module's dialect and settings, so functions import
DataFusion only when they run it.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
from importlib.metadata import version
from typing import Any, ClassVar

from .arrow_text import ROWS, arrow_arrays, arrow_schema, arrow_type
from .serving import Adapter, Unsupported, parse_type
from .sql_text import PREPARED, Dialect

_PARQUET = "datafusion.execution.parquet."
_PRUNING = _PARQUET + "pruning"
_SETTINGS = {
    _PARQUET + "pushdown_filters": ("true", "false"),
    _PARQUET + "reorder_filters": ("true", "false"),
    _PRUNING: ("true", "false"),
    _PARQUET + "enable_page_index": ("true", "false"),
    _PARQUET + "bloom_filter_on_read": ("true", "false"),
    _PARQUET + "schema_force_view_types": ("true", "false"),
    "datafusion.execution.collect_statistics": ("true", "false"),
    "datafusion.optimizer.enable_dynamic_filter_pushdown": ("true", "false"),
    "datafusion.optimizer.prefer_hash_join": ("true", "false"),
    "datafusion.optimizer.repartition_file_scans": ("true", "false"),
}
# The digits of a second's fraction in each unit of timestamps.
_DIGITS = {"ms": 3, "us": 6, "ns": 9}
# One partition by default, so that answers do not depend on the machine.
PARTITIONS = "datafusion.execution.target_partitions"
DEFAULTS = "SELECT name, value FROM information_schema.df_settings"


class DataFusion(Dialect):
    """The dialect of DataFusion, in which a backslash escapes in every LIKE."""

    types: ClassVar[dict[str, str]] = dict(
        Dialect.types, uint8="TINYINT UNSIGNED", uint16="SMALLINT UNSIGNED", uint32="INT UNSIGNED",
        uint64="BIGINT UNSIGNED", binary="BYTEA",
    )  # fmt: skip
    semi, anti = "LEFT SEMI JOIN", "LEFT ANTI JOIN"
    like_escape = ""

    def field(self, struct: str, name: str) -> str:
        """Return a field of a struct."""
        return f"{struct}[{self.text(name)}]"

    def cast(self, text: str, type_: str, word: str = "CAST") -> str:
        """Return a cast; types without a name in SQL have Arrow's."""
        word_of_type, inside = parse_type(type_)
        if word_of_type != "timestamp":
            return super().cast(text, type_, word)
        if word != "CAST":
            raise Unsupported("TRY_CAST to " + type_)
        unit = {"ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}[inside[0]]
        zone = f'Some("{inside[1]}")' if len(inside) > 1 else "None"
        return f"arrow_cast({text}, 'Timestamp({unit}, {zone})')"

    def call(self, function: str, of: list[Any], term: dict[str, Any]) -> str:
        """Return a function call; a choice between uint64 and a plain number would be a decimal."""
        if function in ("nullif", "coalesce", "if"):
            of = [
                {"call": "cast", "of": [part], "type": "uint64"} if part.get("type") == "uint64" else part
                for part in of
            ]
        return super().call(function, of, term)

    def literal(self, value: Any, type_: str) -> str:
        """Return a constant; NULL is cast like any other type."""
        return self.cast("NULL", type_) if value is None else super().literal(value, type_)

    def parameter_types(self, types: list[str]) -> str:
        """Return the types of the parameters of a prepared statement, not all of which it can infer."""
        return f"({', '.join(map(self._parameter_type, types))})" if types else ""

    def _parameter_type(self, type_: str) -> str:
        """Return the type of a parameter; cast to it, a moment keeps its unit."""
        word, inside = parse_type(type_)
        if word != "timestamp":
            return self.type(type_)
        zone = " WITH TIME ZONE" if len(inside) > 1 else ""
        return f"TIMESTAMP({_DIGITS[inside[0]]}){zone}"


# An operator in a plan, and a count of what was pruned or matched that is not 0.
_OPERATOR = re.compile(r"^ *(\w+)", re.MULTILINE)
_DECISION = re.compile(r"(\w*(?:pruned|matched)\w*)=[1-9]")
# Set operations that DataFusion makes semi and anti joins, which do not count rows that are alike.
COUNTED_SETS = ["intersect all", "except all"]
# The options of the Parquet files that DataFusion writes, each with the values that hunts draw.
_LAYOUTS: dict[str, list[Any]] = {
    "bloom_filter_on_write": [True],
    "max_row_group_size": [1, 2, 3],
    "data_page_row_count_limit": [1, 2],
    "statistics_enabled": ["none", "chunk", "page"],
    "dictionary_enabled": [False],
    "writer_version": ["2.0"],
    "column_index_truncate_length": [1, 3],
    "statistics_truncate_length": [1, 3],
}


class OnDataFusion(Adapter):
    """Runs each request in a new session."""

    def __init__(self) -> None:
        self.sql = DataFusion()

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of DataFusion, with the settings that this version has."""
        from datafusion import SessionContext

        ctx = SessionContext()
        missing = [] if executes_prepared(ctx) else ["parameters"]
        ctx.sql("SET datafusion.catalog.information_schema = 'true'")
        parts = [batch.to_pydict() for batch in ctx.sql(DEFAULTS).collect()]
        values = {
            name: value for part in parts for name, value in zip(part["name"], part["value"], strict=True)
        }
        return {
            "engine": "datafusion",
            "version": version("datafusion"),
            "tables": "files",
            "areas": ["filter", "limit", "topk", "join", "aggregate", "window", "set", "subquery"],
            "without": {"functions": missing, "types": [], "joins": COUNTED_SETS},
            "settings": settings_to_try(values),
            "single_threaded": {PARTITIONS: "1"},
            "features": True,
            "writes": True,
            "layouts": {name: tried for name, tried in _LAYOUTS.items() if _PARQUET + name in values},
        }

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes a listing table for each table of files, a table in memory for others."""
        text = ROWS + "from datafusion import SessionContext\n\nctx = SessionContext()\n"
        for name, value in dict({PARTITIONS: "1"}, **settings).items():
            statement = f"SET {name} = '{value}'"
            text += f"ctx.sql({statement!r})\n"
        for name, table in tables.items():
            if "files" in table:
                text += _listing(name, table, is_pruned=settings.get(_PRUNING) != "false")
            else:
                text += _in_memory(name, table["columns"], table["blocks"])
        return text, {}

    def ask(self, question: dict[str, Any]) -> str:
        """Return text that runs one statement."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        if not question.get("prepared"):
            return f"answer = rows(ctx.sql({self.sql.select(question)!r}).collect())\n"
        prepare, first, last = self.sql.prepared_statements(question)
        return (
            f"ctx.sql({prepare!r})\n"
            "try:\n"
            f"    ctx.sql({first!r}).collect()\n"
            f"    answer = rows(ctx.sql({last!r}).collect())\n"
            "finally:\n"
            f"    ctx.sql({f'DEALLOCATE {PREPARED}'!r})\n"
        )

    def features(self, question: dict[str, Any], names: dict[str, Any]) -> list[str]:
        """Return the operators of the plan that ran, and what was pruned or matched at all."""
        batches = names["ctx"].sql("EXPLAIN ANALYZE " + self.sql.select(question)).collect()
        plan = "".join(text for batch in batches for text in batch.to_pydict()["plan"])
        return [*_OPERATOR.findall(plan), *_DECISION.findall(plan)]

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Write a file by COPY; options are those of `datafusion.execution.parquet`."""
        settings = {_PARQUET + name: _option(value) for name, value in options.items() if value is not None}
        text, names = self.setup({"t": table}, settings)
        exec(text, names)
        copy = f"COPY (SELECT * FROM t) TO {self.sql.text(path)} STORED AS PARQUET"
        names["ctx"].sql(copy).collect()


def executes_prepared(ctx: Any) -> bool:
    """Tell whether this release executes prepared statements; early ones only plan them."""
    try:
        ctx.sql(f"PREPARE {PREPARED}(INT) AS SELECT $1 AS a")
        return bool(ctx.sql(f"EXECUTE {PREPARED}(1)").collect())
    except Exception:  # Releases raise different errors for a statement that they do not know.
        return False


def settings_to_try(values: dict[str, str]) -> dict[str, list[str]]:
    """Return the settings to try with their values, from a version's settings and their defaults."""
    tried = {
        name: [values[name], *(value for value in both if value != values[name])]
        for name, both in _SETTINGS.items()
        if name in values
    }
    return dict(tried, **{PARTITIONS: ["1", "4"]})


def _option(value: Any) -> str:
    """Return the value of an option as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_memory(name: str, columns: list[dict[str, str]], blocks: list[list[list[Any]]]) -> str:
    """Return text that registers a batch for each block; an empty one if there is none, for its schema."""
    batches = (
        f"pa.RecordBatch.from_arrays({arrow_arrays(columns, rows)}, schema=schema)" for rows in blocks or [[]]
    )
    batched = f"ctx.register_record_batches({name!r}, [[{', '.join(batches)}]])\n"
    return f"schema = {arrow_schema(columns)}\n{batched}"


def _listing(name: str, table: dict[str, Any], *, is_pruned: bool) -> str:
    """Return text that registers a table's directory, which must hold only its files.

    Tables that Python registers ignore the setting of pruning, so `is_pruned` is passed along.
    """
    files, partitions = table["files"], table.get("partitions") or []
    types = {column["name"]: column["type"] for column in table["columns"]}
    in_directories = list(partitions[0]) if partitions else []
    base = files[0] if len(files) == 1 and not partitions else _directory(files, len(in_directories))
    if not partitions and not table.get("schemas_differ"):
        # A table made by SQL has the statistics of its files, if the session collects them.
        place = base if len(files) == 1 else base.rstrip("/") + "/"
        statement = f"CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{place}'"
        return f"ctx.sql({statement!r})\n"
    arguments = [repr(name), repr(base)]
    if partitions:
        _check_directories(files, partitions)
        in_directories.sort(key=lambda column: str(files[0]).index(f"{os.sep}{column}="))
        columns = ", ".join(f"({column!r}, {_partition_type(types[column])})" for column in in_directories)
        arguments.append(f"table_partition_cols=[{columns}]")
    if table.get("schemas_differ"):
        held = [column for column in table["columns"] if column["name"] not in in_directories]
        arguments.append("schema=" + arrow_schema(held))
    if not is_pruned:
        arguments.append("parquet_pruning=False")
    return f"ctx.register_parquet({', '.join(arguments)})\n"


def _check_directories(files: list[str], partitions: list[dict[str, str | None]]) -> None:
    """Refuse NULL in names of directories, and before version 55 characters that need escapes."""
    for path, values in zip(files, partitions, strict=True):
        parts = path.split(os.sep)
        for column, text in values.items():
            if text is None:
                raise Unsupported("NULL as the name of a directory")
            if f"{column}={text}" not in parts and _release() < 55:
                raise Unsupported("escapes in the names of directories")


def _directory(files: list[str], levels: int) -> str:
    """Return the directory of a table, so many levels of partitions above its files."""
    base = os.path.dirname(files[0])
    for _ in range(levels):
        base = os.path.dirname(base)
    held = {os.path.join(at, name) for at, _, names in os.walk(base) for name in names}
    if held != set(files):
        raise Unsupported("a directory that holds other files than those of the table")
    return base + os.sep


def _partition_type(type_: str) -> str:
    """Return the text of an Arrow type, or the word that early releases need instead."""
    words = {"string": "'string'", "int32": "'int'", "int64": "'long'"}
    text = next(
        (text for text in (arrow_type(type_), words.get(type_)) if text and _partitions_by(text)), None
    )
    if text is None:
        raise Unsupported("directories named by " + type_)
    return text


@functools.cache
def _partitions_by(type_: str) -> bool:
    """Tell whether a table can be registered with directories whose values are of a type."""
    import pyarrow as pa
    from datafusion import SessionContext

    with tempfile.TemporaryDirectory() as directory:
        columns = [("a", eval(type_, {"pa": pa}))]
        schema = pa.schema([("b", pa.int32())])
        try:
            SessionContext().register_parquet(
                "t", directory + os.sep, table_partition_cols=columns, schema=schema
            )
        except Exception:  # Releases raise different errors for a type that they do not support.
            return False
    return True


def _release() -> int:
    """Return the major version of DataFusion."""
    return int(version("datafusion").split(".")[0])


ADAPTER = OnDataFusion
