"""What of a footer's statistics is believed: one table of doubts, each with its reason.

A reading starts from everything that a chunk's statistics say; each doubt that applies takes
something away. What is left bounds the rows as Spark reads them; what is gone is unknown.
"""

import enum
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pruning.expressions import types
from pruning.expressions.types import Value
from pruning.metadata.footer import Footer, Leaf, Statistics
from pruning.metadata.forms import Form, Unreadable


class Origin(enum.Enum):
    """Which fields of the statistics the bounds come from."""

    ORDERED = "min_value and max_value, in the type's own order"
    UNORDERED = "min_value and max_value, in an order the file does not name"
    DEPRECATED = "min and max, compared as signed whatever the type"
    ABSENT = "nowhere"


class Claim(enum.Flag):
    """The parts of what is known that a doubt can take away."""

    NULL_COUNT = enum.auto()
    MIN = enum.auto()
    MAX = enum.auto()
    BOUNDS = MIN | MAX
    ALL = NULL_COUNT | MIN | MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is believed of one column in one block; None is "unknown"."""

    null_count: int | None = None
    min: Value | None = None
    max: Value | None = None
    min_exact: bool | None = None
    max_exact: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What the file as a whole says of itself. `rebased`: Spark may shift its old dates on reading.

    `release` is the writer's version, a pre-release sorting before its release; None if it has none.
    """

    writer: str
    release: tuple[int, int, int, bool] | None
    rebased: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the doubts about one column chunk may look at.

    `min` and `max` are decoded; `garbled` names those that are there but cannot be decoded.
    """

    form: Form
    required: bool
    provenance: Provenance
    rows: int
    values: int | None
    origin: Origin
    null_count: int | None
    min: Value | None
    max: Value | None
    garbled: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Something that footers say and that is not believed."""

    name: str
    takes: Claim
    reason: str
    applies: Callable[[Evidence], bool]


def provenance(footer: Footer) -> Provenance:
    """Who wrote a file, and in which calendar its old dates may be."""
    named = _WRITER.match(footer.writer)
    if named is None:
        return Provenance(writer="", release=None, rebased=_rebased(footer.keys))
    name, major, minor, patch, suffix = named.groups()
    release = (int(major), int(minor or 0), int(patch or 0), not suffix) if major else None
    return Provenance(writer=name, release=release, rebased=_rebased(footer.keys))


def believed(
    statistics: Statistics, leaf: Leaf, form: Form, *, rows: int, values: int | None, source: Provenance
) -> Known:
    """What is believed of one column chunk; `rows` and `values` are its row group's and its own counts."""
    evidence = _evidence(statistics, leaf, form, rows=rows, values=values, source=source)
    doubted = Claim(0)
    for doubt in DOUBTS:
        if doubt.applies(evidence):
            doubted |= doubt.takes
    no_min = Claim.MIN in doubted or evidence.min is None
    no_max = Claim.MAX in doubted or evidence.max is None
    known = Known(
        null_count=None if Claim.NULL_COUNT in doubted else evidence.null_count,
        min=None if no_min else evidence.min,
        max=None if no_max else evidence.max,
        # Only the newer fields say whether they are exact.
        min_exact=None if no_min or evidence.origin is not Origin.ORDERED else statistics.min_exact,
        max_exact=None if no_max or evidence.origin is not Origin.ORDERED else statistics.max_exact,
    )
    # The schema, unlike the statistics, obliges the reader: a required column cannot hold NULL.
    return replace(known, null_count=0) if leaf.required else known


def doubts(
    statistics: Statistics, leaf: Leaf, form: Form, *, rows: int, values: int | None, source: Provenance
) -> list[Doubt]:
    """The doubts that apply to one column chunk, in the table's order."""
    evidence = _evidence(statistics, leaf, form, rows=rows, values=values, source=source)
    return [doubt for doubt in DOUBTS if doubt.applies(evidence)]


def _evidence(
    statistics: Statistics, leaf: Leaf, form: Form, *, rows: int, values: int | None, source: Provenance
) -> Evidence:
    origin, lower, upper = _stated(statistics, leaf)
    min_, max_, garbled = None, None, Claim(0)
    if form.decode is not None:
        try:
            min_ = None if lower is None else form.decode(lower)
        except Unreadable:
            garbled |= Claim.MIN
        try:
            max_ = None if upper is None else form.decode(upper)
        except Unreadable:
            garbled |= Claim.MAX
    return Evidence(
        form=form,
        required=leaf.required,
        provenance=source,
        rows=rows,
        values=values,
        origin=origin,
        null_count=statistics.null_count,
        min=min_,
        max=max_,
        garbled=garbled,
    )


def _stated(statistics: Statistics, leaf: Leaf) -> tuple[Origin, bytes | None, bytes | None]:
    lower, upper = statistics.min_value, statistics.max_value
    stated = lower is not None or upper is not None
    if stated and leaf.ordered:
        return Origin.ORDERED, lower, upper
    if statistics.deprecated_min is not None or statistics.deprecated_max is not None:
        return Origin.DEPRECATED, statistics.deprecated_min, statistics.deprecated_max
    return (Origin.UNORDERED, lower, upper) if stated else (Origin.ABSENT, None, None)


# "parquet-mr version 1.8.1 (build 4aba4da)", "parquet-cpp-arrow version 6.0.0-SNAPSHOT", "parquet-cpp"
_WRITER = re.compile(r"([A-Za-z][\w.-]*)(?: version v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-\w.]*))?")

# The first versions that count every NULL; the versions before them lose those of some pages.
_COUNTS_NULLS = {
    "parquet-cpp": (6, 0, 0, True),
    "parquet-cpp-arrow": (6, 0, 0, True),
    "parquet-mr": (1, 10, 0, True),
}
# Writers that order decimals of unequal lengths by value. Others compare their bytes.
_ORDERS_VARYING_DECIMALS = frozenset({"parquet-mr", "parquet-cpp-arrow"})

_SPARK_VERSION = "org.apache.spark.version"
_LEGACY_CALENDAR = ("org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96")
_US_PER_DAY = 86_400_000_000
# From these on, both calendars name every instant alike, in every zone.
_SAME_DATE = -141_427  # 1582-10-15, days
_SAME_INSTANT = -2_208_988_800_000_000  # 1900-01-01 00:00:00 UTC, us


def _rebased(keys: Mapping[str, bytes]) -> bool:
    """Whether Spark may read old dates by the hybrid calendar: its own rule, and any file not its own."""
    version = keys.get(_SPARK_VERSION)
    # Spark compares versions as text, and so must whoever foresees what Spark does.
    return version is None or version < b"3.0.0" or any(key in keys for key in _LEGACY_CALENDAR)


def _undercounts(evidence: Evidence) -> bool:
    first = _COUNTS_NULLS.get(evidence.provenance.writer)
    release = evidence.provenance.release
    return first is not None and (release is None or release < first)


def _is_nan(bound: Value | None) -> bool:
    return isinstance(bound, float) and math.isnan(bound)


def _crossed(evidence: Evidence) -> bool:
    lower: Any = evidence.min
    upper: Any = evidence.max
    return lower is not None and upper is not None and bool(lower > upper)


def _shifted(evidence: Evidence) -> bool:
    """Whether some value may be old enough to be shifted, so that the minimum may be too high."""
    same = _SAME.get(evidence.form.type)
    if same is None or not evidence.provenance.rebased:
        return False
    return not isinstance(evidence.min, int) or evidence.min < same[0]


def _shifted_past(evidence: Evidence) -> bool:
    """Whether a shifted value may end up above the maximum."""
    if not _shifted(evidence) or not isinstance(evidence.max, int):
        return False
    same, reach = _SAME[evidence.form.type]
    return evidence.max < same + reach


# Type -> where shifts end, and how far beyond that a shifted value may land. Shifts of dates do not
# cross the line; those of instants depend on the zone, and stay within a day.
_SAME = {
    types.DATE: (_SAME_DATE, 0),
    types.TIMESTAMP: (_SAME_INSTANT, _US_PER_DAY),
    types.TIMESTAMP_NTZ: (_SAME_INSTANT, _US_PER_DAY),
}

DOUBTS: tuple[Doubt, ...] = (
    Doubt(
        name="order unnamed",
        takes=Claim.BOUNDS,
        reason="min_value and max_value mean nothing in a file that does not name the column's order",
        applies=lambda e: e.origin is Origin.UNORDERED,
    ),
    Doubt(
        name="deprecated order",
        takes=Claim.BOUNDS,
        reason="the deprecated min and max compare as signed, which is not the order of this type",
        applies=lambda e: e.origin is Origin.DEPRECATED and not e.form.signed,
    ),
    Doubt(
        name="no usable order",
        takes=Claim.BOUNDS,
        reason="Parquet defines no order for the type, or writers are known to use a wrong one",
        applies=lambda e: e.form.decode is None,
    ),
    Doubt(
        name="varying decimals",
        takes=Claim.BOUNDS,
        reason="only some writers order decimals of unequal lengths by value; others by their bytes",
        applies=lambda e: e.form.varying and e.provenance.writer not in _ORDERS_VARYING_DECIMALS,
    ),
    Doubt(
        name="decimals by signed bytes",
        takes=Claim.BOUNDS,
        reason="parquet-cpp, before it was named after Arrow, compared each byte of a decimal as signed",
        applies=lambda e: (
            e.form.type.kind is types.Kind.DECIMAL
            and not e.form.signed
            and e.provenance.writer == "parquet-cpp"
        ),
    ),
    Doubt(
        name="unreadable minimum",
        takes=Claim.MIN,
        reason="the minimum's bytes are not a value of the type",
        applies=lambda e: Claim.MIN in e.garbled,
    ),
    Doubt(
        name="unreadable maximum",
        takes=Claim.MAX,
        reason="the maximum's bytes are not a value of the type",
        applies=lambda e: Claim.MAX in e.garbled,
    ),
    Doubt(
        name="unreadable bound",
        takes=Claim.BOUNDS,
        reason="a number that does not fit its type may be read as another one, on the other side too",
        applies=lambda e: bool(e.garbled) and e.form.type.kind not in types.BYTES,
    ),
    Doubt(
        name="NaN as a bound",
        takes=Claim.BOUNDS,
        reason="a writer that let NaN into one bound may have lost values from the other",
        applies=lambda e: _is_nan(e.min) or _is_nan(e.max),
    ),
    Doubt(
        name="crossed bounds",
        takes=Claim.BOUNDS,
        reason="a minimum above the maximum was computed in another order",
        applies=_crossed,
    ),
    Doubt(
        name="shifted minimum",
        takes=Claim.MIN,
        reason="Spark may read dates this old by another calendar, which moves them",
        applies=_shifted,
    ),
    Doubt(
        name="shifted maximum",
        takes=Claim.MAX,
        reason="Spark may read dates this old by another calendar, and move them beyond the maximum",
        applies=_shifted_past,
    ),
    Doubt(
        name="NULLs undercounted",
        takes=Claim.NULL_COUNT,
        reason="this version of the writer is known to leave some NULLs out of its count",
        applies=_undercounts,
    ),
    Doubt(
        name="impossible NULL count",
        takes=Claim.NULL_COUNT,
        reason="a block cannot hold fewer than no NULLs, nor more than rows",
        applies=lambda e: e.null_count is not None and not 0 <= e.null_count <= e.rows,
    ),
    Doubt(
        name="bounds without values",
        takes=Claim.ALL,
        reason="a block that is all NULL has no bounds, so either the count or the bounds are false",
        applies=lambda e: 0 < e.rows == e.null_count and (e.min is not None or e.max is not None),
    ),
    Doubt(
        name="another number of values",
        takes=Claim.ALL,
        reason="a flat column has one value, maybe NULL, in each row; these are another block's statistics",
        applies=lambda e: e.values != e.rows,
    ),
)
