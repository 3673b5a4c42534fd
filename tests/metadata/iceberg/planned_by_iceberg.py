"""Data files as Iceberg's metadata describes them: rows, and the facts that a writer would state about them.

The forms of single values, the transforms and the layout of facts are written here once more, by Iceberg's
specification and by `IcebergFacts.java`.
"""

import calendar
import datetime
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.types import Value

ABSENT = -1
EPOCH = datetime.datetime(1970, 1, 1)
DAY_US = 86_400_000_000
NUMBERS = {"int": "<i", "long": "<q", "float": "<f", "double": "<d", "date": "<i"}
DECIMAL = "decimal(9, 2)"
INSTANTS = ("timestamp", "timestamptz")
# The values of each type; times around 1970 and at the ends of units.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-12, 12) | st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-12, 12) | st.integers(-(2**63), 2**63 - 1),
    "float": st.sampled_from((0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan)),
    "double": st.sampled_from((0.0, -0.0, 0.1, -1e300, math.inf, -math.inf, math.nan)),
    "date": st.integers(-800, 800),
    "timestamp": st.integers(-4 * DAY_US, 4 * DAY_US) | st.integers(-(2**50), 2**50),
    "timestamptz": st.integers(-4 * DAY_US, 4 * DAY_US),
    "string": st.text("ab\u00ff\U00010000\ud7ff\ue000\U0010ffff", max_size=5),
    DECIMAL: st.integers(-99_999, 99_999).map(lambda units: Decimal(units).scaleb(-2)),
}
TRANSFORMS = {
    "int": ("identity", "truncate[10]"),
    "long": ("identity", "truncate[7]"),
    "float": ("identity",),
    "double": ("identity",),
    "boolean": ("identity",),
    "string": ("identity", "truncate[1]", "truncate[3]"),
    DECIMAL: ("identity", "truncate[50]"),
    "date": ("identity", "year", "month", "day"),
    "timestamp": ("year", "month", "day", "hour"),
    "timestamptz": ("day", "hour"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A data file: its rows, those that are deleted since, and what its writer states.

    Attributes:
        rows: The values of one field, as they were written.
        alive: True for each row that is left.
        counted: True if the number of deleted rows is stated.
        metrics: "full", "cut" (texts to two characters), "counts" or "none".
        short: True if values were written as int or float before the type was widened.
        partitioned: True if the file has the partition.
    """

    rows: tuple[Value | None, ...]
    alive: tuple[bool, ...]
    counted: bool = True
    metrics: str = "full"
    short: bool = False
    partitioned: bool = False

    @property
    def states(self) -> bool:
        """True if the writer states counts."""
        return self.metrics != "none"

    @property
    def live_rows(self) -> list[Value | None]:
        return [row for row, lives in zip(self.rows, self.alive, strict=True) if lives]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFiles:
    """Data files of a table with one field."""

    stored: str
    transform: str
    files: tuple[WrittenFile, ...] = field(default=())


@st.composite
def written_files(draw: DrawFn) -> WrittenFiles:
    """Data files, each with rows of one partition.

    Shrinks to: one file of a boolean with full metrics.
    """
    stored = draw(st.sampled_from(sorted(VALUES)))
    transform = draw(st.sampled_from(TRANSFORMS[stored]))
    return WrittenFiles(
        stored=stored,
        transform=transform,
        files=tuple(draw(st.lists(_files(stored, transform), min_size=1, max_size=4))),
    )


@st.composite
def _files(draw: DrawFn, stored: str, transform: str) -> WrittenFile:
    short = stored in ("long", "double") and draw(st.booleans())
    values = VALUES[{"long": "int", "double": "float"}[stored] if short else stored]
    rows = draw(st.lists(st.none() | values, min_size=1, max_size=6))
    partitioned = draw(st.booleans())
    if partitioned:
        first = transformed(rows[0], stored, transform, short=short)
        rows = [row for row in rows if same(transformed(row, stored, transform, short=short), first)]
    return WrittenFile(
        rows=tuple(rows),
        alive=tuple(draw(st.booleans()) for _ in rows) if draw(st.booleans()) else (True,) * len(rows),
        counted=draw(st.booleans()),
        metrics=draw(st.sampled_from(("full", "cut", "counts", "none"))),
        short=short,
        partitioned=partitioned,
    )


def same(one: Any, other: Any) -> bool:
    """Tell whether two partition values are the same: NaN is, and the two zeros are not."""
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    return bool(one == other)


def transformed(value: Any, stored: str, transform: str, *, short: bool = False) -> Any:
    """Return the partition value of a value; Java's integers wrap around."""
    if value is None or transform == "identity":
        return value
    if transform.startswith("truncate"):
        width = int(transform[9:-1])
        if stored == "string":
            return value[:width]
        if stored == DECIMAL:
            units = int(value.scaleb(2))
            return Decimal(units - units % width).scaleb(-2)
        half = 2**31 if stored == "int" or short else 2**63
        return (value - value % width + half) % (2 * half) - half
    moment = EPOCH + (
        datetime.timedelta(days=value) if stored == "date" else datetime.timedelta(microseconds=value)
    )
    days = calendar.timegm(moment.timetuple()) // 86_400
    return {
        "year": moment.year - 1970,
        "month": 12 * (moment.year - 1970) + moment.month - 1,
        "day": days,
        "hour": 24 * days + moment.hour,
    }[transform]


def single_value(value: Any, stored: str) -> bytes:
    """Return a value in Iceberg's form of single values."""
    if stored == "boolean":
        return b"\1" if value else b"\0"
    if stored == "string":
        return str(value).encode()
    if stored == DECIMAL:
        units = int(value.scaleb(2))
        return units.to_bytes(units.bit_length() // 8 + 1, "big", signed=True)
    return struct.pack("<q" if stored in INSTANTS else NUMBERS[stored], value)


def facts(written: WrittenFiles) -> bytes:
    """Return the facts as `IcebergFacts.facts` writes them; the field has the id 1."""
    files = written.files
    out = struct.pack(">iqB", len(files), len(files), 0)
    out += texts([f"file-{place}.parquet".encode() for place in range(len(files))])
    out += longs([len(file.rows) for file in files])
    out += longs([_live_count(file) for file in files])
    out += longs([100] * len(files)) + longs([0] * len(files))
    out += struct.pack(">iiii", 1, 0, 1, 1)  # one schema, 0, of one field, 1
    out += struct.pack(">ii", 1, 1) + _metrics(written)
    out += struct.pack(">ii", 1, 1) + texts([written.transform.encode()]) + _partitions(written)
    return out


def _live_count(file: WrittenFile) -> int:
    if all(file.alive):
        return len(file.rows)
    return len(file.live_rows) if file.counted else ABSENT


def _metrics(written: WrittenFiles) -> bytes:
    files = written.files
    floating = written.stored in ("float", "double")
    bounds = [_bounds(file, written.stored) for file in files]
    return b"".join(
        (
            longs([len(file.rows) if file.states else ABSENT for file in files]),
            longs([file.rows.count(None) if file.states else ABSENT for file in files]),
            longs([_nan_count(file) if file.states and floating else ABSENT for file in files]),
            longs([10] * len(files)),
            texts([lower for lower, _ in bounds]),
            texts([upper for _, upper in bounds]),
        )
    )


def _nan_count(file: WrittenFile) -> int:
    return sum(1 for row in file.rows if isinstance(row, float) and math.isnan(row))


def _bounds(file: WrittenFile, stored: str) -> tuple[bytes | None, bytes | None]:
    values: list[Any] = [
        row for row in file.rows if row is not None and not (isinstance(row, float) and math.isnan(row))
    ]
    if file.metrics in ("none", "counts") or not values:
        return None, None
    form = {"long": "int", "double": "float"}[stored] if file.short else stored
    lower, upper = min(values, key=_in_order), max(values, key=_in_order)
    if stored == "string" and file.metrics == "cut":
        return single_value(lower[:2], form), _raised(upper, form)
    return single_value(lower, form), single_value(upper, form)


def _in_order(value: Any) -> Any:
    """Return a key by which Iceberg orders values: -0.0 is below 0.0."""
    return (value, math.copysign(1, value)) if isinstance(value, float) else value


def _raised(upper: str, form: str) -> bytes | None:
    if len(upper) <= 2:
        return single_value(upper, form)
    stem = upper[:2].rstrip("\U0010ffff")
    if not stem:
        return None
    after = ord(stem[-1]) + 1
    return single_value(stem[:-1] + chr(0xE000 if after == 0xD800 else after), form)


def _partitions(written: WrittenFiles) -> bytes:
    states, values = [], []
    # A transform other than these two gives a number of 32 bits.
    keeps_type = written.transform == "identity" or written.transform.startswith("truncate")
    for file in written.files:
        value = None
        if file.partitioned:
            value = transformed(file.rows[0], written.stored, written.transform, short=file.short)
        states.append((2 if value is not None else 1) if file.partitioned else 0)
        values.append(None if value is None else single_value(value, written.stored if keeps_type else "int"))
    return bytes(states) + texts(values)


def longs(numbers: Sequence[int]) -> bytes:
    return struct.pack(f">{len(numbers)}q", *numbers)


def texts(parts: Sequence[bytes | None]) -> bytes:
    sizes = [ABSENT if part is None else len(part) for part in parts]
    return longs(sizes) + b"".join(part for part in parts if part is not None)
