"""JOIN-1, J2: a block that a summary of one key skips has no row with a partner on the build side."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from budget import examples, unshrunk
from hypothesis import event, find, given
from hypothesis import strategies as st
from joining import BUDGETS, Join, bounds_of, joins, metadata_of, summarised, unsatisfied

from pruning.errors import InputError
from pruning.expressions import types
from pruning.expressions.trees import And, Column, Compare, Comparison, Expression, In, IsNull, Literal, Or
from pruning.expressions.types import DATE, DOUBLE, INTEGER, LONG, STRING
from pruning.techniques import summary_filters as filters
from pruning.techniques import summary_keys
from pruning.techniques import summary_ranges as ranged
from pruning.techniques.keys import KeyBounds
from pruning.techniques.summaries import Form, KeySummary, summarise
from pruning.techniques.summary_ranges import Ranges
from strategies.tables import Table
from strategies.values import TYPES

A, X, S = Column("a", LONG), Column("x", DOUBLE), Column("s", STRING)
NAN = math.nan


def lost_by_bounds(join: Join) -> bool:
    """Whether `excludes` is True of a block with a partner: of the table as it is known, or row by row."""
    summary = summarised(join)
    return any(
        skips and needed
        for table, known in blocks_of(join)
        for skips, needed in zip(
            summary.excludes(bounds_of(known, join.table.columns[0]), null_safe=join.null_safe[0]),
            join.partnered(table),
            strict=True,
        )
    )


def lost_by_condition(join: Join, terms_max: int | None = None) -> bool:
    """Likewise, whether `condition` is NONE of one."""
    key, null_safe = join.table.columns[0], join.null_safe[0]
    condition = summarised(join).condition(key, null_safe=null_safe, terms_max=terms_max)
    return any(
        skips and needed
        for table, known in blocks_of(join)
        for skips, needed in zip(unsatisfied(condition, known), join.partnered(table), strict=True)
    )


def blocks_of(join: Join) -> list[tuple[Table, pa.Table]]:
    """The probe side as it is known, and with a block of known bounds for each row."""
    singled = join.singled
    return [(join.table, join.known), *([(singled, metadata_of(singled))] if singled.blocks else [])]


@examples(3)
@given(joins())
def test_bounds_lose_no_row_with_a_partner(join: Join) -> None:
    """JOIN-1. A block that `excludes` calls True has no row with a partner."""
    summary = summarised(join)
    event(f"form {summary.form.name}")
    assert not lost_by_bounds(join)
    assert summary.byte_count <= join.bytes_max


@examples(2)
@given(joins(), st.none() | st.integers(0, 3))
def test_conditions_lose_no_row_with_a_partner(join: Join, terms_max: int | None) -> None:
    """JOIN-1. A row, or a block, on which `condition` is not TRUE has no partner."""
    assert not lost_by_condition(join, terms_max)


@examples(2)
@given(joins(parts_max=4), st.randoms(use_true_random=False))
def test_the_order_of_merging_loses_nothing(join: Join, order: object) -> None:
    """JOIN-1, of parts in any order, merged in any shape of tree."""
    each = [summarised(replace(join, parts=(part,))) for part in join.parts]
    while len(each) > 1:
        order.shuffle(each)  # type: ignore[attr-defined]
        each.append(each.pop().merge(each.pop()))
    skipped = each[0].excludes(bounds_of(join.known, join.table.columns[0]), null_safe=join.null_safe[0])
    assert not (skipped & np.array(join.partnered(join.table))).any()
    assert each[0].byte_count <= join.bytes_max


@examples(2)
@given(joins())
def test_bounds_exclude_what_the_condition_excludes(join: Join) -> None:
    """JOIN-2. `excludes` is NONE of `condition` without filters and with known bounds, else no less."""
    summary, key, null_safe = summarised(join), join.table.columns[0], join.null_safe[0]
    by_condition = unsatisfied(summary.condition(key, null_safe=null_safe), join.known)
    by_bounds = summary.excludes(bounds_of(join.known, key), null_safe=null_safe).tolist()
    if summary.filter is None and summary.ranges is not None:
        assert by_bounds == by_condition
    assert not any(one and not other for one, other in zip(by_condition, by_bounds, strict=True))


def wrong_rows(join: Join) -> list[int]:
    """The rows that an exact summary skips although they have a partner, or keeps although they have none."""
    summary, rows = summarised(join), join.singled
    if not rows.blocks:
        return []
    known = bounds_of(metadata_of(rows), join.table.columns[0])
    skipped = summary.excludes(known, null_safe=join.null_safe[0])
    return np.flatnonzero(skipped == np.array(join.partnered(rows))).tolist()


@examples(2)
@given(joins(parts_max=2, budgets=(10_000,)))
def test_an_exact_summary_skips_each_row_without_a_partner(join: Join) -> None:
    """JOIN-3. With every value known, a row is skipped exactly if it has no partner; merged parts too."""
    assert not wrong_rows(join)


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
            if self.form is Form.EMPTY
            else right(self, bounds, null_safe=null_safe)
        )

    monkeypatch.setattr(KeySummary, "excludes", excludes)


def _forgets_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    right = KeySummary._fitted
    monkeypatch.setattr(KeySummary, "_fitted", lambda self: replace(right(self), has_nan=False))


def _zeros_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values as they are, ordered by their bits."""

    def bits(lanes: pa.Array) -> np.ndarray:
        number = lanes.fill_null(0).to_numpy().astype(np.float64).view(np.int64)
        return np.where(number < 0, np.int64(-(2**63)) - number - 1, number)

    def below(places: pa.Array, bound: pa.Array) -> np.ndarray:
        return np.searchsorted(np.sort(bits(places)), bits(bound)) * bound.is_valid().to_numpy(
            zero_copy_only=False
        )

    monkeypatch.setattr(ranged, "_below", below)
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
    right = ranged._below

    def below(places: pa.Array, bound: pa.Array) -> np.ndarray:
        equal = pc.fill_null(pc.is_in(bound, value_set=places), False).to_numpy(zero_copy_only=False)
        return right(places, bound) + (equal & bound.is_valid().to_numpy(zero_copy_only=False))

    monkeypatch.setattr(ranged, "_below", below)


def _unknown_lower_is_high(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ranged._below
    monkeypatch.setattr(ranged, "_below", lambda places, bound: right(places, bound.fill_null(2**31 - 1)))


def _unknown_upper_is_low(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranged.kernels, "unless_excluded", lambda found: pc.fill_null(found, False))


def _between_without_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def between(key: Expression, lower: Literal, upper: Literal) -> Expression:
        return And((Compare(Comparison.AT_LEAST, key, lower), Compare(Comparison.LESS, key, upper)))

    monkeypatch.setattr(summary_keys, "_between", between)


def _last_range_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Ranges.within_bytes

    def within(self: Ranges, bytes_max: int) -> Ranges | None:
        kept = right(self, bytes_max)
        return kept and Ranges(kept.lowers[:-1], kept.uppers[:-1]) if kept and len(kept) > 1 else kept

    monkeypatch.setattr(Ranges, "within_bytes", within)


def _last_candidate_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    right = filters._steps

    def steps(*bounds: object) -> np.ndarray:
        found = right(*bounds)
        return np.where((found > 0) & (found < filters._MANY), found - np.uint64(1), found)

    monkeypatch.setattr(filters, "_steps", steps)


def _many_candidates_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    right = filters._steps
    monkeypatch.setattr(filters, "_steps", lambda *bounds: np.minimum(right(*bounds), np.uint64(0)))


def _texts_are_their_lower_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "_steps", lambda lower, upper, type_: np.zeros(len(lower), np.uint64))


def _filter_of_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_keys, "_united", lambda one, other, _: one.filter or other.filter)


def _filters_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "united", lambda one, other, _: other)


# Budgets that lead to ranges, and to filters.
RANGED, FILTERED = (16, 32, 48), (72, 100, 144, 300)
# Each is a plausible mistake, the type with which it is looked for, and the budgets.
TWINS = {
    "NULL-safe equality forgets NULL": (_forgets_null, INTEGER, BUDGETS),
    "the condition forgets NULL": (_condition_forgets_null, INTEGER, BUDGETS),
    "no value is taken for no row": (_empty_excludes_all, INTEGER, BUDGETS),
    "NaN is dropped": (_forgets_nan, DOUBLE, BUDGETS),
    "the two zeros differ": (_zeros_differ, DOUBLE, BUDGETS),
    "merging overwrites": (_merge_overwrites, INTEGER, BUDGETS),
    "merging drops NULL": (_merge_drops_null, INTEGER, BUDGETS),
    "ranges that overlap stay apart": (_overlapping_stay_apart, INTEGER, RANGED),
    "the lower end of a range is cut": (_lower_end_cut, INTEGER, BUDGETS),
    "the upper end of a range is cut": (_upper_end_cut, INTEGER, BUDGETS),
    "an unknown lower bound is above all": (_unknown_lower_is_high, INTEGER, BUDGETS),
    "an unknown upper bound is below all": (_unknown_upper_is_low, INTEGER, BUDGETS),
    "BETWEEN without its end": (_between_without_ends, INTEGER, RANGED),
    "the last range is dropped": (_last_range_dropped, INTEGER, RANGED),
    "the upper end is not looked up": (_last_candidate_skipped, INTEGER, FILTERED),
    "only the first candidate is looked up": (_many_candidates_cut, INTEGER, FILTERED),
    "only the lower end of texts is looked up": (_texts_are_their_lower_ends, STRING, FILTERED),
    "the filter of one part is that of all": (_filter_of_one_part, INTEGER, FILTERED),
    "filters overwrite each other": (_filters_overwritten, INTEGER, FILTERED),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_summary_with_a_mistake_is_seen(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """JOIN-1 kills each broken twin."""
    break_it, type_, budgets = TWINS[twin]
    break_it(monkeypatch)
    lost = (
        lost_by_condition if break_it in (_condition_forgets_null, _between_without_ends) else lost_by_bounds
    )
    find(joins([type_], budgets=budgets), lost, settings=unshrunk(4_000))


@pytest.mark.parametrize("safe", [True, False])
def test_a_summary_that_keeps_too_much_is_seen(safe: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """JOIN-3 kills a summary in which NULL equals NULL always, and one that excludes nothing."""
    right = KeySummary.excludes

    def excludes(self: KeySummary, bounds: KeyBounds, *, null_safe: bool) -> np.ndarray:
        return right(self, bounds, null_safe=True) if safe else np.zeros(len(bounds), bool)

    monkeypatch.setattr(KeySummary, "excludes", excludes)
    find(joins([INTEGER], budgets=(10_000,)), lambda join: bool(wrong_rows(join)), settings=unshrunk(2_000))


def skipped(join: Join, summary: KeySummary) -> np.ndarray:
    """The blocks with rows that a summary skips."""
    rows = np.array([bool(block) for block in join.table.blocks])
    return summary.excludes(bounds_of(join.known, join.table.columns[0]), null_safe=join.null_safe[0]) & rows


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("form", Form)
def test_joins_reaches_each_form_that_skips_a_block(form: Form, parts: int) -> None:
    """Without this, JOIN-1 could hold because nothing is ever skipped; merged summaries too."""

    def reached(join: Join) -> bool:
        summary = summarised(join)
        return len(join.parts) == parts and summary.form is form and bool(skipped(join, summary).any())

    find(joins([INTEGER], parts_max=2), reached, settings=unshrunk(4_000))


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_joins_reaches_blocks_that_each_type_skips(type_: types.Type) -> None:
    find(
        joins([type_], parts_max=1),
        lambda join: bool(skipped(join, summarised(join)).any()),
        settings=unshrunk(4_000),
    )


@pytest.mark.parametrize("type_", [INTEGER, STRING], ids=str)
def test_joins_reaches_blocks_that_only_the_filter_skips(type_: types.Type) -> None:
    def reached(join: Join) -> bool:
        summary = summarised(join)
        alone = skipped(join, replace(summary, filter=None))
        return summary.form is Form.BLOOM and bool((skipped(join, summary) & ~alone).any())

    find(joins([type_], budgets=FILTERED, parts_max=1), reached, settings=unshrunk(4_000))


def test_joins_reaches_a_block_in_a_gap() -> None:
    def reached(join: Join) -> bool:
        summary = summarised(join)
        hull = replace(summary, ranges=summary.ranges and summary.ranges.within_count(1))
        return summary.form is Form.RANGES and bool((skipped(join, summary) & ~skipped(join, hull)).any())

    find(joins([INTEGER], budgets=RANGED, parts_max=1), reached, settings=unshrunk(4_000))


def longs(*values: int | None) -> pa.Array:
    """Values of a bigint key."""
    return pa.array(values, pa.int64())


def many(step: int, count: int = 1_000) -> pa.Array:
    """Values of a bigint key, each so far from the one before."""
    return longs(*range(0, step * count, step))


@pytest.mark.parametrize(
    ("values", "bytes_max", "form", "line"),
    [
        (longs(), 0, Form.EMPTY, "no value, 0 bytes"),
        (longs(None), 0, Form.EMPTY, "no value, 0 bytes, with NULL"),
        (longs(1, 3, 3, 8, 9, 1), 40, Form.EXACT, "exact set of 4 values, 32 bytes"),
        (longs(7), 8, Form.EXACT, "exact set of 1 value, 8 bytes"),
        (many(1), 16, Form.RANGE, "exact 1 range of 1,000 values, 16 bytes"),
        (many(3), 16, Form.RANGE, "1 range of 1,000 values, 16 bytes"),
        (many(3), 160, Form.RANGES, "10 ranges of 1,000 values, 160 bytes"),
        (many(3), 4_096, Form.BLOOM, "bloom filter of 1,000 values in 128 ranges, 4,096 bytes"),
        (many(3), 8, Form.RANGE, "unknown bounds of 1,000 values, 0 bytes"),
    ],
)
def test_the_form_is_the_most_exact_one_that_fits(
    values: pa.Array, bytes_max: int, form: Form, line: str
) -> None:
    summary = summarise(LONG, values, bytes_max=bytes_max)

    assert (summary.form, summary.describe()) == (form, line)


def test_the_widest_gaps_are_kept() -> None:
    summary = summarise(LONG, longs(1, 2, 9, 50, 54, 900, -(2**63), 2**63 - 1), bytes_max=48)

    assert summary.ranges is not None
    assert list(zip(summary.ranges.lowers.to_pylist(), summary.ranges.uppers.to_pylist(), strict=True)) == [
        (-(2**63), -(2**63)),
        (1, 900),
        (2**63 - 1, 2**63 - 1),
    ]


def test_texts_are_apart_by_the_bytes_that_they_do_not_share() -> None:
    texts = [f"a long beginning {number}" for number in (10, 11, 12, 77, 78)]
    ranges = ranged.points(pa.array(texts), STRING).within_bytes(100)

    assert ranges is not None
    assert [text[-2:] for text in ranges.lowers.to_pylist()] == [b"10", b"77"]


def test_conditions_are_lists_and_ranges() -> None:
    summary = summarise(LONG, longs(1, 5, 6, 7, 20, None), bytes_max=1_000)

    assert summary.condition(A, null_safe=False) == In(
        A, tuple(Literal(one, LONG) for one in (1, 5, 6, 7, 20))
    )
    ranges, null = summary.condition(A, null_safe=True, terms_max=2), summary.condition(A, null_safe=True)
    assert isinstance(ranges, Or)
    assert isinstance(null, Or)
    assert len(ranges.operands) == 3
    assert null.operands[1] == IsNull(A)


def test_no_row_of_an_empty_build_side_is_a_partner() -> None:
    summary = summarise(LONG, longs(None), bytes_max=16)

    assert summary.condition(A, null_safe=False) == Literal(False, types.BOOLEAN)
    assert summary.condition(A, null_safe=True) == IsNull(A)


def test_both_zeros_are_one_value_and_nan_is_none() -> None:
    summary = summarise(DOUBLE, pa.array([0.0, -0.0, NAN]), bytes_max=8)

    assert (summary.form, summary.value_count, summary.has_nan) == (Form.EXACT, 1, True)


def test_keys_of_other_types_are_not_asked() -> None:
    summary = summarise(LONG, longs(1), bytes_max=16)
    bounds = bounds_of(metadata_of(find(joins([INTEGER]), lambda join: True).table), Column("a", INTEGER))

    assert summary.condition(X, null_safe=False) == Literal(True, types.BOOLEAN)
    assert not summary.excludes(bounds, null_safe=False).any()


def test_values_that_have_no_order_have_no_summary() -> None:
    with pytest.raises(InputError, match="no known order"):
        summarise(types.unknown("string collate UTF8_LCASE"), pa.array(["a"]), bytes_max=16)
    with pytest.raises(InputError, match="int64 here, not int32"):
        summarise(LONG, pa.array([1], pa.int32()), bytes_max=16)
    with pytest.raises(InputError, match="cannot be merged"):
        summarise(LONG, longs(1), bytes_max=16).merge(
            summarise(INTEGER, pa.array([1], pa.int32()), bytes_max=16)
        )


@pytest.mark.parametrize("type_", [INTEGER, STRING, DATE], ids=str)
def test_a_filter_finds_each_of_its_values(type_: types.Type) -> None:
    """The place of a hash is the one that `bloom.built` gives it, in filters of every size."""
    numbers = range(0, 3_000, 3)
    values = pa.array([str(one).encode() for one in numbers] if type_ == STRING else numbers)
    lanes = values if type_ == STRING else values.cast(pa.int32())
    for size_bytes in (32, 64, 4_096):
        filter_ = filters.built(lanes, type_, size_bytes)
        assert filters.contains(filter_, lanes, type_).all()
    absent = (
        pa.array([f"{one}x".encode() for one in numbers])
        if type_ == STRING
        else pc.add(lanes, 1).cast(lanes.type)
    )
    assert filters.contains(filter_, absent, type_).mean() < 0.03


FEW, MORE = longs(*range(0, 60, 3)), longs(*range(1_000, 3_000, 10))


def united(bytes_max: int) -> bytes:
    """A filter of few values and a larger one of more, as one of 256 bytes."""
    filter_ = filters.united(filters.built(MORE, LONG, 512), filters.built(FEW, LONG, 256), bytes_max)
    assert filter_ is not None
    assert len(filter_) == 256
    return filter_


def test_filters_of_two_sizes_hold_the_values_of_both_when_united() -> None:
    assert filters.contains(united(300), pa.concat_arrays([FEW, MORE]), LONG).all()


def test_filters_that_are_folded_from_afar_lose_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin: blocks are folded as a rest would choose them, not as an upper half does."""

    def folded(filter_: bytes, size_bytes: int) -> np.ndarray:
        return np.bitwise_or.reduce(np.frombuffer(filter_, "<u4").reshape(-1, size_bytes // 32, 8), axis=0)

    monkeypatch.setattr(filters, "_folded", folded)
    assert not filters.contains(united(300), MORE, LONG).all()


def test_filters_that_would_be_too_small_or_too_full_are_none() -> None:
    small = filters.built(FEW, LONG, 32), filters.built(MORE, LONG, 32)

    assert filters.united(*small, bytes_max=31) is None
    assert filters.united(*small, bytes_max=32) is None


def test_chunks_are_one_column() -> None:
    chunked = pa.chunked_array([longs(1, 2), longs(), longs(None, 9)])

    assert summarise(LONG, chunked, bytes_max=99) == summarise(LONG, longs(1, 2, None, 9), bytes_max=99)
