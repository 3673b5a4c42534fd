"""The adapter of Polars; the pruned form is read by `scan_parquet`, the plain form is a frame in memory.

The interface of Polars changed often. The abilities of a version are found by looking at signatures and by
running small frames.
"""

from __future__ import annotations

import functools
import inspect
import re
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from .polars_chains import HAS_WINDOWS, chain_text, joins_missing, null_safe_missing
from .polars_terms import functions_missing
from .polars_types import (
    check_types,
    dtype_text,
    frame,
    frame_text,
    keyword,
    schema_text,
    types_missing,
    works,
)
from .serving import Adapter, Unsupported

_COLLECT, _SCAN = pl.LazyFrame.collect, pl.scan_parquet
_SCANS_LISTS = any(
    word in str(next(iter(inspect.signature(_SCAN).parameters.values())).annotation)
    for word in ("list", "FileSource")
)
_UNIFIES = keyword(_SCAN, "missing_columns") is not None and keyword(_SCAN, "extra_columns") is not None
_WRITE = "write_parquet" if hasattr(pl.DataFrame, "write_parquet") else "to_parquet"
_EXPLAINS = hasattr(pl.LazyFrame, "explain")
# What differs between plans of the same shape: paths, other texts than names of columns, names of filters,
# numbers.
_VALUE = re.compile(r'(col\([^)]*\))|\[/[^\]]*\]|"[^"]*"|[0-9a-f]{8}-[0-9a-f-]{27}|\b\d[\w.:+-]*')

# The options of written files.
_LAYOUTS: dict[str, list[Any]] = {
    "row_group_size": [1, 2, 3],
    "statistics": [False, True],
    "data_page_size": [1],
    "use_pyarrow": [True],
}


class OnPolars(Adapter):
    """Runs questions as chains of calls on lazy frames."""

    def __init__(self) -> None:
        self.collect = "collect()"

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of Polars."""
        return {
            "engine": "polars",
            "version": pl.__version__,
            "tables": "files",
            "areas": [
                "filter",
                "limit",
                "topk",
                "join",
                "aggregate",
                *(["window"] if HAS_WINDOWS else []),
                "set",
            ],
            "without": {
                "functions": [
                    "parameters",
                    "join condition",
                    *functions_missing(),
                    *(["null safe join"] if null_safe_missing() else []),
                ],
                "types": list(types_missing()),
                "joins": joins_missing(),
            },
            "settings": _settings(),
            "features": _EXPLAINS,
            "writes": True,
            "layouts": {name: tried for name, tried in _LAYOUTS.items() if _writes_with(name)},
        }

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes a lazy frame for each table, of its files or of its rows."""
        self.collect = _collect(settings.get("streaming") == "true")
        lines = ["import datetime", "from decimal import Decimal", "import polars as pl"]
        lines.append('nan, inf = float("nan"), float("inf")')
        for name, table in tables.items():
            check_types(table)
            of = _scan(table, settings) if "files" in table else f"{frame_text(table)}.lazy()"
            lines.append(f"{name} = {of}")
        return "\n".join(lines) + "\n", {}

    def ask(self, question: dict[str, Any]) -> str:
        """Return text of one chain of calls."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        return f"answer = {chain_text(question)}.{self.collect}.rows()\n"

    def features(self, question: dict[str, Any], names: dict[str, Any]) -> list[str]:
        """Return the lines of the optimized plan, without values."""
        plan = eval(chain_text(question), dict(names)).explain()
        return [_VALUE.sub(lambda match: match[1] or "?", line.strip()) for line in plan.splitlines()]

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Write a file by `write_parquet`, with rows in the order of their blocks."""
        arguments = {name: value for name, value in options.items() if value is not None}
        for name in arguments:
            if not _writes_with(name):
                raise Unsupported("writing with " + name)
        check_types(table)
        getattr(frame(table), _WRITE)(path, **arguments)


def _writes_with(option: str) -> bool:
    """Tell whether this version has an option of written files."""
    return keyword(getattr(pl.DataFrame, _WRITE), option) is not None


def _settings() -> dict[str, list[str]]:
    """Return the settings that this version has, with their values."""
    settings = {}
    if isinstance(inspect.signature(_SCAN).parameters["parallel"].default, str):
        settings["parallel"] = _strategies()
    if _streaming_argument() is not None:
        settings["streaming"] = ["false", "true"]
    if keyword(_SCAN, "use_statistics"):
        settings["use_statistics"] = ["true", "false"]
    return settings


def _collect(streaming: bool) -> str:
    """Return the call that collects a frame."""
    if not streaming:
        return "collect()"
    return f"collect({_streaming_argument()})"


@functools.cache
def _streaming_argument() -> str | None:
    """Return the argument that makes this version stream, or None."""
    small = pl.DataFrame({"a": [1]}).lazy()
    if works(lambda: small.collect(engine="streaming").rows() == [(1,)]):
        return "engine='streaming'"
    return "streaming=True" if keyword(_COLLECT, "streaming") else None


@functools.cache
def _strategies() -> list[str]:
    """Return the parallel strategies that this version has, the default first."""
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory, "t.parquet"))
        getattr(pl.DataFrame({"a": [1]}), _WRITE)(path)

        def reads(strategy: str) -> bool:
            return bool(_SCAN(path, parallel=strategy).collect().rows() == [(1,)])

        strategies = ("auto", "prefiltered", "row_groups", "columns", "none")
        return [strategy for strategy in strategies if works(functools.partial(reads, strategy))]


def _scan(table: dict[str, Any], settings: dict[str, str]) -> str:
    """Return the text that scans a table's files, as one scan if the version supports it."""
    options = []
    if "parallel" in settings:
        options.append(f"parallel={settings['parallel']!r}")
    if "use_statistics" in settings:
        options.append(f"use_statistics={settings['use_statistics'] == 'true'}")
    files = table["files"]
    lacks_hive = table.get("partitions") and keyword(_SCAN, "hive_schema") is None
    if lacks_hive or (table.get("schemas_differ") and not _UNIFIES):
        scans = _aligned_scans(files, table, _arguments_text(options))
    elif _SCANS_LISTS:
        options += _hive_options(table) + _schema_options(table)
        return f"pl.scan_parquet({files!r}{_arguments_text(options)})"
    else:
        scans = [f"pl.scan_parquet({path!r}{_arguments_text(options)})" for path in files]
    return scans[0] if len(scans) == 1 else f"pl.concat([{', '.join(scans)}])"


def _arguments_text(options: list[str]) -> str:
    """Return options as further arguments of a call."""
    return "".join(", " + option for option in options)


def _aligned_scans(files: list[str], table: dict[str, Any], arguments: str) -> list[str]:
    """Return a scan of each file, with columns cast to the table's types or added from directory names."""
    if keyword(_SCAN, "hive_partitioning") is not None:
        arguments += ", hive_partitioning=False"
    columns, scans = table["columns"], []
    for path, named in zip(files, table.get("partitions") or [{}] * len(files), strict=True):
        held = pl.read_parquet_schema(path)
        terms = ", ".join(_column_text(column, column["name"] in held, named) for column in columns)
        names = [column["name"] for column in columns]
        scans.append(f"pl.scan_parquet({path!r}{arguments}).with_columns([{terms}]).select({names!r})")
    return scans


def _column_text(column: dict[str, str], is_held: bool, named: dict[str, str | None]) -> str:
    """Return the text of a column, cast from the file or added from a directory name."""
    name, type_ = column["name"], dtype_text(column["type"])
    if is_held:
        return f"pl.col({name!r}).cast({type_})"
    return f"pl.lit({named.get(name)!r}).cast({type_}).alias({name!r})"


def _hive_options(table: dict[str, Any]) -> list[str]:
    """Return the options of a scan of partitions."""
    if not table.get("partitions"):
        return []
    return ["hive_partitioning=True", "hive_schema=" + schema_text(table, set(table["partitions"][0]))]


def _schema_options(table: dict[str, Any]) -> list[str]:
    """Return the options of a scan of files with different schemas."""
    if not table.get("schemas_differ"):
        return []
    held = {column["name"] for column in table["columns"]}.difference(*(table.get("partitions") or [{}])[:1])
    casts = "integer_cast='upcast', float_cast='upcast', datetime_cast='nanosecond-downcast'"
    return [
        "schema=" + schema_text(table, held),
        "missing_columns='insert'",
        "extra_columns='ignore'",
        f"cast_options=pl.ScanCastOptions({casts})",
    ]


ADAPTER = OnPolars
