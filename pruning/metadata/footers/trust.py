"""What of a footer's statistics is believed: one table of doubts, each with its reason.

A reading starts from everything that a chunk's statistics say; each doubt that applies takes
something away. What is left bounds the rows as Spark reads them; what is gone is unknown.

Some things that are wrong in footers need no doubt. A minimum of 0.0 beside values of -0.0, or a maximum
of -0.0 beside 0.0, bounds them all the same, as the two are equal. Bounds that were cut short are true,
and never exact unless the file says so. A wrong order that merely shifts all values of one sign, such as
signed numbers compared as unsigned, crosses the bounds wherever both signs occur, and elsewhere is right;
only where a writer merges pages by another order than it compares values by is there a doubt of its own.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pruning.expressions import types
from pruning.expressions.types import Value
from pruning.metadata.footers.evidence import Claim, Evidence, Origin, Provenance, evidence_of
from pruning.metadata.footers.footer import Statistics
from pruning.metadata.footers.nested import Leaf
from pruning.metadata.footers.physical_types import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is believed of one column in one block; None is "unknown"."""

    null_count: int | None = None
    min: Value | None = None
    max: Value | None = None
    min_exact: bool | None = None
    max_exact: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Something that footers say and that is not believed."""

    name: str
    takes: Claim
    reason: str
    applies: Callable[[Evidence], bool]


def believed(
    statistics: Statistics, leaf: Leaf, form: Form, *, rows: int, values: int | None, source: Provenance
) -> Known:
    """What is believed of one column chunk; `rows` and `values` are its row group's and its own counts."""
    evidence = evidence_of(statistics, leaf, form, rows=rows, values=values, source=source)
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
    evidence = evidence_of(statistics, leaf, form, rows=rows, values=values, source=source)
    return [doubt for doubt in DOUBTS if doubt.applies(evidence)]


_Releases = Mapping[str, tuple[int, int, int, bool]]

# The first versions that count every NULL; the versions before them lose those of some pages.
_COUNTS_NULLS: _Releases = {
    "parquet-cpp": (6, 0, 0, True),
    "parquet-cpp-arrow": (6, 0, 0, True),
    "parquet-mr": (1, 10, 0, True),
}
# The only ones known to count, for a field of a struct, the rows where the struct is NULL.
_COUNTS_PARENTS: _Releases = {"parquet-cpp-arrow": (6, 0, 0, True), "parquet-mr": (1, 10, 0, True)}
# The first versions whose bounds of floats, where they are not NaN, bound all values that are not.
_SETS_NAN_APART: _Releases = {
    "impala": (3, 0, 0, True),
    "parquet-cpp": (1, 4, 0, True),
    "parquet-mr": (1, 10, 0, True),
    "parquet-rs": (5, 0, 0, True),
}
# The first versions that compare byte strings as Parquet says: as unsigned bytes, in full.
_ORDERS_BYTES: _Releases = {"parquet-mr": (1, 10, 0, True), "parquet-rs": (5, 2, 0, True)}
# One writer under its two names; the older one tells no version.
_POLARS = frozenset({"Arrow2", "Polars"})
_WORD_BYTES = 4
# Writers that order decimals of unequal lengths by value. Others compare their bytes.
_ORDERS_VARYING_DECIMALS = frozenset({"parquet-mr", "parquet-cpp-arrow"})

_US_PER_DAY = 86_400_000_000
# From these on, both calendars name every instant alike, in every zone.
_SAME_DATE = -141_427  # 1582-10-15, days
_SAME_INSTANT = -2_208_988_800_000_000  # 1900-01-01 00:00:00 UTC, us


def _before(source: Provenance, first: _Releases) -> bool:
    """Whether the writer is among those named, and in an earlier version, or in an unknown one."""
    release = first.get(source.writer)
    return release is not None and (source.release is None or source.release < release)


def _forgets_parents(evidence: Evidence) -> bool:
    source = evidence.provenance
    unknown = source.writer not in _COUNTS_PARENTS or _before(source, _COUNTS_PARENTS)
    return evidence.leaf.inherits and not evidence.leaf.repeated and unknown


def _decimal_bytes(evidence: Evidence) -> bool:
    """Whether these are decimals that are stored as byte strings."""
    return evidence.form.type.kind is types.Kind.DECIMAL and not evidence.form.signed


def _length_first(bound: bytes | None) -> bool:
    """Whether a byte string begins with the length of what follows."""
    if bound is None or len(bound) < _WORD_BYTES:
        return False
    return int.from_bytes(bound[:_WORD_BYTES], "little") == len(bound) - _WORD_BYTES


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
        applies=lambda e: _decimal_bytes(e) and e.provenance.writer == "parquet-cpp",
    ),
    Doubt(
        name="decimals by unsigned bytes",
        takes=Claim.BOUNDS,
        reason="Polars merges the bounds of pages of decimals as unsigned bytes, so that some may be lost",
        applies=lambda e: _decimal_bytes(e) and e.provenance.writer in _POLARS,
    ),
    Doubt(
        name="unsigned merged as signed",
        takes=Claim.BOUNDS,
        reason="Polars merges the bounds of pages of unsigned numbers as signed, so that some may be lost",
        applies=lambda e: e.form.widest_unsigned and e.provenance.writer in _POLARS,
    ),
    Doubt(
        name="decimals by their floats",
        takes=Claim.BOUNDS,
        reason="hyparquet is known to write the bounds of decimals as other numbers than the values",
        applies=lambda e: e.form.type.kind is types.Kind.DECIMAL and e.provenance.writer == "hyparquet",
    ),
    Doubt(
        name="byte strings in another order",
        takes=Claim.BOUNDS,
        reason="this version of the writer compared byte strings as signed bytes, or by their lengths first",
        applies=lambda e: e.form.type.kind in types.BYTES and _before(e.provenance, _ORDERS_BYTES),
    ),
    Doubt(
        name="length before the bytes",
        takes=Claim.BOUNDS,
        reason="a bound that begins with its own length was stored as a value is, and means another text",
        applies=lambda e: (
            e.form.type.kind in types.BYTES and (_length_first(e.lower) or _length_first(e.upper))
        ),
    ),
    Doubt(
        name="NaN among the values",
        takes=Claim.BOUNDS,
        reason="this version of the writer may lose values of a page that begins with NaN",
        applies=lambda e: e.form.type.floating and _before(e.provenance, _SETS_NAN_APART),
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
        applies=lambda e: _before(e.provenance, _COUNTS_NULLS),
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
        applies=_forgets_parents,
    ),
    Doubt(
        name="NULLs of elements",
        takes=Claim.NULL_COUNT,
        reason="elements are not rows, and writers disagree whether an empty array counts as a NULL",
        applies=lambda e: e.leaf.repeated and e.null_count is not None,
    ),
    Doubt(
        name="impossible NULL count",
        takes=Claim.NULL_COUNT,
        reason="a block cannot hold fewer than no NULLs, nor more than rows",
        applies=lambda e: e.null_count is not None and not 0 <= e.null_count <= (e.slots or 0),
    ),
    Doubt(
        name="bounds without values",
        takes=Claim.ALL,
        reason="a block that is all NULL has no bounds, so either the count or the bounds are false",
        applies=lambda e: 0 < (e.slots or 0) == e.null_count and (e.min is not None or e.max is not None),
    ),
    Doubt(
        name="another number of values",
        takes=Claim.ALL,
        reason="without arrays there is one value, maybe NULL, in each row; these are of another block",
        applies=lambda e: not e.leaf.repeated and e.values != e.rows,
    ),
    Doubt(
        name="fewer values than rows",
        takes=Claim.ALL,
        reason="even an empty or NULL array takes a place in its column; these are of another block",
        applies=lambda e: e.leaf.repeated and (e.values is None or e.values < e.rows),
    ),
)
