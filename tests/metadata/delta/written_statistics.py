"""Columns of a table of Delta Lake whose writers lose a part of what their statistics are of."""

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

from delta_logs import WrittenLog, add, column, inline, metadata, protocol, struct_of
from hypothesis import strategies as st

_EPOCH = datetime(1970, 1, 1)
_AMSTERDAM_END_US = -1_025_745_572_000_000
# The types of columns, as schemas name them.
DECIMALS = ("decimal(9,2)", "decimal(38,2)")
TYPES = (
    "long",
    "byte",
    "double",
    "float",
    "string",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
    *DECIMALS,
)
# Spark cuts texts at so many characters, and adds the last character of Unicode to an upper bound.
_CUT = 32


@dataclass(frozen=True, kw_only=True)
class WrittenRows:
    """The rows of a data file, and how its statistics were written.

    Attributes:
        rows: Values as the rules have them, with None.
        alive: Which rows no deletion vector deletes.
        writer: The habit of the writer, one of those in `_WRITERS_OF`.
        is_fresh: True if statistics are of the rows that are left.
        tight: The statistic `tightBounds`; None if it is left out.
        is_counted: False if the writer left out the number of rows.
    """

    rows: tuple[Any, ...]
    alive: tuple[bool, ...]
    writer: str = "exact"
    is_fresh: bool = False
    tight: bool | None = None
    is_counted: bool = True

    @property
    def live_rows(self) -> list[Any]:
        return [row for row, alive in zip(self.rows, self.alive, strict=True) if alive]

    def add(self, name: str, type_: str, *, is_nested: bool) -> dict[str, Any]:
        """Return the action that adds the file with a column `v`, or a field `v` of a struct `s`."""
        measured = self.live_rows if self.is_fresh else list(self.rows)
        nulls = measured.count(None)
        if is_nested and self.writer == "rust":
            # Some writers count only NULLs in structs that are none themselves.
            nulls = 0
        bounds = _bounds([value for value in measured if value is not None], type_, self.writer)
        stats: dict[str, Any] = {"numRecords": len(self.rows)} if self.is_counted else {}
        if self.tight is not None:
            stats["tightBounds"] = self.tight
        for key, value in (("minValues", bounds[0]), ("maxValues", bounds[1]), ("nullCount", nulls)):
            part = {} if value is None else {"v": value}
            stats[key] = {"s": part} if is_nested else part
        dead = [place for place, alive in enumerate(self.alive) if not alive]
        vector = {"deletionVector": inline(dead)} if dead else {}
        return add(name, _json(stats), **vector)


def write_table(
    root: Path, type_: str, files: Sequence[WrittenRows], *, is_nested: bool = False
) -> WrittenLog:
    """Write the log of a table of one column `v`, or a struct `s` of it, and of these files."""
    field = column("v", type_)
    log = WrittenLog(root)
    adds = [file.add(str(place), type_, is_nested=is_nested) for place, file in enumerate(files)]
    fields = column("s", struct_of(field)) if is_nested else field
    return log.commit(protocol(3, "deletionVectors", "timestampNtz"), metadata(fields), *adds)


class _Number(float):
    """A decimal that JSON has with all its digits."""

    def __new__(cls, text: str) -> "_Number":
        number = super().__new__(cls, float(text))
        number.text = text
        return number

    text: str

    def __repr__(self) -> str:
        return self.text


def _json(value: Any) -> str:
    """Return JSON in which decimals have all their digits."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_json(part)}" for key, part in value.items()) + "}"
    return value.text if isinstance(value, _Number) else json.dumps(value)


def _bounds(values: list[Any], type_: str, writer: str) -> tuple[Any, Any]:
    """Return the bounds of values as a writer has them, None where it leaves them out."""
    is_nan = [isinstance(value, float) and math.isnan(value) for value in values]
    numbers = [value for value, nan in zip(values, is_nan, strict=True) if not nan]
    if any(is_nan) and writer == "spark":
        # To Spark, NaN is the greatest number.
        return (_form(min(numbers), type_, writer, False) if numbers else "NaN"), "NaN"
    if any(is_nan) and writer == "spark 2":
        # A comparison with NaN is false, so that the value after it is taken for less.
        return _form(values[-1], type_, writer, False), "NaN"
    if not numbers:
        return None, None
    return _form(min(numbers), type_, writer, False), _form(max(numbers), type_, writer, True)


def _form(value: Any, type_: str, writer: str, is_upper: bool) -> Any:
    if type_ in ("timestamp", "timestamp_ntz"):
        return _time(value, type_, writer)
    if type_ == "date":
        return str(date(1970, 1, 1) + timedelta(value))
    if type_ == "string":
        return _text(value, writer, is_upper)
    if isinstance(value, Decimal):
        return float(value) if writer == "rust" else _Number(str(value))
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, float) and math.isinf(value):
        return None if writer == "rust" else ("Infinity" if value > 0 else "-Infinity")
    if type_ == "float" and writer != "rust":
        return _Number(_shortest(value))
    return value


def _shortest(value: float) -> str:
    """Return the shortest decimal that stands for a float of 32 bits."""
    digits = (f"{value:.{count}g}" for count in range(1, 18))
    return next(text for text in digits if struct.pack("f", float(text)) == struct.pack("f", value))


def _time(value: int, type_: str, writer: str) -> str:
    milliseconds = int(value / 1000) if writer == "toward zero" else value // 1000
    # Amsterdam was 19 minutes and 32 seconds ahead until 1937, of which the offset has the minutes.
    is_shifted = writer == "local" and type_ == "timestamp" and value < _AMSTERDAM_END_US
    shift = timedelta(minutes=19, seconds=32) if is_shifted else timedelta()
    time = (_EPOCH + timedelta(milliseconds=milliseconds) + shift).isoformat(timespec="milliseconds")
    if type_ == "timestamp_ntz":
        return time.replace("T", " ") if writer == "rust" else time
    return time + ("+00:19" if shift else "Z")


def _text(value: bytes, writer: str, is_upper: bool) -> str:
    text = value.decode("utf-8", "replace")
    if writer not in ("spark", "spark 2", "cutting") or len(text) <= _CUT:
        return text
    if writer == "cutting" or not is_upper:
        return text[:_CUT]
    last = "\ufffd" if writer == "spark 2" else "\U0010ffff"
    end = next((place for place in range(_CUT, len(text)) if text[place] < last), len(text))
    return text[:end] + (last if end < len(text) else "")


def _long_decimal(start: int, end: int) -> Decimal:
    """Return a decimal of more digits than a double has."""
    return Decimal(start * 10**16 + end).scaleb(-2, Context(prec=40))


_UNITS = ("a", "b", "?", "é", "\uffff", "\U0001f600")
_TEXTS = st.one_of(
    st.text(st.sampled_from(_UNITS), max_size=3).map(str.encode),
    st.builds(lambda start, end: b"x" * start + end, st.integers(30, 33), st.binary(max_size=3)),
)
_TIMES = st.one_of(st.integers(-3000, 3000), st.integers(-2_100_000_000_000_000, 4_000_000_000_000_000))
_SINGLES = st.floats(width=32)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "long": st.integers(-(1 << 63), (1 << 63) - 1),
    "byte": st.integers(-128, 127),
    "double": st.floats(),
    "float": _SINGLES,
    "string": _TEXTS,
    "boolean": st.booleans(),
    "date": st.integers(-100_000, 100_000),
    "timestamp": _TIMES,
    "timestamp_ntz": _TIMES,
    "decimal(9,2)": st.integers(-(10**9) + 1, 10**9 - 1).map(lambda value: Decimal(value).scaleb(-2)),
    "decimal(38,2)": st.builds(_long_decimal, st.integers(-(10**12), 10**12), st.integers(0, 10**15)),
}


# The writers whose habits matter to a type.
_WRITERS_OF = {
    "string": ("cutting", "exact", "spark", "spark 2"),
    "double": ("spark 2", "exact", "spark", "rust"),
    "float": ("spark 2", "exact", "spark", "rust"),
    "timestamp": ("toward zero", "exact", "local"),
    "timestamp_ntz": ("toward zero", "exact", "rust"),
}
_OTHER_WRITERS = ("rust", "exact")


@st.composite
def written_rows(draw: st.DrawFn, type_: str) -> WrittenRows:
    """A file of rows whose statistics are those of a writer, or of rows that are deleted since.

    Shrinks to: fewer rows, none deleted.
    """
    rows = tuple(draw(st.lists(st.none() | _VALUES[type_], max_size=4)))
    dead = draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    is_fresh = draw(st.booleans())
    return WrittenRows(
        rows=rows,
        alive=tuple(not is_dead for is_dead in dead),
        writer=draw(st.sampled_from(_WRITERS_OF.get(type_, _OTHER_WRITERS))),
        is_fresh=is_fresh,
        tight=draw(st.sampled_from((None, True, False) if is_fresh or not any(dead) else (None, False))),
        is_counted=any(dead) or draw(st.booleans()),
    )


@st.composite
def written_columns(draw: st.DrawFn, types: Sequence[str] = TYPES) -> tuple[str, list[WrittenRows]]:
    """One of some types, and files with a column of it. Shrinks to: one file."""
    type_ = draw(st.sampled_from(types))
    return type_, draw(st.lists(written_rows(type_), min_size=1, max_size=3))
