"""Summaries of several keys of a join's build side that are wrong in one way each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from mutants.replacements import Replacement
from pruning.expressions.types import Type
from pruning.techniques.join import key_ranges, summaries
from pruning.techniques.join.summaries import JoinSummary, KeySummary, SummaryParts

_merge, _summarise_keys = JoinSummary.merge, summaries.summarise_keys
_ranges = key_ranges._ranges
_few_tuples, _single_value_summary = summaries._few_tuples, summaries._single_value_summary

# Of those tuples that are few enough, a mutant keeps this number.
_TUPLES_KEPT = 2


def _without_any_null(types: Sequence[Type], columns: Sequence[pa.Array], **options: Any) -> JoinSummary:
    rows = pa.table(columns, names=[str(ordinal) for ordinal in range(len(columns))]).drop_null()
    return _summarise_keys(types, rows.columns, **options)


def _with_tuples_of_last(self: JoinSummary, other: JoinSummary) -> JoinSummary:
    return replace(_merge(self, other), tuples=other.tuples)


def _single_without_null(key: KeySummary, column: pa.ChunkedArray, row: int) -> KeySummary:
    return replace(_single_value_summary(key, column, row), has_null=False)


def _single_without_nan(key: KeySummary, column: pa.ChunkedArray, row: int) -> KeySummary:
    return replace(_single_value_summary(key, column, row), has_nan=False)


def _some_tuples(tuples: pa.Table, bytes_max: int) -> pa.Table | None:
    few = _few_tuples(tuples, bytes_max)
    return few and few.slice(0, _TUPLES_KEPT)


def _first_part(self: SummaryParts) -> JoinSummary:
    return self.reported[0]


def _with_row_count_of_last(self: JoinSummary, other: JoinSummary) -> JoinSummary:
    """Count rows as partners of nothing where the last part has none."""
    return replace(_merge(self, other), row_count=other.row_count)


def _first_range(type_: Type, lowers: pa.Array, uppers: pa.Array, bytes_max: int) -> KeySummary:
    return _ranges(type_, lowers.slice(0, 1), uppers.slice(0, 1), bytes_max)


# Each loses rows that meet the inequalities of a join.
RANGE_MUTANTS: Mapping[str, Replacement] = {
    "only the first range is kept": Replacement(key_ranges, "_ranges", _first_range),
    "the greatest lower end is that of all": Replacement(key_ranges, "_least", key_ranges._greatest),
    "the least upper end is that of all": Replacement(key_ranges, "_greatest", key_ranges._least),
    "NaN is taken for a number": Replacement(key_ranges, "_has_nan", lambda ends: False),
}
# Each loses rows.
MUTANTS: Mapping[str, Replacement] = {
    "rows with any NULL are dropped": Replacement(summaries, "summarise_keys", _without_any_null),
    "tuples of the last part are all": Replacement(JoinSummary, "merge", _with_tuples_of_last),
    "tuples forget NULL": Replacement(summaries, "_single_value_summary", _single_without_null),
    "tuples forget NaN": Replacement(summaries, "_single_value_summary", _single_without_nan),
    "only some tuples are kept": Replacement(summaries, "_few_tuples", _some_tuples),
    "the first part is told before the others": Replacement(SummaryParts, "merge", _first_part),
    "an empty last part empties all": Replacement(JoinSummary, "merge", _with_row_count_of_last),
}


def _with_rows_without_partner(
    types: Sequence[Type], columns: Sequence[pa.Array], *, null_safe: object, bytes_max: int
) -> JoinSummary:
    """Summarise rows with NULL as if NULL were equal to NULL in every key."""
    safe = (True,) * len(types)
    return replace(_summarise_keys(types, columns, null_safe=safe, bytes_max=bytes_max), null_safe=safe)


# Keeps blocks for rows that have no partner.
ROWS_WITHOUT_PARTNER = (
    Replacement(summaries, "summarise_keys", _with_rows_without_partner),
    Replacement(JoinSummary, "_check", lambda *_: None),
)
