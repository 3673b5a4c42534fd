"""Trust in a footer's statistics: one table of doubts, each with its reason.

All of a chunk's statistics are believed at first; each doubt that applies takes some of them away.
The remaining ones are true of the rows as Spark reads them; the others are unknown.

Some errors in footers need no doubt. A minimum of 0.0 with values of -0.0, or a maximum of -0.0 with values
of 0.0, is still a bound, because the two are equal. Truncated bounds are true, and not exact unless the file
says so. A wrong order that only moves all values of one sign, such as signed numbers compared as unsigned,
makes the minimum exceed the maximum if both signs occur, and is harmless otherwise; it needs a doubt only if
a writer merges pages by another order than it compares values by.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pruning.expressions import types
from pruning.expressions.types import Value
from pruning.metadata.footers.evidence import Claim, Evidence, Origin, Provenance, evidence_of
from pruning.metadata.footers.footer import Statistics
from pruning.metadata.footers.nested import SchemaLeaf
from pruning.metadata.footers.physical_types import ColumnStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """The believed statistics of one column in one block; None is "unknown"."""

    null_count: int | None = None
    min: Value | None = None
    max: Value | None = None
    min_exact: bool | None = None
    max_exact: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A reason not to believe a part of a footer's statistics."""

    name: str
    takes: Claim
    reason: str
    applies: Callable[[Evidence], bool]


def believed_facts(
    statistics: Statistics,
    leaf: SchemaLeaf,
    storage: ColumnStorage,
    *,
    rows: int,
    values: int | None,
    source: Provenance,
) -> ColumnFacts:
    """Return the believed statistics of a chunk; `rows` and `values` count its row group and itself."""
    evidence = evidence_of(statistics, leaf, storage, rows=rows, values=values, source=source)
    doubted = Claim(0)
    for doubt in DOUBTS:
        if doubt.applies(evidence):
            doubted |= doubt.takes
    no_min = Claim.MIN in doubted or evidence.min is None
    no_max = Claim.MAX in doubted or evidence.max is None
    facts = ColumnFacts(
        null_count=None if Claim.NULL_COUNT in doubted else evidence.null_count,
        min=None if no_min else evidence.min,
        max=None if no_max else evidence.max,
        # Only the newer fields of the statistics say whether they are exact.
        min_exact=None if no_min or evidence.origin is not Origin.ORDERED else statistics.min_exact,
        max_exact=None if no_max or evidence.origin is not Origin.ORDERED else statistics.max_exact,
    )
    # Unlike statistics, the schema binds the reader: a required column cannot hold NULL.
    return replace(facts, null_count=0) if leaf.required else facts


def doubts(
    statistics: Statistics,
    leaf: SchemaLeaf,
    storage: ColumnStorage,
    *,
    rows: int,
    values: int | None,
    source: Provenance,
) -> list[Doubt]:
    """Return the doubts that apply to one column chunk, in the table's order."""
    evidence = evidence_of(statistics, leaf, storage, rows=rows, values=values, source=source)
    return [doubt for doubt in DOUBTS if doubt.applies(evidence)]


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
    return evidence.leaf.inherits and not evidence.leaf.is_repeated and unknown


def _is_decimal_in_bytes(evidence: Evidence) -> bool:
    """Tell whether the column has decimals that are stored as byte strings."""
    return evidence.storage.type.kind is types.Kind.DECIMAL and not evidence.storage.signed


def _starts_with_length(bound: bytes | None) -> bool:
    """Tell whether a byte string begins with the length of the rest."""
    if bound is None or len(bound) < _WORD_BYTES:
        return False
    return int.from_bytes(bound[:_WORD_BYTES], "little") == len(bound) - _WORD_BYTES


def _is_nan(bound: Value | None) -> bool:
    return isinstance(bound, float) and math.isnan(bound)


def _has_crossed_bounds(evidence: Evidence) -> bool:
    lower: Any = evidence.min
    upper: Any = evidence.max
    return lower is not None and upper is not None and bool(lower > upper)


def _minimum_may_be_shifted(evidence: Evidence) -> bool:
    """Tell whether some value may be old enough for Spark to shift it below the minimum."""
    same = _SAME.get(evidence.storage.type)
    if same is None or not evidence.provenance.rebased:
        return False
    return not isinstance(evidence.min, int) or evidence.min < same[0]


def _maximum_may_be_exceeded(evidence: Evidence) -> bool:
    """Tell whether Spark may shift a value above the maximum."""
    if not _minimum_may_be_shifted(evidence) or not isinstance(evidence.max, int):
        return False
    same, reach = _SAME[evidence.storage.type]
    return evidence.max < same + reach


# Type -> (the first value that is never shifted, how far beyond it a shifted value may end up). Shifted
# dates stay below that value; shifts of instants depend on the zone, and stay within a day.
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
        applies=lambda e: e.origin is Origin.DEPRECATED and not e.storage.signed,
    ),
    Doubt(
        name="no usable order",
        takes=Claim.BOUNDS,
        reason="Parquet defines no order for the type, or writers are known to use a wrong one",
        applies=lambda e: e.storage.decode is None,
    ),
    Doubt(
        name="varying decimals",
        takes=Claim.BOUNDS,
        reason="only some writers order decimals of unequal lengths by value; others by their bytes",
        applies=lambda e: e.storage.varying and e.provenance.writer not in _ORDERS_VARYING_DECIMALS,
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
        applies=lambda e: e.storage.widest_unsigned and e.provenance.writer in _POLARS,
    ),
    Doubt(
        name="decimals by their floats",
        takes=Claim.BOUNDS,
        reason="hyparquet is known to write the bounds of decimals as other numbers than the values",
        applies=lambda e: e.storage.type.kind is types.Kind.DECIMAL and e.provenance.writer == "hyparquet",
    ),
    Doubt(
        name="byte strings in another order",
        takes=Claim.BOUNDS,
        reason="this version of the writer compared byte strings as signed bytes, or by their lengths first",
        applies=lambda e: (
            e.storage.type.kind in types.BYTES and _is_release_before(e.provenance, _ORDERS_BYTES)
        ),
    ),
    Doubt(
        name="length before the bytes",
        takes=Claim.BOUNDS,
        reason="a bound that begins with its own length was stored as a value is, and means another text",
        applies=lambda e: (
            e.storage.type.kind in types.BYTES
            and (_starts_with_length(e.lower) or _starts_with_length(e.upper))
        ),
    ),
    Doubt(
        name="NaN among the values",
        takes=Claim.BOUNDS,
        reason="this version of the writer may lose values of a page that begins with NaN",
        applies=lambda e: e.storage.type.floating and _is_release_before(e.provenance, _SETS_NAN_APART),
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
        applies=lambda e: bool(e.garbled) and e.storage.type.kind not in types.BYTES,
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
        applies=lambda e: e.provenance.writer in _POLARS and e.null_count not in (None, 0),
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
        applies=lambda e: e.leaf.is_repeated and e.null_count is not None,
    ),
    Doubt(
        name="impossible NULL count",
        takes=Claim.NULL_COUNT,
        reason="a block cannot hold fewer than no NULLs, nor more than rows",
        applies=lambda e: e.null_count is not None and not 0 <= e.null_count <= (e.value_count_max or 0),
    ),
    Doubt(
        name="bounds without values",
        takes=Claim.ALL,
        reason="a block that is all NULL has no bounds, so either the count or the bounds are false",
        applies=lambda e: (
            0 < (e.value_count_max or 0) == e.null_count and (e.min is not None or e.max is not None)
        ),
    ),
    Doubt(
        name="another number of values",
        takes=Claim.ALL,
        reason="without arrays there is one value, maybe NULL, in each row; these are of another block",
        applies=lambda e: not e.leaf.is_repeated and e.values != e.rows,
    ),
    Doubt(
        name="fewer values than rows",
        takes=Claim.ALL,
        reason="even an empty or NULL array takes a place in its column; these are of another block",
        applies=lambda e: e.leaf.is_repeated and (e.values is None or e.values < e.rows),
    ),
)
