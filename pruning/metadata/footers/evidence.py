"""What there is to judge a column chunk's statistics by: who wrote them, how, and what they say."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pruning.expressions.types import Value
from pruning.metadata.footers.footer import Footer, Statistics
from pruning.metadata.footers.nested import Leaf
from pruning.metadata.footers.physical_types import Form, Unreadable

# "parquet-mr version 1.8.1 (build 4aba4da)", "parquet-cpp-arrow version 6.0.0-SNAPSHOT", "parquet-cpp"
_WRITER = re.compile(r"([A-Za-z][\w.-]*)(?: version v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-\w.]*))?")
_SPARK_VERSION = "org.apache.spark.version"
_LEGACY_CALENDAR = ("org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96")


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

    `lower` and `upper` are the bounds as they are stored, `min` and `max` decoded; `garbled` names those
    that are there but cannot be decoded.
    """

    form: Form
    leaf: Leaf
    provenance: Provenance
    rows: int
    values: int | None
    origin: Origin
    null_count: int | None
    lower: bytes | None
    upper: bytes | None
    min: Value | None
    max: Value | None
    garbled: Claim

    @property
    def slots(self) -> int | None:
        """How many values there may be: one in each row, but for elements of arrays."""
        return self.values if self.leaf.repeated else self.rows


def provenance(footer: Footer) -> Provenance:
    """Who wrote a file, and in which calendar its old dates may be."""
    named = _WRITER.match(footer.writer)
    if named is None:
        return Provenance(writer="", release=None, rebased=_rebased(footer.keys))
    name, major, minor, patch, suffix = named.groups()
    release = (int(major), int(minor or 0), int(patch or 0), not suffix) if major else None
    return Provenance(writer=name, release=release, rebased=_rebased(footer.keys))


def evidence_of(
    statistics: Statistics, leaf: Leaf, form: Form, *, rows: int, values: int | None, source: Provenance
) -> Evidence:
    """What there is to judge a column chunk by; `rows` and `values` count its row group and itself."""
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
        leaf=leaf,
        provenance=source,
        rows=rows,
        values=values,
        origin=origin,
        null_count=statistics.null_count,
        lower=lower,
        upper=upper,
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


def _rebased(keys: Mapping[str, bytes]) -> bool:
    """Whether Spark may read old dates by the hybrid calendar: its own rule, and any file not its own."""
    version = keys.get(_SPARK_VERSION)
    # Spark compares versions as text, and so must whoever foresees what Spark does.
    return version is None or version < b"3.0.0" or any(key in keys for key in _LEGACY_CALENDAR)
