"""JOIN-1 and JOIN-3 kill summaries of one key that have a mistake, each by joins that turn on it."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from joining import Join, joins, metadata_of
from key_checks import FILTERED, RANGED, lost_by_bounds, lost_by_condition, wrong_rows
from searches import find

from pruning.expressions.trees import And, Column, Compare, Comparison, Expression, Literal
from pruning.expressions.types import DOUBLE, INTEGER, STRING, Type
from pruning.techniques.join import summary_filters as filters
from pruning.techniques.join import summary_keys
from pruning.techniques.join import summary_ranges as ranged
from pruning.techniques.join.summaries import KeySummary, SummaryForm
from pruning.techniques.join.summary_ranges import Ranges
from pruning.techniques.plan.keys import KeyBounds
from strategies.base.metadata import exact_facts, to_metadata
from strategies.base.tables import Row, Table

SERIES_COUNT = 40


def _forgets_null(monkeypatch: pytest.MonkeyPatch) -> None:
    right = KeySummary.excludes
    monkeypatch.setattr(
        KeySummary, "excludes", lambda self, bounds, *, null_safe: right(self, bounds, null_safe=False)
    )


def _condition_forgets_null(monkeypatch: pytest.MonkeyPatch) -> None:
    right = KeySummary.condition
    monkeypatch.setattr(
        KeySummary,
        "condition",
        lambda self, key, *, null_safe, terms_max=None: right(self, key, null_safe=False),
    )


def _empty_excludes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    right = KeySummary.excludes

    def excludes(self: KeySummary, bounds: KeyBounds, *, null_safe: bool) -> np.ndarray:
        return (
            np.ones(len(bounds), bool)
            if self.form is SummaryForm.EMPTY
            else right(self, bounds, null_safe=null_safe)
        )

    monkeypatch.setattr(KeySummary, "excludes", excludes)


def _forgets_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    right = KeySummary._within_budget
    monkeypatch.setattr(KeySummary, "_within_budget", lambda self: replace(right(self), has_nan=False))


def _zeros_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values as they are, ordered by their bits."""

    def bits(lanes: pa.Array) -> np.ndarray:
        number = lanes.fill_null(0).to_numpy().astype(np.float64).view(np.int64)
        return np.where(number < 0, np.int64(-(2**63)) - number - 1, number)

    def below(places: pa.Array, bound: pa.Array) -> np.ndarray:
        return np.searchsorted(np.sort(bits(places)), bits(bound)) * bound.is_valid().to_numpy(
            zero_copy_only=False
        )

    monkeypatch.setattr(ranged, "_counts_below", below)
    monkeypatch.setattr(ranged, "to_lanes", lambda values, _: values)


def _merge_overwrites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeySummary, "merge", lambda self, other: other)


def _merge_drops_null(monkeypatch: pytest.MonkeyPatch) -> None:
    right = KeySummary.merge
    monkeypatch.setattr(
        KeySummary, "merge", lambda self, other: replace(right(self, other), has_null=self.has_null)
    )


def _overlapping_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def union(self: Ranges, other: Ranges) -> Ranges:
        lowers = pa.concat_arrays([self.lowers, other.lowers])
        uppers = pa.concat_arrays([self.uppers, other.uppers])
        order = pc.sort_indices(lowers)
        return Ranges(lowers.take(order), uppers.take(order))

    monkeypatch.setattr(Ranges, "union", union)


def _lower_end_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranged.pc, "less_equal", pc.less)


def _upper_end_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ranged._counts_below

    def below(places: pa.Array, bound: pa.Array) -> np.ndarray:
        equal = pc.fill_null(pc.is_in(bound, value_set=places), False).to_numpy(zero_copy_only=False)
        return right(places, bound) + (equal & bound.is_valid().to_numpy(zero_copy_only=False))

    monkeypatch.setattr(ranged, "_counts_below", below)


def _unknown_lower_is_high(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ranged._counts_below
    monkeypatch.setattr(
        ranged, "_counts_below", lambda places, bound: right(places, bound.fill_null(2**31 - 1))
    )


def _unknown_upper_is_low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranged.kernels, "true_where_null", lambda found: pc.fill_null(found, False))


def _between_without_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def between(key: Expression, lower: Literal, upper: Literal) -> Expression:
        return And((Compare(Comparison.AT_LEAST, key, lower), Compare(Comparison.LESS, key, upper)))

    monkeypatch.setattr(summary_keys, "_between_condition", between)


def _last_range_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Ranges.within_bytes

    def within(self: Ranges, bytes_max: int) -> Ranges | None:
        kept = right(self, bytes_max)
        return kept and Ranges(kept.lowers[:-1], kept.uppers[:-1]) if kept and len(kept) > 1 else kept

    monkeypatch.setattr(Ranges, "within_bytes", within)


def _last_candidate_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    right = filters._step_counts

    def steps(*bounds: object) -> np.ndarray:
        found = right(*bounds)
        return np.where((found > 0) & (found < filters._MANY), found - np.uint64(1), found)

    monkeypatch.setattr(filters, "_step_counts", steps)


def _many_candidates_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    right = filters._step_counts
    monkeypatch.setattr(filters, "_step_counts", lambda *bounds: np.minimum(right(*bounds), np.uint64(0)))


def _texts_are_their_lower_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "_step_counts", lambda lower, upper, type_: np.zeros(len(lower), np.uint64))


def _filter_of_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_keys, "_merged_filter", lambda one, other, _: one.filter or other.filter)


def _filters_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "unite_filters", lambda one, other, _: other)


def of_itself(join: Join) -> Join:
    """Each row of the probe side has a partner."""
    return replace(join, parts=(join.table.rows,), null_safe=(True,))


def of_rows(*rows: Row) -> Callable[[Join], Join]:
    """A join with these rows alone, in which NULL equals NULL."""
    return lambda join: replace(join, parts=(rows,), null_safe=(True,))


def of_null_last(join: Join) -> Join:
    """Only the last part of the build side has a NULL, which is a partner."""
    present = tuple(row for row in join.build if row[0] is not None)
    return replace(join, parts=(present, ((None,),)), null_safe=(True,))


def overlapping(join: Join) -> Join:
    """The second part lies inside of the first, which is the probe side."""
    rows = sorted(join.table.rows)
    return replace(join, parts=(tuple(rows), tuple(rows[1:2])))


def without_bound(name: str) -> Callable[[Join], Join]:
    """A join of the probe side with itself, of whose blocks one bound is unknown."""

    def forgotten(join: Join) -> Join:
        facts = tuple(
            replace(
                block,
                columns=tuple(replace(one, **{name: None, f"{name}_exact": None}) for one in block.columns),
            )
            for block in exact_facts(join.table)
        )
        return replace(of_itself(join), known=to_metadata(join.table, facts))

    return forgotten


@st.composite
def enclosed(draw: st.DrawFn) -> Join:
    """Joins of a probe side with itself that has too many keys for a list, each in a block of its own."""
    keys = draw(st.lists(st.integers(-100, 100), min_size=7, max_size=12, unique=True))
    table = Table((Column("a", INTEGER),), tuple(((key,),) for key in keys))
    return Join(
        table=table,
        known=metadata_of(table),
        parts=(table.rows,),
        null_safe=(False,),
        bytes_max=draw(st.sampled_from(RANGED)),
    )


@st.composite
def filtered(draw: st.DrawFn, type_: Type, *, parts: int = 1) -> Join:
    """Joins with too many keys for a list, with blocks of two rows: no key, and the key that follows it."""
    step = draw(st.integers(2, 5))
    start = draw(st.integers(1_000, 1_100))
    keys = [start + step * at for at in range(SERIES_COUNT)]
    found = draw(st.lists(st.sampled_from(keys), min_size=1, max_size=4))

    def row(number: int) -> Row:
        return (str(number).encode(),) if type_ == STRING else (number,)

    table = Table((Column("a", type_),), tuple((row(key - 1), row(key)) for key in found))
    return Join(
        table=table,
        known=metadata_of(table),
        parts=tuple(tuple(map(row, keys[part::parts])) for part in range(parts)),
        null_safe=(False,),
        bytes_max=draw(st.sampled_from(FILTERED)),
    )


INTEGERS, DOUBLES = joins([INTEGER]), joins([DOUBLE])
# Each is a plausible mistake, and the joins among which it is looked for.
MUTANTS = {
    "NULL-safe equality forgets NULL": (_forgets_null, INTEGERS.map(of_itself)),
    "the condition forgets NULL": (_condition_forgets_null, INTEGERS.map(of_itself)),
    "no value is taken for no row": (_empty_excludes_all, INTEGERS.map(of_rows((None,)))),
    "NaN is dropped": (_forgets_nan, DOUBLES.map(of_rows((math.nan,), (1.0,)))),
    "the two zeros differ": (_zeros_differ, DOUBLES.map(of_rows((-0.0,)))),
    "merging overwrites": (_merge_overwrites, INTEGERS),
    "merging drops NULL": (_merge_drops_null, INTEGERS.map(of_null_last)),
    "ranges that overlap stay apart": (_overlapping_stay_apart, enclosed().map(overlapping)),
    "the lower end of a range is cut": (_lower_end_cut, INTEGERS.map(of_itself)),
    "the upper end of a range is cut": (_upper_end_cut, INTEGERS.map(of_itself)),
    "an unknown lower bound is above all": (_unknown_lower_is_high, INTEGERS.map(without_bound("lower"))),
    "an unknown upper bound is below all": (_unknown_upper_is_low, INTEGERS.map(without_bound("upper"))),
    "BETWEEN without its end": (_between_without_ends, enclosed()),
    "the last range is dropped": (_last_range_dropped, enclosed()),
    "the upper end is not looked up": (_last_candidate_skipped, filtered(INTEGER)),
    "only the first candidate is looked up": (_many_candidates_cut, filtered(INTEGER)),
    "only the lower end of texts is looked up": (_texts_are_their_lower_ends, filtered(STRING)),
    "the filter of one part is that of all": (_filter_of_one_part, filtered(INTEGER, parts=2)),
    "filters overwrite each other": (_filters_overwritten, filtered(INTEGER, parts=2)),
}


@pytest.mark.parametrize("mutant", MUTANTS)
@examples(0.2)
@given(data=st.data())
def test_a_summary_without_the_mistake_loses_nothing(mutant: str, data: st.DataObject) -> None:
    """JOIN-1, of the joins that kill a mutant: it is the mistake that they show."""
    join = data.draw(MUTANTS[mutant][1])
    assert not lost_by_bounds(join)
    assert not lost_by_condition(join)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_summary_with_a_mistake_is_seen(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """JOIN-1 kills each mutant."""
    break_it, drawn = MUTANTS[mutant]
    break_it(monkeypatch)
    lost = (
        lost_by_condition if break_it in (_condition_forgets_null, _between_without_ends) else lost_by_bounds
    )
    find(drawn, lost, settings=unshrunk(2_000))


@pytest.mark.parametrize("safe", [True, False])
def test_a_summary_that_keeps_too_much_is_seen(safe: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """JOIN-3 kills a summary in which NULL equals NULL always, and one that excludes nothing."""
    right = KeySummary.excludes

    def excludes(self: KeySummary, bounds: KeyBounds, *, null_safe: bool) -> np.ndarray:
        return right(self, bounds, null_safe=True) if safe else np.zeros(len(bounds), bool)

    monkeypatch.setattr(KeySummary, "excludes", excludes)
    find(joins([INTEGER], budgets=(10_000,)), lambda join: bool(wrong_rows(join)), settings=unshrunk(2_000))
