"""The evidence for judging a column chunk's statistics: their writer, their origin and their values."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pruning.expressions.types import Value
from pruning.metadata.footers.footer import Footer, Statistics
from pruning.metadata.footers.nested import SchemaLeaf
from pruning.metadata.footers.physical_types import ColumnStorage, Unreadable

# "parquet-mr version 1.8.1 (build 4aba4da)", "parquet-cpp-arrow version 6.0.0-SNAPSHOT", "parquet-cpp"
_WRITER = re.compile(r"([A-Za-z][\w.-]*)(?: version v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-\w.]*))?")
_SPARK_VERSION = "org.apache.spark.version"
_LEGACY_CALENDAR = ("org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96")


class Origin(enum.Enum):
    """The fields of the statistics that the bounds come from."""

    ORDERED = "min_value and max_value, in the type's own order"
    UNORDERED = "min_value and max_value, in an order the file does not name"
    DEPRECATED = "min and max, compared as signed whatever the type"
    ABSENT = "nowhere"


class Claim(enum.Flag):
    """The parts of a chunk's statistics that a doubt can take away."""

    NULL_COUNT = enum.auto()
    MIN = enum.auto()
    MAX = enum.auto()
    BOUNDS = MIN | MAX
    ALL = NULL_COUNT | MIN | MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The writer of a file; `rebased` is True if Spark may shift the file's old dates on reading.

    `release` is the writer's version, in which a pre-release sorts before its release; None if unknown.
    """

    writer: str
    release: tuple[int, int, int, bool] | None
    rebased: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The facts that doubts about one column chunk may use.

    `lower` and `upper` are the bounds as stored, `min` and `max` the decoded ones; `garbled` names the
    bounds that are present but cannot be decoded.
    """

    storage: ColumnStorage
    leaf: SchemaLeaf
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
    def value_count_max(self) -> int | None:
        """The most values that the chunk can have: one per row, except for elements of arrays."""
        return self.values if self.leaf.is_repeated else self.rows


def provenance(footer: Footer) -> Provenance:
    """Return the writer of a file, and whether its old dates may be in another calendar."""
    match = _WRITER.match(footer.writer)
    if match is None:
        return Provenance(writer="", release=None, rebased=_may_be_rebased(footer.keys))
    name, major, minor, patch, suffix = match.groups()
    release = (int(major), int(minor or 0), int(patch or 0), not suffix) if major else None
    return Provenance(writer=name, release=release, rebased=_may_be_rebased(footer.keys))


def evidence_of(
    statistics: Statistics,
    leaf: SchemaLeaf,
    storage: ColumnStorage,
    *,
    rows: int,
    values: int | None,
    source: Provenance,
) -> Evidence:
    """Return the evidence about a chunk; `rows` and `values` are the counts of its row group and its own."""
    origin, lower, upper = _stated_bounds(statistics, leaf)
    min_, max_, garbled = None, None, Claim(0)
    if storage.decode is not None:
        try:
            min_ = None if lower is None else storage.decode(lower)
        except Unreadable:
            garbled |= Claim.MIN
        try:
            max_ = None if upper is None else storage.decode(upper)
        except Unreadable:
            garbled |= Claim.MAX
    return Evidence(
        storage=storage,
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


def _stated_bounds(statistics: Statistics, leaf: SchemaLeaf) -> tuple[Origin, bytes | None, bytes | None]:
    lower, upper = statistics.min_value, statistics.max_value
    has_bounds = lower is not None or upper is not None
    if has_bounds and leaf.ordered:
        return Origin.ORDERED, lower, upper
    if statistics.deprecated_min is not None or statistics.deprecated_max is not None:
        return Origin.DEPRECATED, statistics.deprecated_min, statistics.deprecated_max
    return (Origin.UNORDERED, lower, upper) if has_bounds else (Origin.ABSENT, None, None)


def _may_be_rebased(keys: Mapping[str, bytes]) -> bool:
    """Tell whether Spark may read old dates by the hybrid calendar, as for files it did not write."""
    version = keys.get(_SPARK_VERSION)
    # Spark compares versions as text, so the same comparison is needed here.
    return version is None or version < b"3.0.0" or any(key in keys for key in _LEGACY_CALENDAR)
