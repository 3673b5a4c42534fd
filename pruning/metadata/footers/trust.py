"""Trust in the statistics of footers: one table of doubts, each with its reason.

The doubts are decided once per writer and kind of column, for all chunks at once. All of a chunk's
statistics are believed at first; each doubt that applies takes some of them away.
The remaining ones are true of the rows as Spark reads them; the others are unknown.

Some errors in footers need no doubt. A minimum of 0.0 with values of -0.0, or a maximum of -0.0 with values
of 0.0, is still a bound, because the two are equal. Truncated bounds are true, and not exact unless the file
says so. A wrong order that only moves all values of one sign, such as signed numbers compared as unsigned,
makes the minimum exceed the maximum if both signs occur, and is harmless otherwise; it needs a doubt only if
a writer merges pages by another order than it compares values by.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions import types
from pruning.metadata.footers.chunk_facts import ByteStrings, ChunkFacts, without
from pruning.metadata.footers.evidence import Claim, ColumnTraits, Evidence, Origin, Provenance, evidence_of
from pruning.metadata.footers.thrift_lanes import ABSENT, Mask, Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Beliefs:
    """The believed statistics of column chunks, a lane per chunk; NULL is "unknown"."""

    null_count: pa.Array
    min: pa.Array
    max: pa.Array
    min_exact: pa.Array
    max_exact: pa.Array


# The chunks that a doubt applies to; a bool is all of them or none.
Chunks: TypeAlias = Mask | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A reason not to believe a part of a footer's statistics."""

    name: str
    takes: Claim
    reason: str
    applies: Callable[[Evidence], Chunks]


def beliefs(facts: ChunkFacts, rows: Numbers, traits: ColumnTraits, source: Provenance) -> Beliefs:
    """Return the believed statistics of chunks; `rows` are the numbers of rows of their row groups."""
    evidence = evidence_of(facts, rows, traits, source)
    doubted = {claim: np.zeros(len(rows), np.bool_) for claim in Claim}
    for doubt in DOUBTS:
        chunks = doubt.applies(evidence)
        if chunks is False:
            continue
        for claim, mask in doubted.items():
            if claim in doubt.takes:
                mask |= chunks
    # Only the newer fields of the statistics say whether they are exact.
    not_exact = ~evidence.is_from(Origin.ORDERED)
    no_min = doubted[Claim.MIN] | np.asarray(evidence.min.is_null())
    no_max = doubted[Claim.MAX] | np.asarray(evidence.max.is_null())
    # Unlike statistics, the schema binds the reader: a required column cannot hold NULL.
    null_counts = np.zeros(len(rows), np.int64) if traits.required else evidence.null_counts
    no_count = (doubted[Claim.NULL_COUNT] | (evidence.null_counts == ABSENT)) & (not traits.required)
    return Beliefs(
        null_count=pa.array(null_counts, mask=no_count),
        min=without(evidence.min, no_min),
        max=without(evidence.max, no_max),
        min_exact=pa.array(facts.min_exact == 1, mask=no_min | not_exact | (facts.min_exact == ABSENT)),
        max_exact=pa.array(facts.max_exact == 1, mask=no_max | not_exact | (facts.max_exact == ABSENT)),
    )


def doubts(evidence: Evidence) -> list[tuple[Doubt, Mask]]:
    """Return each doubt with the chunks that it applies to, in the table's order."""
    none = np.zeros(len(evidence.rows), np.bool_)
    return [(doubt, none | doubt.applies(evidence)) for doubt in DOUBTS]


_Releases = Mapping[str, tuple[int, int, int, bool]]

# The first versions that count every NULL; earlier versions miss those of some pages.
_COUNTS_NULLS: _Releases = {
    "parquet-cpp": (6, 0, 0, True),
    "parquet-cpp-arrow": (6, 0, 0, True),
    "parquet-mr": (1, 10, 0, True),
}
# The only writers known to count, for a field of a struct, the rows in which the struct is NULL.
_COUNTS_PARENTS: _Releases = {"parquet-cpp-arrow": (6, 0, 0, True), "parquet-mr": (1, 10, 0, True)}
# The first versions whose bounds of floats, if not NaN themselves, bound all values that are not NaN.
_SETS_NAN_APART: _Releases = {
    "impala": (3, 0, 0, True),
    "parquet-cpp": (1, 4, 0, True),
    "parquet-mr": (1, 10, 0, True),
    "parquet-rs": (5, 0, 0, True),
}
# The first versions that compare byte strings as Parquet requires: as unsigned bytes, in full length.
_ORDERS_BYTES: _Releases = {"parquet-mr": (1, 10, 0, True), "parquet-rs": (5, 2, 0, True)}
# Two names of one writer; under the older name it gives no version.
_POLARS = frozenset({"Arrow2", "Polars"})
_WORD_BYTES = 4
# The writers that order decimals of unequal lengths by value; others compare their bytes.
_ORDERS_VARYING_DECIMALS = frozenset({"parquet-mr", "parquet-cpp-arrow"})

_US_PER_DAY = 86_400_000_000
# From these values on, both calendars give every instant the same date, in every zone.
_SAME_DATE = -141_427  # 1582-10-15, days
_SAME_INSTANT = -2_208_988_800_000_000  # 1900-01-01 00:00:00 UTC, us


def _is_release_before(source: Provenance, first: _Releases) -> bool:
    """Tell whether the writer is in the table and its version is earlier than the one there, or unknown."""
    release = first.get(source.writer)
    return release is not None and (source.release is None or source.release < release)


def _may_miss_parent_nulls(evidence: Evidence) -> bool:
    source = evidence.provenance
    unknown = source.writer not in _COUNTS_PARENTS or _is_release_before(source, _COUNTS_PARENTS)
    return evidence.traits.inherits and not evidence.traits.repeated and unknown


def _is_decimal_in_bytes(evidence: Evidence) -> bool:
    """Tell whether the columns have decimals that are stored as byte strings."""
    return _kind(evidence) is types.Kind.DECIMAL and not evidence.traits.storage.signed


def _kind(evidence: Evidence) -> types.Kind:
    return evidence.traits.storage.type.kind


def _starts_with_length(bounds: ByteStrings) -> Mask:
    """Return the byte strings that begin with the length of the rest."""
    mask: Mask = (bounds.sizes >= _WORD_BYTES) & (bounds.words("<u4") == bounds.sizes - _WORD_BYTES)
    return mask


def _is_nan(bounds: pa.Array) -> Chunks:
    return _true_lanes(pc.is_nan(bounds)) if pa.types.is_floating(bounds.type) else False


def _has_crossed_bounds(evidence: Evidence) -> Chunks:
    # Without a form, nothing is decoded.
    return _true_lanes(pc.greater(evidence.min, evidence.max)) if evidence.traits.storage.form else False


def _minimum_may_be_shifted(evidence: Evidence) -> Chunks:
    """Return the chunks with values that may be old enough for Spark to shift them below the minimum."""
    shifts = SHIFTS.get(evidence.traits.storage.type)
    if shifts is None or not evidence.provenance.rebased:
        return False
    return _has_no_value(evidence.min) | _is_less(evidence.min, shifts[0])


def _maximum_may_be_exceeded(evidence: Evidence) -> Chunks:
    """Return the chunks in which Spark may shift a value above the maximum."""
    shifts = SHIFTS.get(evidence.traits.storage.type)
    if shifts is None:
        return False
    first_unshifted, reach = shifts
    return _minimum_may_be_shifted(evidence) & _is_less(evidence.max, first_unshifted + reach)


def _is_less(bounds: pa.Array, limit: int) -> Chunks:
    return False if pa.types.is_null(bounds.type) else _true_lanes(pc.less(bounds, limit))


def _has_no_value(bounds: pa.Array) -> Mask:
    mask: Mask = np.asarray(bounds.is_null())
    return mask


def _true_lanes(condition: pa.BooleanArray) -> Mask:
    """Return the lanes in which a condition is true, neither false nor NULL."""
    mask: Mask = np.asarray(pc.fill_null(condition, False))
    return mask


def _has_bounds_without_values(evidence: Evidence) -> Mask:
    most = evidence.value_counts_max
    has_bound = ~(_has_no_value(evidence.min) & _has_no_value(evidence.max))
    mask: Mask = (most > 0) & (evidence.null_counts == most) & has_bound
    return mask


# Type -> (the first value that is never shifted, how far beyond it a shifted value may end up). Shifted
# dates stay below that value; shifts of instants depend on the zone, and stay within a day.
SHIFTS = {
    types.DATE: (_SAME_DATE, 0),
    types.TIMESTAMP: (_SAME_INSTANT, _US_PER_DAY),
    types.TIMESTAMP_NTZ: (_SAME_INSTANT, _US_PER_DAY),
}

DOUBTS: tuple[Doubt, ...] = (
    Doubt(
        name="order unnamed",
        takes=Claim.BOUNDS,
        reason="min_value and max_value mean nothing in a file that does not name the column's order",
        applies=lambda e: e.is_from(Origin.UNORDERED),
    ),
    Doubt(
        name="deprecated order",
        takes=Claim.BOUNDS,
        reason="the deprecated min and max compare as signed, which is not the order of this type",
        applies=lambda e: not e.traits.storage.signed and e.is_from(Origin.DEPRECATED),
    ),
    Doubt(
        name="no usable order",
        takes=Claim.BOUNDS,
        reason="Parquet defines no order for the type, or writers are known to use a wrong one",
        applies=lambda e: e.traits.storage.form is None,
    ),
    Doubt(
        name="varying decimals",
        takes=Claim.BOUNDS,
        reason="only some writers order decimals of unequal lengths by value; others by their bytes",
        applies=lambda e: e.traits.storage.varying and e.provenance.writer not in _ORDERS_VARYING_DECIMALS,
    ),
    Doubt(
        name="decimals by signed bytes",
        takes=Claim.BOUNDS,
        reason="parquet-cpp, before it was named after Arrow, compared each byte of a decimal as signed",
        applies=lambda e: _is_decimal_in_bytes(e) and e.provenance.writer == "parquet-cpp",
    ),
    Doubt(
        name="decimals by unsigned bytes",
        takes=Claim.BOUNDS,
        reason="Polars merges the bounds of pages of decimals as unsigned bytes, so that some may be lost",
        applies=lambda e: _is_decimal_in_bytes(e) and e.provenance.writer in _POLARS,
    ),
    Doubt(
        name="unsigned merged as signed",
        takes=Claim.BOUNDS,
        reason="Polars merges the bounds of pages of unsigned numbers as signed, so that some may be lost",
        applies=lambda e: e.traits.storage.widest_unsigned and e.provenance.writer in _POLARS,
    ),
    Doubt(
        name="decimals by their floats",
        takes=Claim.BOUNDS,
        reason="hyparquet is known to write the bounds of decimals as other numbers than the values",
        applies=lambda e: _kind(e) is types.Kind.DECIMAL and e.provenance.writer == "hyparquet",
    ),
    Doubt(
        name="byte strings in another order",
        takes=Claim.BOUNDS,
        reason="this version of the writer compared byte strings as signed bytes, or by their lengths first",
        applies=lambda e: _kind(e) in types.BYTES and _is_release_before(e.provenance, _ORDERS_BYTES),
    ),
    Doubt(
        name="length before the bytes",
        takes=Claim.BOUNDS,
        reason="a bound that begins with its own length was stored as a value is, and means another text",
        applies=lambda e: (
            _kind(e) in types.BYTES and (_starts_with_length(e.lower) | _starts_with_length(e.upper))
        ),
    ),
    Doubt(
        name="NaN among the values",
        takes=Claim.BOUNDS,
        reason="this version of the writer may lose values of a page that begins with NaN",
        applies=lambda e: (
            e.traits.storage.type.floating and _is_release_before(e.provenance, _SETS_NAN_APART)
        ),
    ),
    Doubt(
        name="unreadable minimum",
        takes=Claim.MIN,
        reason="the minimum's bytes are not a value of the type",
        applies=lambda e: e.garbled_min,
    ),
    Doubt(
        name="unreadable maximum",
        takes=Claim.MAX,
        reason="the maximum's bytes are not a value of the type",
        applies=lambda e: e.garbled_max,
    ),
    Doubt(
        name="unreadable bound",
        takes=Claim.BOUNDS,
        reason="a number that does not fit its type may be read as another one, on the other side too",
        applies=lambda e: _kind(e) not in types.BYTES and e.garbled_min | e.garbled_max,
    ),
    Doubt(
        name="NaN as a bound",
        takes=Claim.BOUNDS,
        reason="a writer that let NaN into one bound may have lost values from the other",
        applies=lambda e: _is_nan(e.min) | _is_nan(e.max),
    ),
    Doubt(
        name="crossed bounds",
        takes=Claim.BOUNDS,
        reason="a minimum above the maximum was computed in another order",
        applies=_has_crossed_bounds,
    ),
    Doubt(
        name="shifted minimum",
        takes=Claim.MIN,
        reason="Spark may read dates this old by another calendar, which moves them",
        applies=_minimum_may_be_shifted,
    ),
    Doubt(
        name="shifted maximum",
        takes=Claim.MAX,
        reason="Spark may read dates this old by another calendar, and move them beyond the maximum",
        applies=_maximum_may_be_exceeded,
    ),
    Doubt(
        name="NULLs undercounted",
        takes=Claim.NULL_COUNT,
        reason="this version of the writer is known to leave some NULLs out of its count",
        applies=lambda e: _is_release_before(e.provenance, _COUNTS_NULLS),
    ),
    Doubt(
        name="NULLs counted again",
        takes=Claim.NULL_COUNT,
        reason="Polars multiplies the NULLs of some columns by the number of pages; only none is none",
        applies=lambda e: e.provenance.writer in _POLARS and e.has_null_count & (e.null_counts != 0),
    ),
    Doubt(
        name="NULLs of parents",
        takes=Claim.NULL_COUNT,
        reason="a field is NULL where its struct is, and few writers are known to count those rows",
        applies=_may_miss_parent_nulls,
    ),
    Doubt(
        name="NULLs of elements",
        takes=Claim.NULL_COUNT,
        reason="elements are not rows, and writers disagree whether an empty array counts as a NULL",
        applies=lambda e: e.traits.repeated and e.has_null_count,
    ),
    Doubt(
        name="impossible NULL count",
        takes=Claim.NULL_COUNT,
        reason="a block cannot hold fewer than no NULLs, nor more than rows",
        applies=lambda e: e.has_null_count & ~((e.null_counts >= 0) & (e.null_counts <= e.value_counts_max)),
    ),
    Doubt(
        name="bounds without values",
        takes=Claim.ALL,
        reason="a block that is all NULL has no bounds, so either the count or the bounds are false",
        applies=_has_bounds_without_values,
    ),
    Doubt(
        name="another number of values",
        takes=Claim.ALL,
        reason="without arrays there is one value, maybe NULL, in each row; these are of another block",
        applies=lambda e: not e.traits.repeated and e.values != e.rows,
    ),
    Doubt(
        name="fewer values than rows",
        takes=Claim.ALL,
        reason="even an empty or NULL array takes a place in its column; these are of another block",
        applies=lambda e: e.traits.repeated and e.values < e.rows,
    ),
)
