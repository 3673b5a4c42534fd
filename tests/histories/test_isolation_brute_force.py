"""The brute-force judge of isolation gives every answer that was worked out by hand."""

import pytest
from labelled_histories import BY_NAME, Labelled, needs_labels

from oracles.isolation_brute_force import PROSCRIBED, TooLarge, judge
from strategies.histories.histories import Abort, Commit, Derive, History, Read, Version, Write

SPURIOUS = {"join-dt-static-dim", "no-data-rederivation"}


def edges_of(found: Labelled) -> set[str]:
    return {str(edge) for edge in judge(found.history).edges}


@needs_labels
@pytest.mark.parametrize("name", BY_NAME)
def test_a_labelled_history_is_judged_as_by_hand(name: str) -> None:
    judged = judge(BY_NAME[name].history)
    assert judged.phenomena == BY_NAME[name].phenomena
    assert judged.strongest == BY_NAME[name].strongest


@needs_labels
@pytest.mark.parametrize("name", [name for name, found in BY_NAME.items() if found.edges is not None])
def test_a_labelled_history_has_the_edges_found_by_hand(name: str) -> None:
    assert edges_of(BY_NAME[name]) == BY_NAME[name].edges


@needs_labels
@pytest.mark.parametrize("name", [name for name, found in BY_NAME.items() if found.same_edges_as])
def test_a_labelled_history_has_the_edges_of_the_one_it_names(name: str) -> None:
    assert edges_of(BY_NAME[name]) == edges_of(BY_NAME[str(BY_NAME[name].same_edges_as)])


@needs_labels
@pytest.mark.parametrize("name", BY_NAME)
def test_the_literal_clause_condemns_the_serial_runs_alone(name: str) -> None:
    refined, literal = (judge(BY_NAME[name].history, literal=of) for of in (False, True))
    assert refined.edges <= literal.edges
    assert ("G0" in literal.phenomena - refined.phenomena) == (name in SPURIOUS)


@needs_labels
def test_the_labelled_histories_show_each_phenomenon_and_each_level() -> None:
    assert {name for found in BY_NAME.values() for name in found.phenomena} >= set().union(
        *PROSCRIBED.values()
    )
    assert {name for found in BY_NAME.values() for name in found.strongest} == set(PROSCRIBED)


def written(transactions: int) -> History:
    """A history of some transactions that each overwrite one object."""
    order = tuple(Version("x", str(number)) for number in range(1, transactions + 1))
    operations = [
        operation
        for number, version in enumerate(order, 1)
        for operation in (Write(number, version), Commit(number))
    ]
    return History(operations=tuple(operations), orders={"x": order})


def test_a_history_of_many_dependent_transactions_is_refused() -> None:
    assert judge(written(9)).strongest == {"PL-SI", "PL-3"}
    with pytest.raises(TooLarge, match="10 transactions"):
        judge(written(10))


def test_a_version_of_a_transaction_that_never_ended_counts_as_aborted() -> None:
    x, y = Version("x", "1"), Version("y", "2")
    begun = (Write(1, x), Derive(2, y, (x,)), Commit(2), Read(3, y), Commit(3))
    for operations in (begun, (*begun, Abort(1))):
        assert judge(History(operations=operations, orders={"y": (y,)})).phenomena == {"G1a"}
