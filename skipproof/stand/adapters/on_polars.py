"""Polars on the stand: Parquet files by `scan_parquet`, frames in memory as their twins.

Its interface changed often. What this version has is found out by looking at signatures and by asking frames
of a few rows, and what it lacks is said.
"""

from __future__ import annotations

import functools
import inspect
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from .polars_chains import chain, joins_missing, null_safe_missing
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


# How files are written.
_LAYOUTS: dict[str, list[Any]] = {
    "row_group_size": [1, 2, 3],
    "statistics": [False, True],
    "data_page_size": [1],
    "use_pyarrow": [True],
}


class OnPolars(Adapter):
    """Asks lazy frames; a table's columns stand in the text of a question by their names alone."""

    def __init__(self) -> None:
        self.collect = "collect()"

    def hello(self) -> dict[str, Any]:
        """What this version of Polars can be asked."""
        return {
            "engine": "polars",
            "version": pl.__version__,
            "tables": "files",
            "areas": ["filter", "limit", "topk", "join", "aggregate"],
            "without": {
                "functions": [*functions_missing(), *(["null safe join"] if null_safe_missing() else [])],
                "types": list(types_missing()),
                "joins": joins_missing(),
            },
            "settings": _settings(),
            "writes": True,
            "layouts": {name: tried for name, tried in _LAYOUTS.items() if _writes_with(name)},
        }

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """A lazy frame for each table, of its files or of its rows."""
        self.collect = _collect(settings.get("streaming") == "true")
        lines = ["import datetime", "from decimal import Decimal", "import polars as pl"]
        lines.append('nan, inf = float("nan"), float("inf")')
        for name, table in tables.items():
            check_types(table)
            of = _scan(table, settings) if "files" in table else f"{frame_text(table)}.lazy()"
            lines.append(f"{name} = {of}")
        return "\n".join(lines) + "\n", {}

    def ask(self, question: dict[str, Any]) -> str:
        """One chain of calls."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        return f"answer = {chain(question)}.{self.collect}.rows()\n"

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Rows by `write_parquet`, in the order of their blocks."""
        given = {name: value for name, value in options.items() if value is not None}
        for name in given:
            if not _writes_with(name):
                raise Unsupported("writing with " + name)
        check_types(table)
        getattr(frame(table), _WRITE)(path, **given)


def _writes_with(option: str) -> bool:
    """Whether this version writes files with an option."""
    return keyword(getattr(pl.DataFrame, _WRITE), option) is not None


def _settings() -> dict[str, list[str]]:
    """The switches that this version has."""
    settings = {}
    if isinstance(inspect.signature(_SCAN).parameters["parallel"].default, str):
        settings["parallel"] = _strategies()
    if _streams() is not None:
        settings["streaming"] = ["false", "true"]
    if keyword(_SCAN, "use_statistics"):
        settings["use_statistics"] = ["true", "false"]
    return settings


def _collect(streaming: bool) -> str:
    if not streaming:
        return "collect()"
    return f"collect({_streams()})"


@functools.cache
def _streams() -> str | None:
    """The argument by which this version streams."""
    small = pl.DataFrame({"a": [1]}).lazy()
    if works(lambda: small.collect(engine="streaming").rows() == [(1,)]):
        return "engine='streaming'"
    return "streaming=True" if keyword(_COLLECT, "streaming") else None


@functools.cache
def _strategies() -> list[str]:
    """The ways to read a file in parallel that this version takes, the default first."""
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory, "t.parquet"))
        getattr(pl.DataFrame({"a": [1]}), _WRITE)(path)

        def reads(strategy: str) -> bool:
            return bool(_SCAN(path, parallel=strategy).collect().rows() == [(1,)])

        known = ("auto", "prefiltered", "row_groups", "columns", "none")
        return [strategy for strategy in known if works(functools.partial(reads, strategy))]


def _scan(table: dict[str, Any], settings: dict[str, str]) -> str:
    """The files of a table, as one scan where the version has that."""
    options = []
    if "parallel" in settings:
        options.append(f"parallel={settings['parallel']!r}")
    if "use_statistics" in settings:
        options.append(f"use_statistics={settings['use_statistics'] == 'true'}")
    files = table["files"]
    lacks_hive = table.get("partitions") and keyword(_SCAN, "hive_schema") is None
    if lacks_hive or (table.get("schemas_differ") and not _UNIFIES):
        scans = _by_hand(files, table, _given(options))
    elif _SCANS_LISTS:
        return f"pl.scan_parquet({files!r}{_given(options + _hive(table) + _unified(table))})"
    else:
        scans = [f"pl.scan_parquet({path!r}{_given(options)})" for path in files]
    return scans[0] if len(scans) == 1 else f"pl.concat([{', '.join(scans)}])"


def _given(options: list[str]) -> str:
    return "".join(", " + option for option in options)


def _by_hand(files: list[str], table: dict[str, Any], given: str) -> list[str]:
    """Scans that are made alike one by one: columns cast, or added by what a directory is named."""
    if keyword(_SCAN, "hive_partitioning") is not None:
        given += ", hive_partitioning=False"
    columns, scans = table["columns"], []
    for path, named in zip(files, table.get("partitions") or [{}] * len(files), strict=True):
        held = pl.read_parquet_schema(path)
        terms = ", ".join(_filled(column, column["name"] in held, named) for column in columns)
        names = [column["name"] for column in columns]
        scans.append(f"pl.scan_parquet({path!r}{given}).with_columns([{terms}]).select({names!r})")
    return scans


def _filled(column: dict[str, str], is_held: bool, named: dict[str, str | None]) -> str:
    name, type_ = column["name"], dtype_text(column["type"])
    if is_held:
        return f"pl.col({name!r}).cast({type_})"
    return f"pl.lit({named.get(name)!r}).cast({type_}).alias({name!r})"


def _hive(table: dict[str, Any]) -> list[str]:
    if not table.get("partitions"):
        return []
    return ["hive_partitioning=True", "hive_schema=" + schema_text(table, set(table["partitions"][0]))]


def _unified(table: dict[str, Any]) -> list[str]:
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
