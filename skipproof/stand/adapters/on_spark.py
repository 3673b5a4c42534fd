"""Spark on the stand: Parquet files by its own reader, rows held in its memory as their twins."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from .serving import Adapter, Unsupported, fields, flattened, nested, python_text, to_python
from .sql_text import Dialect

_SESSION = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    # A text with ${...} in it is a text.
    "spark.sql.variable.substitute": "false",
    # Days and moments before 1900 are neither moved nor refused, and moments keep their statistics.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
# How files are written.
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
    "spark.sql.sources.useV1SourceList": ["avro,csv,json,kafka,orc,parquet,text", ""],
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": ["true", "false"],
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": ["10GB", "0"],
    "spark.sql.autoBroadcastJoinThreshold": ["10485760b", "-1"],
    "spark.sql.adaptive.enabled": ["true", "false"],
}
# A switch that does nothing but under another one.
_NEEDED = {
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
# What start defines for later texts. Java's pickler gives a small decimal more zeros than its type has.
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
    """Spark's dialect."""

    quote = "`"
    types = _TYPES
    distinct = _DISTINCT
    semi, anti = "LEFT SEMI JOIN", "LEFT ANTI JOIN"
    # A backslash, as it is in the questions.
    like_escape = ""
    starts_with = "startswith"

    def text(self, text: str) -> str:
        """Spark unescapes backslashes in literals; a doubled quote would end one and begin another."""
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def literal(self, value: Any, type_: str) -> str:
        """Small integers with the letter of their type; without it they are INTs, which overflow later."""
        text = super().literal(value, type_)
        return text if value is None else text + _SUFFIXES.get(type_, "")

    def type(self, type_: str) -> str:
        """Nested types too."""
        word, inside = nested(type_)
        if word == "list":
            return f"ARRAY<{self.type(inside[0])}>"
        if word == "struct":
            typed = (f"{self.name(name)}: {self.type(of)}" for name, of in fields(type_))
            return f"STRUCT<{', '.join(typed)}>"
        return super().type(type_)

    def timestamp(self, unit: str, zone: str | None = None) -> str:
        """One unit, with a zone and without."""
        if unit == "ns":
            raise Unsupported("timestamps in nanoseconds")
        return "TIMESTAMP_NTZ" if zone is None else "TIMESTAMP"

    def columns(self, columns: list[dict[str, str]]) -> str:
        """A table's columns and their types."""
        return ", ".join(f"{self.name(c['name'])} {self.type(c['type'])}" for c in columns)


class OnSpark(Adapter):
    """Asks one session, which forgets an earlier request's settings and tables."""

    def __init__(self) -> None:
        self.sql = Spark()
        self._set: set[str] = set()
        self._views: set[str] = set()
        _use_java()
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)

    def start(self) -> str:
        """A session of one thread, in UTC."""
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
        """What Spark can be asked, of the session that was started."""
        self.spark = SparkSession.builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("FATAL")
        return {
            "engine": "spark",
            "version": pyspark.__version__,
            "tables": "files",
            "areas": ["filter", "limit", "topk", "join", "aggregate"],
            "without": {"functions": [], "types": _TYPES_MISSING, "joins": []},
            "settings": _SETTINGS,
            "writes": True,
            "layouts": _LAYOUTS,
        }

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """A view for each table; rows are held in memory without statistics."""
        self._forget()
        lines = []
        for name, value in _with_needed(settings).items():
            lines.append(f"spark.conf.set({name!r}, {value!r})")
            self._set.add(name)
        for name, table in tables.items():
            frame = self._read(table) if "files" in table else self._held(table)
            lines.append(f"{frame}.createOrReplaceTempView({name!r})")
            self._views.add(name)
        return "\n".join(lines) + "\n", {}

    def _forget(self) -> None:
        for name in self._set:
            self._reset(name)
        for name in self._views:
            self.spark.catalog.dropTempView(name)
        self._set, self._views = set(), set()

    def _reset(self, name: str) -> None:
        if name in _SESSION:
            self.spark.conf.set(name, _SESSION[name])
        else:
            self.spark.conf.unset(name)

    def _read(self, table: dict[str, Any]) -> str:
        schema = self.sql.columns(table["columns"])
        partitions = table.get("partitions")
        reader = "spark.read"
        if partitions:
            if any("" in texts.values() for texts in partitions):
                raise Unsupported("an empty text as the name of a directory")
            # The file, and a directory for each column.
            base = Path(table["files"][0]).parents[len(partitions[0])]
            reader += f".option('basePath', {str(base)!r})"
        if partitions or table.get("schemas_differ"):
            reader += f".schema({schema!r})"
        files = [_IN_GLOBS.sub(r"\\\g<0>", path) for path in table["files"]]
        if table.get("schemas_differ") and _MAJOR < 4:
            self._refuse_narrower(files, schema)
        return f"{reader}.parquet({', '.join(map(repr, files))})"

    def _refuse_narrower(self, files: list[str], schema: str) -> None:
        """Before version 4 Spark widens decimals alone."""
        wanted = {field.name: field.dataType for field in self.spark.createDataFrame([], schema).schema}
        for path in files:
            for field in self.spark.read.parquet(path).schema:
                type_ = wanted[field.name]
                if field.dataType != type_ and "decimal" not in type_.simpleString():
                    raise Unsupported(f"{field.dataType.simpleString()} read as {type_.simpleString()}")

    def _held(self, table: dict[str, Any]) -> str:
        schema = self.sql.columns(table["columns"])
        return f"spark.createDataFrame({python_text(self._rows(table))}, {schema!r}).localCheckpoint()"

    def _rows(self, table: dict[str, Any]) -> list[tuple[Any, ...]]:
        types = [column["type"] for column in table["columns"]]
        return [tuple(map(_cell, row, types)) for row in flattened(table)]

    def ask(self, question: dict[str, Any]) -> str:
        """One statement."""
        return f"answer = rows(spark.sql({self._statement(question)!r}))\n"

    def _statement(self, question: dict[str, Any]) -> str:
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        return self.sql.select(question)

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Rows in the order of their blocks; options that are settings of the session are set meanwhile."""
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
    """The Java that skipproof would take, where the worker's interpreter has skipproof."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # By it Java reads and writes the names of files.
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        from skipproof.java import use_java
    except ImportError:
        return
    use_java()


def _with_needed(settings: dict[str, str]) -> dict[str, str]:
    needed = dict(_NEEDED[setting] for setting in settings.items() if setting in _NEEDED)
    return {**needed, **settings}


def _cell(value: Any, type_: str) -> Any:
    """A JSON value as Spark takes it from Python."""
    word, inside = nested(type_)
    if value is not None and word == "list":
        return [_cell(part, inside[0]) for part in value]
    if value is not None and word == "struct":
        return tuple(_cell(value[name], of) for name, of in fields(type_))
    return to_python(value, type_)


ADAPTER = OnSpark
