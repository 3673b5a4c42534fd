"""Definitions that are written by hand, and drawn ones, over base tables with eight intervals of writes."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from as_duckdb import same_bag
from definition_sets import (
    LETTERS_HISTORY,
    SHOP_HISTORY,
    Definition,
    drawn_definitions,
    written_definitions,
)
from second_opinions import SecondOpinion

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.values.cells import exact_key
from mutants.differentiation import HELD_MUTANTS, MUTANTS
from strategies.dynamic.base_tables import WriteHistory, interval_changes
from strategies.dynamic.cases import IntervalOutcome, maintain_interval
from strategies.dynamic.shop_tables import shop_history

# Seeds of writes to the tables of the shop.
SEEDS = (1, 2, 3)
# The rows of hand-written definitions depend on no order of ties.
TIES = "window whose ties are as rows come (23)"
Definitions = Callable[[], tuple[Definition, ...]]
# The definitions, their history, and the least number that DuckDB has an opinion on.
SETS: dict[str, tuple[Definitions, WriteHistory, int]] = {
    "written": (written_definitions, SHOP_HISTORY, len(written_definitions())),
    "drawn": (drawn_definitions, LETTERS_HISTORY, 24),
}


def wrong_outcomes(
    definition: Definition, history: WriteHistory, backend: BagBackend, *, held: bool = False
) -> list[IntervalOutcome]:
    """Return the outcomes of intervals in which a backend's changes do not give the full result.

    Args:
        definition, history, backend: As their types say.
        held: Whether the backend gets the result before each interval.
    """
    versions, right, query = history.versions(), BagBackend(), definition.query
    results = [right.full(query, version) for version in versions]
    outcomes = [
        maintain_interval(
            query, backend, interval_changes(*ends), dict(before), after, before if held else None
        )
        for ends, (before, after) in zip(pairwise(versions), pairwise(results), strict=True)
    ]
    return [outcome for outcome in outcomes if outcome.finding is not None]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_changes_of_definitions_in_sql_agree_with_full_evaluation(seed: int, held: bool) -> None:
    """DIFF-1, for definitions that are written by hand, row ids included."""
    history, backend = shop_history(seed), BagBackend()
    for definition in written_definitions():
        assert wrong_outcomes(definition, history, backend, held=held) == [], definition.text


@pytest.mark.parametrize("held", [False, True])
def test_changes_of_drawn_definitions_in_sql_agree_with_full_evaluation(held: bool) -> None:
    """DIFF-1, for the SQL of drawn relations."""
    backend = BagBackend()
    for definition in drawn_definitions():
        assert wrong_outcomes(definition, LETTERS_HISTORY, backend, held=held) == [], definition.text


def test_drawn_definitions_mean_the_relations_that_they_were_drawn_as() -> None:
    """Their SQL is bound to a relation that has the same rows."""
    backend, versions = BagBackend(), LETTERS_HISTORY.versions()
    for definition in drawn_definitions():
        assert definition.relation is not None
        queries = definition.query, Query(definition.relation)
        for version in versions:
            ours, theirs = (
                Counter(map(exact_key, backend.full(query, version).values())) for query in queries
            )
            assert ours == theirs, definition.text


@pytest.mark.parametrize("name", SETS)
def test_definitions_in_sql_agree_with_duckdb(name: str) -> None:
    """DIFF-2, for all that are written by hand, and for the drawn ones that DuckDB can compute."""
    definitions, history, least = SETS[name]
    agreed = Counter[str]()
    for version in history.versions():
        opinion, backend = SecondOpinion(version), BagBackend()
        for definition in definitions():
            theirs = opinion.rows(definition)
            if theirs is not None:
                ours = list(backend.full(definition.query, version).values())
                assert same_bag(ours, theirs), definition.text
                agreed[definition.name] += 1
    assert len(agreed) >= least
    assert set(agreed.values()) == {len(history.intervals)}


def is_wrong_somewhere(backend: BagBackend, *, held: bool) -> bool:
    """Tell whether some definition that is written by hand shows that a backend is wrong."""
    return any(
        wrong_outcomes(definition, shop_history(seed), backend, held=held)
        for seed in SEEDS
        for definition in written_definitions()
    )


@pytest.mark.parametrize("name", [name for name in MUTANTS if name != TIES])
def test_definitions_written_by_hand_kill_each_mutant_of_maintenance(name: str) -> None:
    """DIFF-1 can fail, in rules and where keys are looked for."""
    assert is_wrong_somewhere(MUTANTS[name], held=False)


def test_definitions_written_by_hand_kill_a_mutant_of_held_results() -> None:
    """DIFF-1 can fail, where the result before is at hand."""
    assert is_wrong_somewhere(HELD_MUTANTS["columns are not looked for"], held=True)
