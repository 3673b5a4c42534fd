"""Drawn histories are well formed, and reach each phenomenon, each level and each kind of edge."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from budget import examples, unshrunk
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import InvalidArgument
from searches import find

from oracles.isolation_brute_force import PROSCRIBED, DependencyKind, judge
from strategies.histories.histories import Abort, Commit, Derive, History, PredicateRead, Read, Version, Write
from strategies.histories.histories_drawn import histories

PHENOMENA = ("G0", "G1a", "G1b", "G1c", "G-single", "G-nonadjacent", "G2-item", "G2", "G-SI", "G-SI-rt")
SAMPLE, ROUNDS = 400, 8


def used(history: History, place: int) -> tuple[Version, ...]:
    """The versions that an operation needs."""
    match history.operations[place]:
        case Read(_, version):
            return (version,)
        case Derive(_, _, sources) | PredicateRead(_, _, sources):
            return sources
    return ()


def made(history: History) -> list[Version]:
    return [of.version for of in history.operations if isinstance(of, Write | Derive)]


def finals(history: History) -> set[Version]:
    """The last version of each object that each committed transaction wrote, and that it derived."""
    committed = {of.transaction for of in history.operations if isinstance(of, Commit)}
    last = {
        (type(of), of.transaction, of.version.object): of.version
        for of in history.operations
        if isinstance(of, Write | Derive)
    }
    return {version for (_, maker, _), version in last.items() if maker in committed}


def derived(history: History) -> set[Version]:
    return {of.version for of in history.operations if isinstance(of, Derive)}


@examples(4)
@given(histories())
def test_every_version_is_there_before_it_is_used(history: History) -> None:
    there = {order[0] for order in history.orders.values() if order} - set(made(history))
    for place, operation in enumerate(history.operations):
        assert set(used(history, place)) <= there
        if isinstance(operation, Write | Derive):
            assert operation.version not in there
            there.add(operation.version)


@examples(4)
@given(histories())
def test_every_transaction_ends_once_and_does_nothing_after(history: History) -> None:
    last = {operation.transaction: operation for operation in history.operations}
    ends = [operation for operation in history.operations if isinstance(operation, Commit | Abort)]
    assert sorted(end.transaction for end in ends) == sorted(last)
    assert all(last[end.transaction] is end for end in ends)


@examples(4)
@given(histories())
def test_the_orders_have_what_was_installed_and_at_most_one_version_before(history: History) -> None:
    for name, order in history.orders.items():
        installed = {version for version in finals(history) if version.object == name}
        assert len(set(order)) == len(order)
        assert set(order) >= installed
        assert set(order[1:]) <= installed | derived(history)


@examples(4)
@given(histories())
def test_predicates_are_read_of_their_domains(history: History) -> None:
    for operation in history.operations:
        if isinstance(operation, PredicateRead):
            objects = [version.object for version in operation.versions]
            assert len(set(objects)) == len(objects)
            assert set(objects) <= history.predicates[operation.predicate].domain


@examples(2)
@given(histories(derivations=False))
def test_without_derivations_there_are_none(history: History) -> None:
    assert not any(isinstance(operation, Derive) for operation in history.operations)


def test_no_history_has_no_transactions_to_draw() -> None:
    with pytest.raises(InvalidArgument, match="max_transactions=0"):
        find(histories(max_transactions=0), lambda drawn: True)


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    """How many histories of a sample show what."""
    found: Counter[str] = Counter()

    def count(history: History) -> None:
        judged = judge(history)
        found.update(judged.phenomena)
        found.update({edge.kind for edge in judged.edges})
        found["derivations"] += bool(derived(history))
        listed = {version for order in history.orders.values() for version in order}
        found["read of a derived version left out"] += any(
            (derived(history) - listed).intersection(used(history, place))
            for place, operation in enumerate(history.operations)
            if isinstance(operation, PredicateRead)
        )

    # What is checked is what comes in a sample; how long and how large its histories are does not matter.
    sampled = settings(
        max_examples=SAMPLE // ROUNDS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for number in range(ROUNDS):
        # Later examples are made of earlier ones: rounds of their own vary more.
        seed(number)(sampled(given(histories())(count)))()
    return found


@pytest.mark.parametrize("name", [*PHENOMENA, *DependencyKind])
def test_drawn_histories_reach_each_phenomenon_and_each_kind_of_edge(counts: Counter[str], name: str) -> None:
    assert counts[name] >= SAMPLE / 200


def test_drawn_histories_reach_predicate_reads_of_derived_versions_left_out(counts: Counter[str]) -> None:
    assert counts["read of a derived version left out"] >= SAMPLE / 200


def test_many_drawn_histories_have_derivations(counts: Counter[str]) -> None:
    assert SAMPLE / 4 <= counts["derivations"] <= SAMPLE * 3 / 4


@pytest.mark.parametrize("level", sorted(PROSCRIBED))
def test_drawn_histories_reach_each_level_as_a_strongest(level: str) -> None:
    drawn = histories(derivations=False)
    find(drawn, lambda history: level in judge(history).strongest, settings=unshrunk(20_000))


def without_derivations(history: History) -> History:
    """The same history, in which nobody derives or reads a derived version."""
    lost = derived(history)
    kept = (of for of in history.operations if not isinstance(of, Derive))
    return History(
        operations=tuple(
            replace(of, versions=tuple(version for version in of.versions if version not in lost))
            if isinstance(of, PredicateRead)
            else of
            for of in kept
            if not (isinstance(of, Read) and of.version in lost)
        ),
        orders={name: order for name, order in history.orders.items() if lost.isdisjoint(order)},
        predicates=history.predicates,
    )


def by_derivation(name: str) -> Callable[[History], bool]:
    """Whether a phenomenon is there only through derivations."""
    return lambda history: (
        name in judge(history).phenomena and name not in judge(without_derivations(history)).phenomena
    )


@pytest.mark.parametrize("name", PHENOMENA)
def test_drawn_histories_reach_each_phenomenon_through_derivations(name: str) -> None:
    find(histories(derivations=True), by_derivation(name), settings=unshrunk(20_000))


@pytest.mark.parametrize("kind", [DependencyKind.PREDICATE_READ, DependencyKind.PREDICATE_ANTI])
def test_drawn_histories_reach_predicates_over_derived_versions(kind: DependencyKind) -> None:
    def reached(history: History) -> bool:
        kept = {name: order for name, order in history.orders.items() if name in "xyz"}
        alone = History(operations=history.operations, orders=kept, predicates=history.predicates)
        of_kind = [{edge for edge in judge(of).edges if edge.kind is kind} for of in (history, alone)]
        return of_kind[0] > of_kind[1]

    find(histories(derivations=True), reached, settings=unshrunk(5_000))


def test_the_literal_clause_is_reached_where_it_condemns_alone() -> None:
    find(
        histories(derivations=True),
        lambda history: "G0" in judge(history, literal=True).phenomena - judge(history).phenomena,
        settings=unshrunk(5_000),
    )
