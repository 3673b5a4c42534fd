"""Types, frames and values as text for this version of Polars, and the types that it lacks."""

from __future__ import annotations

import datetime
import functools
import inspect
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl

from .serving import (
    Unsupported,
    flattened,
    parse_nested_type,
    parse_type,
    python_text,
    struct_fields,
    to_python,
)

VERSION = tuple(int(part) for part in re.findall(r"\d+", pl.__version__)[:3])
_PLAIN_TYPES = {
    "boolean": "Boolean", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64",
    "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float32": "Float32",
    "float64": "Float64", "string": "Utf8", "binary": "Binary", "date": "Date",
}  # fmt: skip
# One value of each type that some version lacks.
_SAMPLES = {
    "uint64": 2**63, "decimal": "1.50", "binary": "00ff", "date": 1, "timestamp(ms)": 1,
    "timestamp(us)": 1, "timestamp(ns)": 1000, "timestamp(us,UTC)": 1, "list": [1, None], "struct": {"x": 1},
}  # fmt: skip
_NAMES = {"pl": pl, "datetime": datetime, "Decimal": Decimal, "nan": math.nan, "inf": math.inf}
_PARAMETERS = {"decimal": "(9,2)", "list": "(int64)", "struct": "(x int64)"}


def keyword(function: Any, *names: str) -> str | None:
    """Return the first of these names that a function has as a parameter, or None."""
    parameters = inspect.signature(function).parameters
    return next((name for name in names if name in parameters), None)


def frame_text(table: dict[str, Any]) -> str:
    """Return a table of blocks as the Python text of one frame."""
    rows, columns = flattened(table), table["columns"]
    held = (
        series_text(column["name"], [row[at] for row in rows], column["type"])
        for at, column in enumerate(columns)
    )
    return f"pl.DataFrame([{', '.join(held)}])"


def series_text(name: str, values: list[Any], type_: str) -> str:
    """Return the text of a series; dates and timestamps are cast from counts, as Python lacks some."""
    word, _ = parse_type(type_)
    if word in ("date", "timestamp"):
        counts = "pl.Int32" if word == "date" else "pl.Int64"
        return f"pl.Series({name!r}, {values!r}, dtype={counts}).cast({dtype_text(type_)})"
    held = [_python(value, type_) for value in values]
    return f"pl.Series({name!r}, {python_text(held)}, dtype={dtype_text(type_)})"


def frame(table: dict[str, Any]) -> Any:
    """Return the frame that `frame_text` describes."""
    return eval(frame_text(table), dict(_NAMES))


def series(name: str, values: list[Any], type_: str) -> Any:
    """Return the series that `series_text` describes."""
    return eval(series_text(name, values, type_), dict(_NAMES))


def _python(value: Any, type_: str) -> Any:
    """Return a cell as Python's own value."""
    word, inside = parse_nested_type(type_)
    if value is None:
        return None
    if word == "list":
        return [_python(part, inside[0]) for part in value]
    if word == "struct":
        return {name: _python(value[name], part) for name, part in struct_fields(type_)}
    return to_python(value, type_)


def dtype_text(type_: str) -> str:
    """Return a type as Python text."""
    word, inside = parse_nested_type(type_)
    if word == "decimal":
        return f"pl.Decimal({', '.join(inside)})"
    if word == "timestamp":
        return f"pl.Datetime({', '.join(map(repr, inside))})"
    if word == "list":
        return f"pl.List({dtype_text(inside[0])})"
    if word == "struct":
        typed = (f"pl.Field({name!r}, {dtype_text(part)})" for name, part in struct_fields(type_))
        return f"pl.Struct([{', '.join(typed)}])"
    if word not in _PLAIN_TYPES:
        raise Unsupported("the type " + type_)
    return "pl." + _PLAIN_TYPES[word]


def schema_text(table: dict[str, Any], names: set[str]) -> str:
    """Return the columns of these names and their types as Python text."""
    held = (column for column in table["columns"] if column["name"] in names)
    typed = (f"{column['name']!r}: {dtype_text(column['type'])}" for column in held)
    return f"{{{', '.join(typed)}}}"


def works(rows_are_right: Callable[[], bool]) -> bool:
    """Tell whether a function returns true; its errors count as false, including Rust's panics."""
    try:
        return bool(rows_are_right())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False


@functools.cache
def types_missing() -> tuple[str, ...]:
    """Return the types that this version lacks or changes."""
    return tuple(word for word in _SAMPLES if not _keeps_values(word))


def check_types(table: dict[str, Any]) -> None:
    """Refuse a table with a column of a type that this version lacks."""
    for column in table["columns"]:
        if {column["type"], parse_nested_type(column["type"])[0]}.intersection(types_missing()):
            raise Unsupported("the type " + column["type"])


def _keeps_values(word: str) -> bool:
    """Tell whether a Polars series of a type gives back a sample; decimals before Polars 1 may not."""
    type_, sample = word + _PARAMETERS.get(word, ""), _SAMPLES[word]
    if word == "decimal" and VERSION < (1,):
        return False
    if word.startswith("timestamp"):
        return works(lambda: series("x", [sample], type_).cast(pl.Int64).to_list() == [sample])
    return works(lambda: series("x", [sample], type_).to_list() == [_python(sample, type_)])
