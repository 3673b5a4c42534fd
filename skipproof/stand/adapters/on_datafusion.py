"""DataFusion on the stand: Parquet files by listing tables, record batches in memory as their twins.

What else speaks Arrow uses this module's texts of Arrow tables, so it imports DataFusion only to ask it.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

from .serving import Adapter, Unsupported, flattened, parsed
from .sql_text import Dialect

# What texts start with: rows of Arrow batches, with dates and times as the counts that they are.
ROWS = """\
import pyarrow as pa
from decimal import Decimal

nan, inf = float("nan"), float("inf")
PER_MICROSECOND = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}

def cells(column):
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(column.type):
        times, per = PER_MICROSECOND[column.type.unit]
        counts = column.cast(pa.int64()).to_pylist()
        return [None if count is None else count * times // per for count in counts]
    return column.to_pylist()

def rows(batches):
    return [row for batch in batches for row in zip(*map(cells, batch.columns))]

"""
_ARROW_TYPES = {
    "boolean": "bool_", "float32": "float32", "float64": "float64", "string": "string", "binary": "binary",
    "date": "date32", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8",
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
}  # fmt: skip
_PARQUET = "datafusion.execution.parquet."
_SETTINGS = {
    _PARQUET + "pushdown_filters": ("true", "false"),
    _PARQUET + "reorder_filters": ("true", "false"),
    _PARQUET + "pruning": ("true", "false"),
    _PARQUET + "enable_page_index": ("true", "false"),
    _PARQUET + "bloom_filter_on_read": ("true", "false"),
    _PARQUET + "schema_force_view_types": ("true", "false"),
    "datafusion.execution.collect_statistics": ("true", "false"),
    "datafusion.optimizer.enable_dynamic_filter_pushdown": ("true", "false"),
    "datafusion.optimizer.prefer_hash_join": ("true", "false"),
    "datafusion.optimizer.repartition_file_scans": ("true", "false"),
}
# One partition unless more are asked for, so that answers do not depend on the machine.
PARTITIONS = "datafusion.execution.target_partitions"
DEFAULTS = "SELECT name, value FROM information_schema.df_settings"


class DataFusion(Dialect):
    """DataFusion's dialect, in which a backslash escapes in every LIKE."""

    types = dict(  # noqa: RUF012
        Dialect.types, uint8="TINYINT UNSIGNED", uint16="SMALLINT UNSIGNED", uint32="INT UNSIGNED",
        uint64="BIGINT UNSIGNED", binary="BYTEA",
    )  # fmt: skip
    semi, anti = "LEFT SEMI JOIN", "LEFT ANTI JOIN"
    like_escape = ""

    def cast(self, text: str, type_: str, word: str = "CAST") -> str:
        """Types that SQL cannot name are named as Arrow does."""
        word_of_type, inside = parsed(type_)
        if word_of_type != "timestamp":
            return super().cast(text, type_, word)
        if word != "CAST":
            raise Unsupported("TRY_CAST to " + type_)
        unit = {"ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}[inside[0]]
        zone = f'Some("{inside[1]}")' if len(inside) > 1 else "None"
        return f"arrow_cast({text}, 'Timestamp({unit}, {zone})')"

    def literal(self, value: Any, type_: str) -> str:
        """NULL is cast as everything else is."""
        return self.cast("NULL", type_) if value is None else super().literal(value, type_)


class OnDataFusion(Adapter):
    """Asks a new session each time."""

    def __init__(self) -> None:
        self.sql = DataFusion()

    def hello(self) -> dict[str, Any]:
        """What DataFusion can be asked, with the switches that this version has."""
        from datafusion import SessionConfig, SessionContext

        ctx = SessionContext(SessionConfig().with_information_schema(True))
        found = [batch.to_pydict() for batch in ctx.sql(DEFAULTS).collect()]
        values = {name: value for part in found for name, value in zip(part["name"], part["value"])}  # noqa: B905
        return {
            "engine": "datafusion",
            "version": version("datafusion"),
            "tables": "files",
            "areas": ["filter", "limit", "topk", "join", "aggregate"],
            "without": {"functions": [], "types": [], "joins": []},
            "settings": switches(values),
            "writes": True,
        }

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """A listing table for each table of files, one batch for each of rows."""
        text = ROWS + "from datafusion import SessionContext\n\nctx = SessionContext()\n"
        for name, value in dict({PARTITIONS: "1"}, **settings).items():
            text += "ctx.sql({!r})\n".format(f"SET {name} = '{value}'")
        for name, table in tables.items():
            if "files" in table:
                text += _listing(name, table)
            else:
                text += _in_memory(name, table["columns"], flattened(table))
        return text, {}

    def ask(self, question: dict[str, Any]) -> str:
        """One statement."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        return f"answer = rows(ctx.sql({self.sql.select(question)!r}).collect())\n"

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Rows by COPY; options are those of `datafusion.execution.parquet`."""
        settings = {_PARQUET + name: _option(value) for name, value in options.items() if value is not None}
        text, names = self.setup({"t": table}, settings)
        exec(text, names)
        copy = f"COPY (SELECT * FROM t) TO {self.sql.text(path)} STORED AS PARQUET"
        names["ctx"].sql(copy).collect()


def switches(values: dict[str, str]) -> dict[str, list[str]]:
    """The settings to try, of a version's settings and their defaults."""
    tried = {
        name: sorted(both, key=lambda value, name=name: value != values[name])  # type: ignore[misc]
        for name, both in _SETTINGS.items()
        if name in values
    }
    return dict(tried, **{PARTITIONS: ["1", "4"]})


def _option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_memory(name: str, columns: list[dict[str, str]], rows: list[list[Any]]) -> str:
    """One batch, so that an empty table has a schema too."""
    batch = f"pa.RecordBatch.from_arrays({arrow_arrays(columns, rows)}, schema={arrow_schema(columns)})"
    return f"ctx.register_record_batches({name!r}, [[{batch}]])\n"


def _listing(name: str, table: dict[str, Any]) -> str:
    """The directory of a table, which must hold its files alone."""
    files, partitions = table["files"], table.get("partitions") or []
    types = {column["name"]: column["type"] for column in table["columns"]}
    in_directories = list(partitions[0]) if partitions else []
    base = files[0] if len(files) == 1 and not partitions else _directory(files, len(in_directories))
    arguments = [repr(name), repr(base)]
    if partitions:
        _check_directories(files, partitions)
        in_directories.sort(key=lambda column: str(files[0]).index(f"{os.sep}{column}="))
        columns = ", ".join(f"({column!r}, {_partition_type(types[column])})" for column in in_directories)
        arguments.append(f"table_partition_cols=[{columns}]")
    if table.get("schemas_differ"):
        held = [column for column in table["columns"] if column["name"] not in in_directories]
        arguments.append("schema=" + arrow_schema(held))
    return "ctx.register_parquet({})\n".format(", ".join(arguments))


def _check_directories(files: list[str], partitions: list[dict[str, str | None]]) -> None:
    """Directories have no name for NULL, and until version 55 no escapes."""
    for path, values in zip(files, partitions):  # noqa: B905
        parts = path.split(os.sep)
        for column, text in values.items():
            if text is None:
                raise Unsupported("NULL as the name of a directory")
            if f"{column}={text}" not in parts and _release() < 55:
                raise Unsupported("escapes in the names of directories")


def _directory(files: list[str], levels: int) -> str:
    """The directory that the files lie in, so many levels of partitions above them."""
    base = os.path.dirname(files[0])
    for _ in range(levels):
        base = os.path.dirname(base)
    held = {os.path.join(at, name) for at, _, names in os.walk(base) for name in names}
    if held != set(files):
        raise Unsupported("a directory that holds other files than those of the table")
    return base + os.sep


def _partition_type(type_: str) -> str:
    """An Arrow type, or what releases up to 44 take in its place."""
    if _release() > 44:
        return arrow_type(type_)
    if type_ not in ("string", "int32", "int64"):
        raise Unsupported("directories named by " + type_)
    return repr({"string": "string", "int32": "int", "int64": "long"}[type_])


def _release() -> int:
    return int(version("datafusion").split(".")[0])


def arrow_type(type_: str) -> str:
    """The Python text of a type as Arrow has it."""
    word, inside = parsed(type_)
    if word == "list":
        return f"pa.list_({arrow_type(_within(type_))})"
    if word == "struct":
        fields = (f"({name!r}, {arrow_type(part)})" for name, part in _fields(type_))
        return "pa.struct([{}])".format(", ".join(fields))
    if word == "decimal":
        return "pa.decimal128({}, {})".format(*inside)
    if word == "timestamp":
        return "pa.timestamp({})".format(", ".join(map(repr, inside)))
    if word not in _ARROW_TYPES:
        raise Unsupported("the type " + type_)
    return f"pa.{_ARROW_TYPES[word]}()"


def arrow_schema(columns: list[dict[str, str]]) -> str:
    """The Python text of a schema."""
    fields = ("({!r}, {})".format(column["name"], arrow_type(column["type"])) for column in columns)
    return "pa.schema([{}])".format(", ".join(fields))


def arrow_arrays(columns: list[dict[str, str]], rows: list[list[Any]]) -> str:
    """The Python text of a list of arrays, one for each column."""
    arrays = []
    for at, column in enumerate(columns):
        cells = ", ".join(arrow_cell(row[at], column["type"]) for row in rows)
        arrays.append(f"pa.array([{cells}], {arrow_type(column['type'])})")
    return "[{}]".format(", ".join(arrays))


def arrow_table(columns: list[dict[str, str]], rows: list[list[Any]], schema: str) -> str:
    """The Python text of a table; `schema` is the name that its schema has there."""
    return f"pa.table({arrow_arrays(columns, rows)}, schema={schema})"


def arrow_cell(value: Any, type_: str) -> str:
    """The Python text of a value from which Arrow makes one of the type; dates and times stay counts."""
    word, _ = parsed(type_)
    if value is None:
        return "None"
    if word == "list":
        return "[{}]".format(", ".join(arrow_cell(part, _within(type_)) for part in value))
    if word == "struct":
        parts = (f"{name!r}: {arrow_cell(value[name], part)}" for name, part in _fields(type_))
        return "{{{}}}".format(", ".join(parts))
    if word in ("float32", "float64"):
        return "-nan" if value == "-NaN" else repr(float(value))
    if word == "decimal":
        return f"Decimal({value!r})"
    return repr(bytes.fromhex(value) if word == "binary" else value)


def _within(type_: str) -> str:
    """What stands in a type's parentheses."""
    return type_[type_.index("(") + 1 : -1]


def _fields(type_: str) -> list[tuple[str, str]]:
    """The names and types of a struct's fields."""
    fields, depth = [""], 0
    for letter in _within(type_):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            fields.append("")
        else:
            fields[-1] += letter
    pairs = (field.strip().split(" ", 1) for field in fields)
    return [(name, part.strip()) for name, part in pairs]


ADAPTER = OnDataFusion
