"""LIMIT-1, LIMIT-2: enough rows are read, and where some blocks are sure, the fewest."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from limit_cases import LimitCase, limit_cases, run, short_of_rows
from searches import find

from mutants.row_limits import LIMIT_MERGE_FORGETS, ROWS_COUNT_TWICE
from pruning.rules.sets.truths import Match
from pruning.techniques.limit import LimitPruning, fewest_blocks


@examples(4)
@given(limit_cases())
def test_enough_rows_are_read_whoever_reads_them(case: LimitCase) -> None:
    """LIMIT-1. At the end at least min(wanted, matching) rows were read, and no block without rows."""
    read = run(case)
    event("all sure" if case.machine().has_enough else "not all sure")
    assert case.rows_of(list(read)) >= min(case.wanted, case.matching)


def sure_sets(case: LimitCase) -> list[tuple[int, ...]]:
    """Every set of ALL blocks whose live rows are as many as wanted."""
    sure = [block for block, match in enumerate(case.matches) if match == Match.ALL]
    return [
        chosen
        for size in range(len(sure) + 1)
        for chosen in itertools.combinations(sure, size)
        if sum(case.blocks[block][0] for block in chosen) >= case.wanted
    ]


@examples(4)
@given(limit_cases())
def test_no_set_of_sure_blocks_is_smaller_than_the_fewest(case: LimitCase) -> None:
    """LIMIT-2. Brute force over sets finds none, or no smaller one."""
    found, sets = fewest_blocks(*case.arrays(), case.wanted), sure_sets(case)
    assert case.machine().has_enough is bool(sets)
    if found is None:
        assert not sets
    else:
        assert len(found) == len(set(found.tolist())) == min(map(len, sets))
        assert tuple(sorted(found.tolist())) in sets
        assert case.machine().next_blocks().tolist() == found.tolist()


@examples(4)
@given(limit_cases())
def test_a_block_that_gives_no_row_is_not_asked_for(case: LimitCase) -> None:
    machine = case.machine()
    assert all(
        case.matches[block] != Match.NONE and case.blocks[block][0] for block in machine.scan_set.tolist()
    )
    assert machine.next_blocks().tolist() == machine.scan_set[: len(machine.next_blocks())].tolist()


def started(matches: list[Match], row_counts: list[int], wanted: int) -> LimitPruning:
    """The technique over a few blocks."""
    return LimitPruning(np.array(matches, np.int8), np.array(row_counts), wanted=wanted)


def test_limit_0_reads_nothing() -> None:
    machine = started([Match.ALL, Match.SOME], [5, 5], 0)

    assert machine.scan_set.tolist() == machine.next_blocks().tolist() == []


def test_the_largest_sure_block_alone_is_read_where_it_is_enough() -> None:
    machine = started([Match.ALL, Match.SOME, Match.ALL], [3, 99, 7], 6)

    assert machine.has_enough
    assert machine.scan_set.tolist() == [2]


def test_sure_blocks_that_are_too_few_go_first_then_ever_more_of_the_others() -> None:
    machine = started([Match.SOME] * 6 + [Match.ALL, Match.ALL], [5] * 6 + [1, 2], 100)
    waves = []
    while len(wave := machine.next_blocks()):
        waves.append(wave.tolist())
        machine.observe(wave, 0)

    assert waves == [[7, 6], [0, 1, 2], [3, 4, 5]]


def test_no_more_is_read_once_enough_rows_were_seen() -> None:
    machine = started([Match.SOME] * 5, [5] * 5, 4)
    machine.observe(np.array([0, 3]), 4)

    assert not len(machine.scan_set)


def test_rows_of_a_block_that_two_workers_read_count_once() -> None:
    one, other = started([Match.SOME] * 3, [2] * 3, 4), started([Match.SOME] * 3, [2] * 3, 4)
    one.observe(np.array([0]), 2)
    other.observe(np.array([0]), 2)
    one.merge(other)
    one.merge(other)

    assert one.scan_set.tolist() == [1, 2]


def test_unknown_row_counts_are_read_and_never_counted() -> None:
    machine = started([Match.ALL, Match.ALL], [-1, 2], 5)

    assert not machine.has_enough
    assert machine.scan_set.tolist() == [1, 0]


def every_match(case: LimitCase) -> LimitPruning:
    """SOME is taken as ALL."""
    matches, row_counts = case.arrays()
    return LimitPruning(np.where(matches == Match.SOME, Match.ALL, matches), row_counts, wanted=case.wanted)


def with_dead_rows(case: LimitCase) -> LimitPruning:
    """Row counts are those of the file."""
    matches, row_counts = case.arrays()
    return LimitPruning(matches, row_counts + [dead for _, _, dead in case.blocks], wanted=case.wanted)


def without_offset(case: LimitCase) -> LimitPruning:
    """Only LIMIT is wanted."""
    return replace(case, offset=0).machine()


def short_at_first(case: LimitCase, broken: Callable[[LimitCase], LimitPruning]) -> bool:
    """Whether what is planned to be read, if nothing were observed, has too few rows."""
    machine = broken(case)
    return case.rows_of(machine.scan_set.tolist()) < min(case.wanted, case.matching)


@pytest.mark.parametrize("broken", [every_match, with_dead_rows, without_offset])
def test_a_plan_that_counts_wrongly_is_seen(broken: Callable[[LimitCase], LimitPruning]) -> None:
    find(limit_cases(), lambda case: short_at_first(case, broken), settings=unshrunk(5_000))


@examples(4)
@given(limit_cases())
def test_what_is_planned_has_enough_rows_without_observing(case: LimitCase) -> None:
    assert not short_at_first(case, LimitCase.machine)


def test_a_query_without_its_offset_is_seen_to_the_end() -> None:
    find(
        limit_cases(),
        lambda case: short_of_rows(case, lambda: without_offset(case)),
        settings=unshrunk(5_000),
    )


def test_a_merge_that_forgets_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*LIMIT_MERGE_FORGETS)
    find(limit_cases(), short_of_rows, settings=unshrunk(5_000))


def test_a_row_that_counts_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*ROWS_COUNT_TWICE)
    find(limit_cases(), short_of_rows, settings=unshrunk(5_000))


def test_the_cases_reach_sure_and_unsure_scans_that_skip() -> None:
    for sure in (True, False):
        find(
            limit_cases(),
            lambda case, sure=sure: (
                case.machine().has_enough is sure and 0 < len(run(case)) < sum(m > 0 for m in case.matches)
            ),
            settings=unshrunk(5_000),
        )
