"""Polars on the stand: Parquet files by `scan_parquet`, frames in memory as their twins.

Its interface changed often. What this version has is found out by looking at signatures and by asking frames
of a few rows, and what it lacks is said.
"""

from __future__ import annotations

import inspect
from typing import Any

import polars as pl

from .polars_chains import chain, joins_missing, null_safe_missing
from .polars_terms import functions_missing
from .polars_types import VERSION, check_types, frame, keyword, schema_text, types_missing
from .serving import Adapter, Unsupported

_COLLECT, _SCAN = pl.LazyFrame.collect, pl.scan_parquet
_HAS_STREAMING_ENGINE = VERSION >= (1, 23)
_SCANS_LISTS = any(
    word in str(next(iter(inspect.signature(_SCAN).parameters.values())).annotation)
    for word in ("list", "FileSource")
)
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
        names = {}
        for name, table in tables.items():
            check_types(table)
            if "files" in table:
                lines.append(f"{name} = {_scan(table, settings)}")
            else:
                names[name] = table
                lines.append(f"{name} = frame({name}).lazy()")
        return "\n".join(lines) + "\n", dict(names, frame=frame)

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
        getattr(frame(table), _WRITE)(path, **given)


def _writes_with(option: str) -> bool:
    """Whether this version writes files with an option."""
    return keyword(getattr(pl.DataFrame, _WRITE), option) is not None


def _settings() -> dict[str, list[str]]:
    """The switches that this version has."""
    settings = {}
    if isinstance(inspect.signature(_SCAN).parameters["parallel"].default, str):
        strategies = ["auto", *(["prefiltered"] if VERSION >= (1,) else []), "row_groups", "columns", "none"]
        settings["parallel"] = strategies
    if _HAS_STREAMING_ENGINE or keyword(_COLLECT, "streaming"):
        settings["streaming"] = ["false", "true"]
    if keyword(_SCAN, "use_statistics"):
        settings["use_statistics"] = ["true", "false"]
    return settings


def _collect(streaming: bool) -> str:
    if not streaming:
        return "collect()"
    return "collect(engine='streaming')" if _HAS_STREAMING_ENGINE else "collect(streaming=True)"


def _scan(table: dict[str, Any], settings: dict[str, str]) -> str:
    """The files of a table, as one scan where the version has that."""
    options = []
    if "parallel" in settings:
        options.append(f"parallel={settings['parallel']!r}")
    if "use_statistics" in settings:
        options.append(f"use_statistics={settings['use_statistics'] == 'true'}")
    options += _hive(table) + _unified(table)
    given = "".join(", " + option for option in options)
    if _SCANS_LISTS:
        return f"pl.scan_parquet({table['files']!r}{given})"
    scans = [f"pl.scan_parquet({path!r}{given})" for path in table["files"]]
    return scans[0] if len(scans) == 1 else f"pl.concat([{', '.join(scans)}])"


def _hive(table: dict[str, Any]) -> list[str]:
    if not table.get("partitions"):
        return []
    if keyword(_SCAN, "hive_schema") is None:
        raise Unsupported("columns of directories' names, with their types")
    return ["hive_partitioning=True", "hive_schema=" + schema_text(table, set(table["partitions"][0]))]


def _unified(table: dict[str, Any]) -> list[str]:
    if not table.get("schemas_differ"):
        return []
    if keyword(_SCAN, "missing_columns") is None or keyword(_SCAN, "extra_columns") is None:
        raise Unsupported("files of different columns and types")
    held = {column["name"] for column in table["columns"]}.difference(*(table.get("partitions") or [{}])[:1])
    casts = "integer_cast='upcast', float_cast='upcast', datetime_cast='nanosecond-downcast'"
    return [
        "schema=" + schema_text(table, held),
        "missing_columns='insert'",
        "extra_columns='ignore'",
        f"cast_options=pl.ScanCastOptions({casts})",
    ]


ADAPTER = OnPolars
