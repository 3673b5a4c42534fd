"""Counts and sums of held groups, adjusted by changes, are those of full evaluation."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from maintaining import query, whole

from dynamic_tables.bags import adjustments
from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.storage.netting import apply, difference
from dynamic_tables.values.changes import Cell, Contents, Delta, Row
from dynamic_tables.values.errors import Overflow
from mutants.differentiation import HELD_MUTANTS
from strategies.dynamic.cases import drawn_case, interval_outcomes
from strategies.dynamic.contents import IntervalChanges
from strategies.dynamic.queries import drawn_counts, drawn_group

SEEDS = 250
SEEDS_DEEP = 40_000


def first_finding(backend: BagBackend, seeds: int, draw: Any = drawn_counts) -> str | None:
    """The first wrong outcome of many cases; None if there is none."""
    for seed in range(seeds):
        random = Random(seed)
        case = drawn_case(random, 1 + seed % 3, draw)
        for outcome in interval_outcomes(random, case, backend, held=True):
            if outcome.finding is not None:
                return f"seed {seed}: {outcome}"
    return None


def test_adjusted_groups_agree_with_full_evaluation(deep: bool) -> None:
    """DIFF-7. Of counts and sums alone, and of all other groups, which are recomputed."""
    seeds = SEEDS_DEEP if deep else SEEDS
    assert first_finding(BagBackend(), seeds) is None
    assert first_finding(BagBackend(), seeds // 2, drawn_group) is None


@pytest.mark.parametrize("mutant", HELD_MUTANTS)
def test_a_mutant_of_the_rule_is_found_out(mutant: str) -> None:
    """DIFF-7 can fail."""
    draw = drawn_group if "doubles" in mutant else drawn_counts
    assert first_finding(HELD_MUTANTS[mutant], SEEDS, draw) is not None


def test_sums_that_lose_cells_must_not_be_adjusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """DIFF-7 can fail: a sum of no cells is NULL, not 0."""

    def compile_adjust(aggregate: Any) -> adjustments.Adjust:
        value = adjustments.compile_aggregate(aggregate)

        def run(cell: Any, deleted: Sequence[Row], inserted: Sequence[Row]) -> Cell:
            return (cell or 0) - (value(deleted) or 0) + (value(inserted) or 0)

        return run

    monkeypatch.setattr(adjustments, "compile_adjust", compile_adjust)
    assert first_finding(BagBackend(), SEEDS) is not None


def test_cases_reach_groups_that_are_sure_and_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most changed groups are adjusted; some are recomputed, and some disappear."""
    counts = Counter[str]()
    original = adjustments.compile_adjustment

    def compile_adjustment(relation: Any, places: Any) -> Any:
        run = original(relation, places)

        def count_outcomes(interval: Any, changes: Any) -> Any:
            adjusted, unadjusted = run(interval, changes)
            counts["adjusted"] += len(adjusted[1])
            counts["unadjusted"] += len(unadjusted[0])
            counts["gone"] += len(adjusted[0]) > len(adjusted[1])
            return adjusted, unadjusted

        return count_outcomes

    monkeypatch.setattr("dynamic_tables.bags.changes.compile_adjustment", compile_adjustment)
    assert first_finding(BagBackend(), 60) is None
    assert counts["adjusted"] > counts["unadjusted"] > 50
    assert counts["gone"] > 10


TEXT = "SELECT SUM(n) total, COUNT(*) rows_, k FROM n GROUP BY k"


def changes_of(text: str, before: Contents, after: Contents, held: Contents | None = None) -> Delta:
    """The changes of a query of the table n, and the result that they lead to."""
    backend, bound = BagBackend(), query(text)
    old, new = whole({"n": before}), whole({"n": after})
    sources = {name: IntervalChanges(old[name], new[name], difference(old[name], new[name])) for name in old}
    result = dict(backend.full(bound, old))
    delta = backend.changes(bound, sources, result if held is None else held)
    apply(result, delta)
    assert result == backend.full(bound, new)
    return delta


class Unread(dict[str, Row]):
    """Contents that nobody may read."""

    def items(self) -> Any:
        raise AssertionError("the source is read")


def test_a_sure_group_reads_no_source() -> None:
    """Updates, insertions and a group that goes, with COUNT(*) beside the sum."""
    before = {"1": (1, 5, "x"), "2": (1, 7, "x"), "3": (2, 1, "x")}
    after = {"1": (1, 6, "x"), "2": (1, 7, "x"), "4": (1, -9, "x")}
    backend, bound = BagBackend(), query(TEXT)
    sources = {"N": IntervalChanges(Unread(before), Unread(after), difference(before, after))}
    delta = backend.changes(bound, sources, backend.full(bound, whole({"n": before})))
    assert [(change.action.value, change.row) for change in delta] == [
        ("DELETE", (12, 2, 1)),
        ("DELETE", (1, 1, 2)),
        ("INSERT", (4, 3, 1)),
    ]


def test_a_group_that_may_have_no_numbers_left_is_recomputed() -> None:
    before = {"1": (1, 5, "x"), "2": (1, None, "x")}
    delta = changes_of(TEXT, before, {"2": (1, None, "x")})
    assert [change.row for change in delta] == [(5, 2, 1), (None, 1, 1)]


def test_sums_of_too_many_digits_fail_as_full_evaluation_does() -> None:
    before, more = {"1": (1, 10**38 - 1, "x")}, {"2": (1, 1, "x")}
    with pytest.raises(Overflow, match="more than 38 digits"):
        changes_of(TEXT, before, {**before, **more})
