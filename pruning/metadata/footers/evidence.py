"""The evidence for judging the statistics of column chunks: their writer, their origin and their values."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pruning.metadata.footers.bounds import decode
from pruning.metadata.footers.chunk_facts import ByteStrings, ChunkFacts
from pruning.metadata.footers.footer import Footer
from pruning.metadata.footers.physical_types import ColumnStorage
from pruning.metadata.footers.thrift_lanes import ABSENT, Mask, Numbers

# "parquet-mr version 1.8.1 (build 4aba4da)", "parquet-cpp-arrow version 6.0.0-SNAPSHOT", "parquet-cpp"
_WRITER = re.compile(r"([A-Za-z][\w.-]*)(?: version v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-\w.]*))?")
_SPARK_VERSION = "org.apache.spark.version"
_WRITER_OF_SPARK = "parquet-mr"
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
class ColumnTraits:
    """The traits of a column that decide what is believed of it.

    `ordered`, `required` and `inherits` are those of `SchemaLeaf`; `repeated` is its `is_repeated`.
    """

    storage: ColumnStorage
    ordered: bool
    required: bool
    inherits: bool
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The facts that doubts about column chunks of one writer and with the same traits may use.

    Arrays have a lane per chunk. `rows` are those of the row groups. `origins` has the places of the origins
    in `Origin`. `lower` and `upper` are the bounds as stored, `min` and `max` the decoded ones;
    `garbled_min` and `garbled_max` are True where a bound is present but cannot be decoded.
    """

    traits: ColumnTraits
    provenance: Provenance
    rows: Numbers
    values: Numbers
    null_counts: Numbers
    origins: Numbers
    lower: ByteStrings
    upper: ByteStrings
    min: pa.Array
    max: pa.Array
    garbled_min: Mask
    garbled_max: Mask

    @property
    def value_counts_max(self) -> Numbers:
        """The most values that each chunk can have: one per row, except for elements of arrays."""
        return np.maximum(self.values if self.traits.repeated else self.rows, 0)

    @property
    def has_null_count(self) -> Mask:
        """True in the chunks with a NULL count."""
        mask: Mask = self.null_counts != ABSENT
        return mask

    def is_from(self, origin: Origin) -> Mask:
        """Return the chunks whose bounds have this origin."""
        mask: Mask = self.origins == _ORIGINS.index(origin)
        return mask


def provenance(footer: Footer) -> Provenance:
    """Return the writer of a file, and whether its old dates may be in another calendar."""
    match = _WRITER.match(footer.writer)
    if match is None:
        return Provenance(writer="", release=None, rebased=_may_be_rebased(footer.keys))
    name, major, minor, patch, suffix = match.groups()
    release = (int(major), int(minor or 0), int(patch or 0), not suffix) if major else None
    return Provenance(writer=name, release=release, rebased=_may_be_rebased(footer.keys))


def is_written_by_spark(footer: Footer) -> bool:
    """Tell whether Spark's own Parquet writer wrote a file.

    It stores numbers within the limits of their types, and INT96 with a time of day that is not negative from
    the first Julian day on.
    """
    return _SPARK_VERSION in footer.keys and provenance(footer).writer == _WRITER_OF_SPARK


def evidence_of(facts: ChunkFacts, rows: Numbers, traits: ColumnTraits, source: Provenance) -> Evidence:
    """Return the evidence about chunks; `rows` are the numbers of rows of their row groups."""
    origins = _bound_origins(facts, ordered=traits.ordered)
    is_deprecated = origins == _ORIGINS.index(Origin.DEPRECATED)
    lower = facts.deprecated_min.where(is_deprecated, facts.min_value)
    upper = facts.deprecated_max.where(is_deprecated, facts.max_value)
    minima, garbled_min = decode(lower, traits.storage)
    maxima, garbled_max = decode(upper, traits.storage)
    return Evidence(
        traits=traits,
        provenance=source,
        rows=rows,
        values=facts.value_counts,
        null_counts=facts.null_counts,
        origins=origins,
        lower=lower,
        upper=upper,
        min=minima,
        max=maxima,
        garbled_min=garbled_min,
        garbled_max=garbled_max,
    )


def _bound_origins(facts: ChunkFacts, *, ordered: bool) -> Numbers:
    """Return the place in `Origin` of the origin of each chunk's bounds."""
    has_bounds = facts.min_value.present | facts.max_value.present
    has_deprecated = facts.deprecated_min.present | facts.deprecated_max.present
    absent, unordered, deprecated, in_order = map(
        _ORIGINS.index, (Origin.ABSENT, Origin.UNORDERED, Origin.DEPRECATED, Origin.ORDERED)
    )
    origins = np.where(has_bounds, unordered, absent)
    origins[has_deprecated] = deprecated
    if ordered:
        origins[has_bounds] = in_order
    return origins


_ORIGINS = list(Origin)


def _may_be_rebased(keys: Mapping[str, bytes]) -> bool:
    """Tell whether Spark may read old dates by the hybrid calendar, as for files it did not write."""
    version = keys.get(_SPARK_VERSION)
    # Spark compares versions as text, so the same comparison is needed here.
    return version is None or version < b"3.0.0" or any(key in keys for key in _LEGACY_CALENDAR)
