"""JOIN-1 to JOIN-3: a block that a summary of one key skips has no row with a partner on the build side."""

import math
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from joining import Join, bounds_of, joins, metadata_of, summarised, unsatisfied
from key_checks import FILTERED, RANGED, lost_by_bounds, lost_by_condition, wrong_rows
from searches import find

from mutants.joins.key_summaries import FOLDED_FROM_AFAR
from pruning.errors import InputError
from pruning.expressions import types
from pruning.expressions.trees import Column, In, IsNull, Literal, Or
from pruning.expressions.types import DATE, DOUBLE, INTEGER, LONG, STRING
from pruning.techniques.join import summary_filters as filters
from pruning.techniques.join import summary_ranges as ranged
from pruning.techniques.join.summaries import KeySummary, SummaryForm, summarise
from strategies.base.tables import Table
from strategies.base.values import TYPES

A, X, S = Column("a", LONG), Column("x", DOUBLE), Column("s", STRING)
NAN = math.nan


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
def test_the_order_of_merging_loses_nothing(join: Join, order: random.Random) -> None:
    """JOIN-1, of parts in any order, merged in any shape of tree."""
    each = [summarised(replace(join, parts=(part,))) for part in join.parts]
    while len(each) > 1:
        order.shuffle(each)
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


@examples(2)
@given(joins(parts_max=2, budgets=(10_000,)))
def test_an_exact_summary_skips_each_row_without_a_partner(join: Join) -> None:
    """JOIN-3. With every value known, a row is skipped exactly if it has no partner; merged parts too."""
    assert not wrong_rows(join)


def skipped(join: Join, summary: KeySummary) -> np.ndarray:
    """The blocks with rows that a summary skips."""
    rows = np.array([bool(block) for block in join.table.blocks])
    return summary.excludes(bounds_of(join.known, join.table.columns[0]), null_safe=join.null_safe[0]) & rows


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("form", SummaryForm)
def test_joins_reaches_each_form_that_skips_a_block(form: SummaryForm, parts: int) -> None:
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
        return summary.form is SummaryForm.BLOOM and bool((skipped(join, summary) & ~alone).any())

    # More bytes hold each value of most build sides, without a filter.
    find(joins([type_], budgets=FILTERED[:2], parts_max=1), reached, settings=unshrunk(10_000))


def test_joins_reaches_a_block_in_a_gap() -> None:
    def reached(join: Join) -> bool:
        summary = summarised(join)
        hull = replace(summary, ranges=summary.ranges and summary.ranges.within_count(1))
        return summary.form is SummaryForm.RANGES and bool(
            (skipped(join, summary) & ~skipped(join, hull)).any()
        )

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
        (longs(), 0, SummaryForm.EMPTY, "no value, 0 bytes"),
        (longs(None), 0, SummaryForm.EMPTY, "no value, 0 bytes, with NULL"),
        (longs(1, 3, 3, 8, 9, 1), 40, SummaryForm.EXACT, "exact set of 4 values, 32 bytes"),
        (longs(7), 8, SummaryForm.EXACT, "exact set of 1 value, 8 bytes"),
        (many(1), 16, SummaryForm.RANGE, "exact 1 range of 1,000 values, 16 bytes"),
        (many(3), 16, SummaryForm.RANGE, "1 range of 1,000 values, 16 bytes"),
        (many(3), 160, SummaryForm.RANGES, "10 ranges of 1,000 values, 160 bytes"),
        (many(3), 4_096, SummaryForm.BLOOM, "bloom filter of 1,000 values in 128 ranges, 4,096 bytes"),
        (many(3), 8, SummaryForm.RANGE, "unknown bounds of 1,000 values, 0 bytes"),
    ],
)
def test_the_form_is_the_most_exact_one_that_fits(
    values: pa.Array, bytes_max: int, form: SummaryForm, line: str
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

    assert (summary.form, summary.value_count, summary.has_nan) == (SummaryForm.EXACT, 1, True)


def test_keys_of_other_types_are_not_asked() -> None:
    summary = summarise(LONG, longs(1), bytes_max=16)
    key = Column("a", INTEGER)
    bounds = bounds_of(metadata_of(Table((key,), (((2,),), ((None,),)))), key)

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
    """The place of a hash is the one that `bloom.build_filter` gives it, in filters of every size."""
    numbers = range(0, 3_000, 3)
    values = pa.array([str(one).encode() for one in numbers] if type_ == STRING else numbers)
    lanes = values if type_ == STRING else values.cast(pa.int32())
    for size_bytes in (32, 64, 4_096):
        filter_ = filters.build_filter(lanes, type_, size_bytes)
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
    filter_ = filters.unite_filters(
        filters.build_filter(MORE, LONG, 512), filters.build_filter(FEW, LONG, 256), bytes_max
    )
    assert filter_ is not None
    assert len(filter_) == 256
    return filter_


def test_filters_of_two_sizes_hold_the_values_of_both_when_united() -> None:
    assert filters.contains(united(300), pa.concat_arrays([FEW, MORE]), LONG).all()


def test_filters_that_are_folded_from_afar_lose_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FOLDED_FROM_AFAR)
    assert not filters.contains(united(300), MORE, LONG).all()


def test_filters_that_would_be_too_small_or_too_full_are_none() -> None:
    small = filters.build_filter(FEW, LONG, 32), filters.build_filter(MORE, LONG, 32)

    assert filters.unite_filters(*small, bytes_max=31) is None
    assert filters.unite_filters(*small, bytes_max=32) is None


def test_chunks_are_one_column() -> None:
    chunked = pa.chunked_array([longs(1, 2), longs(), longs(None, 9)])

    assert summarise(LONG, chunked, bytes_max=99) == summarise(LONG, longs(1, 2, None, 9), bytes_max=99)
