"""The adapter of Spark; the pruned form is read by its own reader, the plain form is in its memory."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from .serving import Adapter, Unsupported, flattened, parse_nested_type, python_text, struct_fields, to_python
from .sql_text import Dialect

_SESSION = {
    "spark.driver.memory": "1g",
    # Most code runs a few times, and then takes less time than to be generated or optimized. Java compiles
    # until the cache of its code is full, which at its default size it is after some hundred questions.
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
    ),
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    # Do not substitute ${...} in texts.
    "spark.sql.variable.substitute": "false",
    # Do not shift or refuse dates and timestamps before 1900, and write timestamps that have statistics.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
# The options of the Parquet files that Spark writes, each with the values that hunts draw.
_LAYOUTS: dict[str, list[Any]] = {
    "parquet.bloom.filter.enabled": ["true"],
    "parquet.enable.dictionary": ["false"],
    "parquet.block.row.count.limit": ["1", "2", "3"],
    "parquet.writer.version": ["v2"],
    "parquet.column.index.truncate.length": ["1", "3"],
    "parquet.statistics.truncate.length": ["1", "3"],
    "spark.sql.parquet.outputTimestampType": ["INT96"],
}
_SETTINGS = {
    "spark.sql.parquet.filterPushdown": ["true", "false"],
    "spark.sql.parquet.filterPushdown.string.startsWith": ["true", "false"],
    "spark.sql.parquet.pushdown.inFilterThreshold": ["10", "0"],
    "spark.sql.parquet.aggregatePushdown": ["false", "true"],
    "spark.sql.parquet.recordLevelFilter.enabled": ["false", "true"],
    "spark.sql.parquet.enableVectorizedReader": ["true", "false"],
    "parquet.filter.stats.enabled": ["true", "false"],
    "parquet.filter.columnindex.enabled": ["true", "false"],
    "parquet.filter.dictionary.enabled": ["true", "false"],
    "parquet.filter.bloom.enabled": ["true", "false"],
    "spark.sql.orc.filterPushdown": ["true", "false"],
    "spark.sql.orc.enableVectorizedReader": ["true", "false"],
    "spark.sql.orc.aggregatePushdown": ["false", "true"],
    "spark.sql.sources.useV1SourceList": ["avro,csv,json,kafka,orc,parquet,text", ""],
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": ["true", "false"],
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": ["10GB", "0"],
    "spark.sql.autoBroadcastJoinThreshold": ["10485760b", "-1"],
    "spark.sql.adaptive.enabled": ["true", "false"],
    "spark.sql.codegen.wholeStage": ["false", "true"],
    "spark.sql.codegen.factoryMode": ["NO_CODEGEN", "FALLBACK"],
}
# Settings that have an effect only with another setting.
_REQUIRED_SETTINGS = {
    ("spark.sql.parquet.aggregatePushdown", "true"): ("spark.sql.sources.useV1SourceList", ""),
    ("spark.sql.parquet.recordLevelFilter.enabled", "true"): (
        "spark.sql.parquet.enableVectorizedReader",
        "false",
    ),
}
_TYPES_MISSING = ["uint8", "uint16", "uint32", "uint64", "timestamp(ns)"]
_TYPES = dict(Dialect.types, int32="INT", float32="FLOAT", string="STRING", binary="BINARY")
_DISTINCT = dict(Dialect.distinct, **{"is not distinct from": "<=>"})
_MAJOR = int(pyspark.__version__.partition(".")[0])
# The functions that `start` defines for later texts. Java's pickler gives small decimals more zeros than
# their type has, so decimals are quantized.
_ROWS = """\
import datetime
from decimal import Context, Decimal

nan, inf = float("nan"), float("inf")

def cell(value, type_):
    word = type_.typeName()
    if value is None:
        return None
    if word == "decimal":
        return value.quantize(Decimal(1).scaleb(-type_.scale), context=Context(prec=38))
    if word == "array":
        return [cell(part, type_.elementType) for part in value]
    if word == "struct":
        return {field.name: cell(part, field.dataType) for part, field in zip(value, type_)}
    return value

def rows(frame):
    types = [field.dataType for field in frame.schema]
    return [tuple(map(cell, row, types)) for row in frame.collect()]

"""
_SUFFIXES = {"int8": "Y", "int16": "S"}
_IN_GLOBS = re.compile(r"[\\{}\[\]*?]")


class Spark(Dialect):
    """The dialect of Spark."""

    quote = "`"
    types = _TYPES
    distinct = _DISTINCT
    semi, anti = "LEFT SEMI JOIN", "LEFT ANTI JOIN"
    # A backslash escapes by default, as in questions.
    like_escape = ""
    starts_with = "startswith"
    functions: ClassVar[dict[str, str]] = {"<<": "shiftleft", ">>": "shiftright"}
    infix: ClassVar[dict[str, str]] = {**Dialect.infix, "//": "DIV"}

    def text(self, text: str) -> str:
        """Return a string literal; Spark unescapes backslashes, and a doubled quote begins a new literal."""
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def literal(self, value: Any, type_: str) -> str:
        """Return a constant; small integers have a suffix, without which they would be INTs."""
        text = super().literal(value, type_)
        return text if value is None else text + _SUFFIXES.get(type_, "")

    def type(self, type_: str) -> str:
        """Return the name of a type, which may be nested."""
        word, inside = parse_nested_type(type_)
        if word == "list":
            return f"ARRAY<{self.type(inside[0])}>"
        if word == "struct":
            typed = (f"{self.name(name)}: {self.type(of)}" for name, of in struct_fields(type_))
            return f"STRUCT<{', '.join(typed)}>"
        return super().type(type_)

    def timestamp(self, unit: str, zone: str | None = None) -> str:
        """Return the type of timestamps, with a zone or without."""
        if unit == "ns":
            raise Unsupported("timestamps in nanoseconds")
        return "TIMESTAMP_NTZ" if zone is None else "TIMESTAMP"

    def element(self, values: str, at: int) -> str:
        """Return an element of a list; brackets raise where there is none."""
        return f"get({values}, {at})"

    def columns(self, columns: list[dict[str, str]]) -> str:
        """Return a table's columns and their types as a schema."""
        return ", ".join(f"{self.name(c['name'])} {self.type(c['type'])}" for c in columns)


class OnSpark(Adapter):
    """Runs questions in one session; each request resets the settings and views of the last one."""

    def __init__(self) -> None:
        self.sql = Spark()
        self._set: set[str] = set()
        self._views: set[str] = set()
        _use_java()
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)

    def start(self) -> str:
        """Return text that starts a session of one thread, in UTC."""
        lines = [
            "import os, time",
            "from pyspark.sql import SparkSession",
            "os.environ['TZ'] = 'UTC'",
            "time.tzset()",
            "builder = SparkSession.builder.master('local[1]').appName('stand')",
        ]
        lines += [f"builder = builder.config({name!r}, {value!r})" for name, value in _SESSION.items()]
        return _ROWS + "\n".join([*lines, "spark = builder.getOrCreate()"]) + "\n"

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of Spark, and keep the session that was started."""
        self.spark = SparkSession.builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("FATAL")
        return {
            "engine": "spark",
            "version": pyspark.__version__,
            "tables": "files",
            "formats": ["parquet", "orc"],
            "areas": ["filter", "limit", "topk", "join", "aggregate", "window", "set", "subquery"],
            "without": {
                "functions": ["unordered window", "parameters"],
                "types": _TYPES_MISSING,
                "joins": [],
            },
            "settings": _SETTINGS,
            "writes": True,
            "layouts": _LAYOUTS,
        }

    def reason_to_end(self) -> str:
        """Return that Spark's Java process ended, if it did: PySpark cannot start another one."""
        gateway = SparkContext._gateway
        status = None if gateway is None else gateway.proc.poll()
        return "" if status is None else f"Spark's Java process ended with status {status}"

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes a view for each table; rows are held in memory without statistics."""
        self._forget()
        lines = []
        for name, value in _with_required_settings(settings).items():
            lines.append(f"spark.conf.set({name!r}, {value!r})")
            self._set.add(name)
        for name, table in tables.items():
            frame = self._files_text(table) if "files" in table else self._in_memory_text(table)
            lines.append(f"{frame}.createOrReplaceTempView({name!r})")
            self._views.add(name)
        return "\n".join(lines) + "\n", {}

    def _forget(self) -> None:
        """Reset the settings and drop the views of the last request."""
        for name in self._set:
            self._reset(name)
        for name in self._views:
            self.spark.catalog.dropTempView(name)
        self._set, self._views = set(), set()

    def _reset(self, name: str) -> None:
        """Reset one setting."""
        if name in _SESSION:
            self.spark.conf.set(name, _SESSION[name])
        else:
            self.spark.conf.unset(name)

    def _files_text(self, table: dict[str, Any]) -> str:
        """Return text that reads a table's files."""
        schema = self.sql.columns(table["columns"])
        partitions = table.get("partitions")
        reader = "spark.read"
        if partitions:
            if any("" in texts.values() for texts in partitions):
                raise Unsupported("an empty text as the name of a directory")
            # The base path is above the file and one directory for each column.
            base = Path(table["files"][0]).parents[len(partitions[0])]
            reader += f".option('basePath', {str(base)!r})"
        format_ = table.get("format", "parquet")
        # Its reader of ORC has no timestamps without a zone, and fails for what pyarrow writes before 1970.
        if format_ == "orc" and any("timestamp" in column["type"] for column in table["columns"]):
            raise Unsupported("timestamps in ORC")
        if partitions or table.get("schemas_differ") or format_ != "parquet":
            reader += f".schema({schema!r})"
        files = [_IN_GLOBS.sub(r"\\\g<0>", path) for path in table["files"]]
        if table.get("schemas_differ") and _MAJOR < 4:
            self._refuse_widening(files, schema)
        return f"{reader}.format({format_!r}).load([{', '.join(map(repr, files))}])"

    def _refuse_widening(self, files: list[str], schema: str) -> None:
        """Refuse files with narrower types, of which Spark before version 4 widens only decimals."""
        wanted = {field.name: field.dataType for field in self.spark.createDataFrame([], schema).schema}
        for path in files:
            for field in self.spark.read.parquet(path).schema:
                type_ = wanted[field.name]
                if field.dataType != type_ and "decimal" not in type_.simpleString():
                    raise Unsupported(f"{field.dataType.simpleString()} read as {type_.simpleString()}")

    def _in_memory_text(self, table: dict[str, Any]) -> str:
        """Return text that makes a table in memory, in one partition, which Spark need not shuffle."""
        schema = self.sql.columns(table["columns"])
        rows = python_text(self._rows(table))
        return f"spark.createDataFrame({rows}, {schema!r}).coalesce(1).localCheckpoint()"

    def _rows(self, table: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Return a table's rows as Python values."""
        types = [column["type"] for column in table["columns"]]
        return [tuple(map(_cell, row, types)) for row in flattened(table)]

    def ask(self, question: dict[str, Any]) -> str:
        """Return text that runs one statement."""
        return f"answer = rows(spark.sql({self._statement(question)!r}))\n"

    def _statement(self, question: dict[str, Any]) -> str:
        """Return a question as SQL."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        return self.sql.select(question)

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Write a file with rows in the order of their blocks; settings of the session are reset after it."""
        self._forget()
        frame = self.spark.createDataFrame(self._rows(table), self.sql.columns(table["columns"]))
        with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as after:
            writer = frame.coalesce(1).write
            for name, value in options.items():
                if name.startswith("spark.sql."):
                    self.spark.conf.set(name, str(value))
                    after.callback(self._reset, name)
                else:
                    writer = writer.option(name, value)
            writer.parquet(directory + "/written")
            (part,) = Path(directory, "written").glob("part-*")
            shutil.move(str(part), path)


def _use_java() -> None:
    """Use the Java that skipproof would choose, if the worker's interpreter has skipproof."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Java reads and writes names of files in this locale's encoding.
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        from skipproof.java import use_java
    except ImportError:
        return
    use_java()


def _with_required_settings(settings: dict[str, str]) -> dict[str, str]:
    """Return settings with those that they require."""
    needed = dict(
        _REQUIRED_SETTINGS[setting] for setting in settings.items() if setting in _REQUIRED_SETTINGS
    )
    return {**needed, **settings}


def _cell(value: Any, type_: str) -> Any:
    """Return a JSON value as the Python value that Spark needs."""
    word, inside = parse_nested_type(type_)
    if value is not None and word == "list":
        return [_cell(part, inside[0]) for part in value]
    if value is not None and word == "struct":
        return tuple(_cell(value[name], of) for name, of in struct_fields(type_))
    return to_python(value, type_)


ADAPTER = OnSpark
