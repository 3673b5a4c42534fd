"""JOIN-4: a block that the summary of several keys skips has no row that equals a build row in each."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from joining import Join, all_summarised, bounds_of, joins, metadata_of, unsatisfied
from searches import find

from mutants.joins.join_summaries import MUTANTS, ROWS_WITHOUT_PARTNER
from pruning.errors import InputError
from pruning.expressions import types
from pruning.expressions.trees import And, Column, Expression, In, IsNull, Literal, Or
from pruning.expressions.types import BOOLEAN, INTEGER, LONG
from pruning.techniques.join.summaries import JoinSummary, SummaryParts, summarise_keys
from pruning.techniques.plan.keys import KeyBounds
from strategies.base.values import TYPES

A, B = Column("a", LONG), Column("b", LONG)
ALL = (True, True)


def lost(join: Join, seen: tuple[bool, ...] = ALL) -> bool:
    """Whether a block with a partner is skipped, where only some of the keys are seen."""
    summary = all_summarised(join)
    keys = [column if shown else None for column, shown in zip(join.table.columns, seen, strict=True)]
    skips = np.array(unsatisfied(summary.condition(keys, join.null_safe), join.known))
    if any(seen):
        skips |= excluded(join, summary, seen)
    return bool((skips & np.array(join.partnered(join.table))).any())


def excluded(join: Join, summary: JoinSummary, seen: tuple[bool, ...] = ALL) -> np.ndarray:
    """The blocks that a summary skips by their bounds."""
    bounds = [
        bounds_of(join.known, column) if shown else None
        for column, shown in zip(join.table.columns, seen, strict=True)
    ]
    return summary.excludes(bounds)


@examples(3)
@given(joins(keys=2), st.tuples(st.booleans(), st.booleans()))
def test_no_row_with_a_partner_in_every_key_is_lost(join: Join, seen: tuple[bool, bool]) -> None:
    """JOIN-4, whichever keys the probe scan sees."""
    summary = all_summarised(join)
    event(f"tuples: {summary.tuples is not None}, seen: {sum(seen)}")
    assert not lost(join, seen)
    assert summary.byte_count <= join.bytes_max


@examples(2)
@given(joins(keys=2))
def test_bounds_of_several_keys_exclude_what_the_condition_excludes(join: Join) -> None:
    """JOIN-2 of several keys: who has asked the bounds need not ask the condition."""
    summary = all_summarised(join)
    by_condition = np.array(unsatisfied(summary.condition(join.table.columns, join.null_safe), join.known))
    assert not (by_condition & ~excluded(join, summary)).any()


@examples(2)
@given(joins(keys=2, parts_max=1))
def test_rows_that_can_have_no_partner_change_nothing(join: Join) -> None:
    """A NULL in a key that is not NULL-safe leaves the whole row out of every part of the summary."""
    able = [
        row
        for row in join.build
        if all(value is not None or safe for value, safe in zip(row, join.null_safe, strict=True))
    ]
    one, other = all_summarised(replace(join, parts=(tuple(able),))), all_summarised(join)
    assert one.describe() == other.describe()
    assert one.condition(join.table.columns) == other.condition(join.table.columns)


@examples(2)
@given(joins(keys=2, budgets=(10_000,)))
def test_few_tuples_skip_each_row_without_a_partner(join: Join) -> None:
    """JOIN-5. With all tuples known, a row is skipped exactly if no build row equals it in every key."""
    assert not wrong_rows(join)


def wrong_rows(join: Join) -> list[int]:
    """The rows that known tuples skip wrongly, or keep wrongly."""
    summary, rows = all_summarised(join), join.singled
    if not rows.blocks or (summary.tuples is None and summary.row_count):
        return []
    exact = replace(join, table=rows, known=metadata_of(rows))
    return np.flatnonzero(excluded(exact, summary) == np.array(join.partnered(rows))).tolist()


def of_itself(join: Join) -> Join:
    """Each row of the probe side is a block, and has a partner in one of the parts; NULL equals NULL."""
    rows, parts = join.table.rows, len(join.parts)
    table = join.singled if rows else join.table
    return replace(
        join,
        table=table,
        known=metadata_of(table),
        parts=tuple(rows[part::parts] for part in range(parts)),
        null_safe=ALL,
    )


@examples(0.5)
@given(joins(keys=2).map(of_itself))
def test_no_row_is_lost_of_a_table_that_is_joined_with_itself(join: Join) -> None:
    """Without this, a mutant could die of what is no mistake of its own."""
    assert not lost(join)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_summary_of_keys_with_a_mistake_is_seen(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """JOIN-4 kills each mutant."""
    monkeypatch.setattr(*MUTANTS[mutant])
    type_ = types.DOUBLE if mutant == "tuples forget NaN" else INTEGER
    find(joins([type_], keys=2).map(of_itself), lost, settings=unshrunk(2_000))


def test_rows_without_a_partner_that_are_summarised_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """JOIN-5 kills a summary that takes up rows with NULL as if it were equal to NULL."""
    for replacement in ROWS_WITHOUT_PARTNER:
        monkeypatch.setattr(*replacement)
    find(
        joins([INTEGER], keys=2, budgets=(10_000,)),
        lambda join: bool(wrong_rows(join)),
        settings=unshrunk(2_000),
    )


def test_joins_reaches_blocks_that_only_tuples_skip() -> None:
    """Each key alone has a partner there, but not in one row."""

    def reached(join: Join) -> bool:
        summary = all_summarised(join)
        alone = excluded(join, replace(summary, tuples=None))
        return bool((excluded(join, summary) & ~alone).any())

    find(joins([INTEGER], keys=2), reached, settings=unshrunk(4_000))


@pytest.mark.parametrize("seen", [(True, False), (False, True), (True, True)])
def test_joins_reaches_blocks_that_the_keys_seen_skip(seen: tuple[bool, bool]) -> None:
    def reached(join: Join) -> bool:
        summary = all_summarised(join)
        return bool(summary.row_count) and bool(excluded(join, summary, seen).any())

    find(joins([INTEGER], keys=2), reached, settings=unshrunk(4_000))


def longs(*values: int | None) -> pa.Array:
    """Values of a bigint key."""
    return pa.array(values, pa.int64())


def in_(key: Expression, value: int) -> Expression:
    """`key IN (value)`."""
    return In(key, (Literal(value, LONG),))


def test_tuples_are_conditions_on_the_keys_together() -> None:
    summary = summarise_keys(
        [LONG, LONG], [longs(1, 1, 2), longs(5, 5, None)], null_safe=[False, True], bytes_max=400
    )

    assert summary.condition([A, B]) == Or((And((in_(A, 1), in_(B, 5))), And((in_(A, 2), IsNull(B)))))
    assert summary.condition([A, None]) == In(A, (Literal(1, LONG), Literal(2, LONG)))
    assert summary.condition([None, B], [False, True]) == Or((in_(B, 5), IsNull(B)))
    assert summary.condition([None, None]) == Literal(True, BOOLEAN)


def test_many_tuples_are_conditions_on_each_key() -> None:
    summary = summarise_keys([LONG, LONG], [longs(*range(200)), longs(*range(200))], bytes_max=64)

    assert summary.tuples is None
    assert isinstance(summary.condition([A, B]), And)
    assert (
        summary.describe()
        == "key 1: exact 1 range of 200 values, 16 bytes; key 2: exact 1 range of 200 values, 16 bytes"
    )


def test_a_build_side_without_rows_that_can_match_has_no_partner() -> None:
    summary = summarise_keys([LONG, LONG], [longs(1, None), longs(None, 1)], bytes_max=64)

    assert (summary.row_count, summary.describe()) == (0, "no row")
    assert summary.condition([None, None]) == Literal(False, BOOLEAN)


def test_a_key_of_no_known_order_is_left_out() -> None:
    collated = types.unknown("string collate UNICODE_CI")
    summary = summarise_keys([collated, LONG], [pa.array(["a", None]), longs(1, 2)], bytes_max=64)

    assert (summary.keys[0], summary.tuples) == (None, None)
    assert summary.condition([Column("s", collated), A]) == in_(A, 1)
    assert summary.merge(summary).condition([Column("s", collated), A]) == in_(A, 1)


def test_nothing_is_told_before_every_part_is_reported() -> None:
    parts, part = SummaryParts(2), summarise_keys([LONG], [longs(1)], bytes_max=64)

    assert parts.observe(1, part).observe(1, part).merge() is None
    merged = parts.observe(1, part).observe(0, part).merge()
    assert merged is not None
    assert (merged.row_count, merged.describe()) == (2, "exact set of 1 value, 8 bytes")
    with pytest.raises(InputError, match="none is number 2"):
        parts.observe(2, part)


def test_summaries_of_other_comparisons_are_refused() -> None:
    plain, safe = (summarise_keys([LONG], [longs(1)], null_safe=[one], bytes_max=64) for one in (False, True))

    with pytest.raises(InputError, match="merge summaries of one join"):
        plain.merge(safe)
    with pytest.raises(InputError, match="null_safe"):
        plain.condition([A], [True])
    with pytest.raises(InputError, match="There are 1 keys"):
        plain.condition([A, B])
    with pytest.raises(InputError, match="No key has bounds"):
        plain.excludes([None])


def test_keys_of_every_type_make_tuples() -> None:
    """Grouping works on the lanes of each type, and both zeros are one."""
    for type_ in TYPES:
        join = find(
            joins([type_], keys=2, parts_max=1, budgets=(10_000,)),
            lambda join: len(join.build) > 1 and all_summarised(join).tuples is not None,
            settings=unshrunk(1_000),
        )
        assert not lost(join)
    zeros = summarise_keys([types.DOUBLE] * 2, [pa.array([0.0, -0.0])] * 2, bytes_max=400)
    assert zeros.tuples is not None
    assert zeros.tuples.num_rows == 1


def nothing_known(blocks: int) -> KeyBounds:
    """Bounds that say nothing of bigint blocks."""
    yes, no = np.ones(blocks, bool), np.zeros(blocks, bool)
    unknown = pa.nulls(blocks, pa.int64())
    return KeyBounds(
        type=LONG,
        lower=unknown,
        upper=unknown,
        lower_exact=no,
        upper_exact=no,
        may_null=yes,
        may_nan=no,
        may_value=yes,
        null_counts=np.full(blocks, -1),
        nan_counts=np.full(blocks, 0),
    )


def test_unknown_bounds_exclude_nothing() -> None:
    summary = summarise_keys([LONG, LONG], [longs(1), longs(2)], bytes_max=400)

    assert not summary.excludes([nothing_known(3), None]).any()
    assert not summary.excludes([nothing_known(3), nothing_known(3)]).any()
