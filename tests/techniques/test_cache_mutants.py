"""CACHE-1 kills caches that forget something, each in a world where that matters."""

import pytest
from budget import examples
from cache_world import TOP_K, aimed, run, searching
from hypothesis import settings

from mutants.predicate_cache import (
    ForgetsDeletedRows,
    ForgetsOldIds,
    ForgetsOrderingColumn,
    ForgetsPredicateColumn,
    IgnoresAdded,
    IgnoresVanished,
    OnlyContributing,
    WithoutAnsi,
    WithoutVersion,
    WithoutZone,
)
from pruning.techniques.predicate_cache import PredicateCache

# Each with what has to happen; queries of several sessions, some while others run, do in every world
# whose line does not take them out.
MUTANTS = {
    IgnoresAdded: aimed("add", "insert"),
    IgnoresVanished: aimed("remove", queries=TOP_K),
    WithoutZone: aimed(),
    WithoutAnsi: aimed(),
    WithoutVersion: aimed("write_anew", ask_again=None, ask_in_another_session=None),
    ForgetsPredicateColumn: aimed("update", updatable="a"),
    ForgetsOrderingColumn: aimed("update", queries=TOP_K, updatable="b"),
    OnlyContributing: aimed("update", updatable="ab"),
    ForgetsDeletedRows: aimed("delete_row", queries=TOP_K),
    ForgetsOldIds: aimed("write_anew"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_property_kills_a_cache_that_forgets(mutant: type[PredicateCache]) -> None:
    with pytest.raises(AssertionError):
        run(type("Mutant", (MUTANTS[mutant],), {"cache_class": mutant}), searching(2_000))


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_cache_that_forgets_nothing_is_spared(mutant: type[PredicateCache]) -> None:
    """CACHE-1, in the worlds that kill a mutant: it is the mistake that they show."""
    run(MUTANTS[mutant], settings(examples(0.4), stateful_step_count=20))
