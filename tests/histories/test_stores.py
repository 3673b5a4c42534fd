"""Each store's histories show what they must, and nothing that the store rules out."""

from collections import Counter
from collections.abc import Callable

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from mutants.store_histories import CORRECT, MUTANTS, StoreCase, record, recordings
from oracles import isolation
from oracles.isolation_brute_force import judge
from strategies.histories.histories import Commit

STORES = {**CORRECT, **MUTANTS}
FEW, SMALL = 6, 6
SHOWN_AT_LEAST = 0.99
# What a right store may show, and does: it is no stronger than it is said to be.
NO_STRONGER = {
    "serializable snapshots": "G-SI-rt",
    "serializable snapshots under a join": "G-SI",
    "locks": "G-SI",
    "snapshots": "G2-item",
    "snapshots under a join": "G-single",
    "read committed": "G-single",
}


def shown(known: StoreCase, seeds: int) -> Counter[str]:
    """How many of a store's histories show each phenomenon; all are usable, and all is decided."""
    found: Counter[str] = Counter()
    for seed in range(seeds):
        result = isolation.check(record(known, seed))
        assert (result.problem, result.unknown) == (None, ())
        found.update(result.phenomena)
    return found


@pytest.fixture
def seeds(deep: bool) -> Callable[[int], int]:
    """How many histories are recorded where a deep run takes so many."""
    return lambda many: many if deep else FEW


@pytest.mark.parametrize("name", CORRECT)
def test_a_right_store_never_shows_what_it_rules_out(seeds: Callable[[int], int], name: str) -> None:
    assert not CORRECT[name].lacks & set(shown(CORRECT[name], seeds(1_000)))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_a_store_shows_its_phenomenon_rightly_named(
    seeds: Callable[[int], int], name: str
) -> None:
    of, known = seeds(100), MUTANTS[name]
    found = shown(known, of)
    assert known.shows is not None
    assert found[known.shows] >= SHOWN_AT_LEAST * of
    assert not known.lacks & set(found)


@pytest.mark.parametrize(("name", "phenomenon"), NO_STRONGER.items())
def test_a_right_store_is_no_stronger_than_it_is_said_to_be(name: str, phenomenon: str) -> None:
    assert phenomenon not in CORRECT[name].lacks
    assert shown(CORRECT[name], FEW)[phenomenon]


@pytest.mark.parametrize("name", STORES)
@examples(0.1)
@given(data=st.data())
def test_both_checkers_agree_on_short_histories_of_a_store(name: str, data: st.DataObject) -> None:
    history = data.draw(recordings(STORES[name], transactions=SMALL))
    judged, checked = judge(history), isolation.check(history)
    assert set(checked.phenomena) == judged.phenomena
    assert checked.edges() == {str(edge) for edge in judged.edges}
    assert not STORES[name].lacks & judged.phenomena


@pytest.mark.parametrize("name", STORES)
def test_the_same_seed_gives_the_same_history_and_another_another(name: str) -> None:
    first, again, other = (record(STORES[name], seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", STORES)
def test_a_third_of_the_transactions_of_a_store_commit(name: str) -> None:
    history = record(STORES[name], 0)
    transactions = {operation.transaction for operation in history.operations}
    committed = [operation for operation in history.operations if isinstance(operation, Commit)]
    assert len(committed) >= len(transactions) / 3


def test_every_phenomenon_is_shown_by_a_mutant() -> None:
    assert {known.shows for known in MUTANTS.values()} == {*isolation.PHENOMENA}
