"""What Streaming Democratized, section 4, claims of derivations: where it is true, and where it is not.

Theorem 1: where a derivation stands, and in whose transaction, changes nothing. Corollary 2: a derivation
that only its own transaction reads may be left out. The corollary is true of isolation levels, not of edges,
and only of a derived object of its own that no other derivation uses; where there are predicates, not of
PL-2.99.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from budget import examples, unshrunk
from histories_in_short import history as in_short
from hypothesis import assume, event, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from searches import find

from oracles import isolation
from oracles.isolation_brute_force import DependencyKind, Edge, Judgement, judge
from strategies.histories.histories import (
    Abort,
    Begin,
    Commit,
    Derive,
    History,
    Operation,
    Predicate,
    PredicateRead,
    Read,
    Version,
    Write,
)
from strategies.histories.histories_drawn import histories

FRESH = "fresh"


def judged(history: History, *, literal: bool = False) -> Judgement:
    """What both checkers find."""
    found, checked = judge(history, literal=literal), isolation.check(history, literal=literal)
    assert (set(checked.phenomena), set(checked.strongest)) == (found.phenomena, found.strongest)
    assert checked.edges() == {str(edge) for edge in found.edges}
    return found


def begun(history: History) -> History:
    """The same history, in which each transaction begins with a Begin."""
    operations: list[Operation] = []
    for operation in history.operations:
        if all(before.transaction != operation.transaction for before in operations):
            operations.append(Begin(operation.transaction))
        if not isinstance(operation, Begin):
            operations.append(operation)
    return replace(history, operations=tuple(operations))


def live(operations: Sequence[Operation], place: int) -> list[int]:
    """The transactions that have begun before a place and end at it or later."""
    before, after = operations[:place], operations[place:]
    return sorted({one.transaction for one in before} & {one.transaction for one in after})


@st.composite
def moved(draw: DrawFn) -> tuple[History, History]:
    """A history, and the same with one derivation in any place and transaction, maybe one of its own."""
    history = begun(draw(histories(derivations=True)))
    places = [place for place, of in enumerate(history.operations) if isinstance(of, Derive)]
    assume(places)
    chosen = draw(st.sampled_from(places))
    derivation = history.operations[chosen]
    assert isinstance(derivation, Derive)
    rest = [*history.operations[:chosen], *history.operations[chosen + 1 :]]
    place = draw(st.integers(0, len(rest)))
    own = 1 + max(of.transaction for of in rest)
    transaction = draw(st.sampled_from([*live(rest, place), own]))
    there: list[Operation] = [replace(derivation, transaction=transaction)]
    if transaction == own:
        there = [Begin(own), *there, draw(st.sampled_from((Commit(own), Abort(own))))]
    after = replace(history, operations=(*rest[:place], *there, *rest[place:]))
    orders = with_installed(history.orders, after.operations)
    return replace(history, orders=orders), replace(after, orders=orders)


def with_installed(
    orders: Mapping[str, tuple[Version, ...]], operations: Sequence[Operation]
) -> Mapping[str, tuple[Version, ...]]:
    """Return the orders with all that committed transactions derived last; what they lacked is at the end."""
    committed = {of.transaction for of in operations if isinstance(of, Commit)}
    last = {(of.transaction, of.version.object): of.version for of in operations if isinstance(of, Derive)}
    complete = dict(orders)
    for (transaction, name), version in last.items():
        if transaction in committed and version not in complete.get(name, ()):
            complete[name] = (*complete.get(name, ()), version)
    return complete


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A history whose one predicate read has a derived version that its order leaves out."""

    history: History
    version: Version

    def listings(self) -> Iterator[History]:
        """Yield the same history, its order with the version at each place after an initial one."""
        name, orders = self.version.object, self.history.orders
        order = orders.get(name, ())
        derived = {of.version for of in self.history.operations if isinstance(of, Derive)}
        for place in range(bool(order) and order[0] not in derived, len(order) + 1):
            yield replace(
                self.history, orders={**orders, name: (*order[:place], self.version, *order[place:])}
            )


@st.composite
def left_out(draw: DrawFn) -> LeftOut:
    """Histories in which a refresh aborts, and a later transaction reads by predicate what it derived."""
    drawn = draw(histories(derivations=True, max_transactions=3))
    kept = [of for of in drawn.operations if not isinstance(of, PredicateRead)]
    places = [place for place, of in enumerate(kept) if isinstance(of, Derive)]
    assume(places)
    place = draw(st.sampled_from(places))
    derivation = kept[place]
    assert isinstance(derivation, Derive)
    aborts = 1 + max(of.transaction for of in drawn.operations)
    reader, version = aborts + 1, derivation.version
    operations = (
        *(
            operation
            for operation in begun(replace(drawn, operations=tuple(kept))).operations
            if operation != derivation
        ),
        *(Begin(aborts), replace(derivation, transaction=aborts), Abort(aborts)),
        *(PredicateRead(reader, "P", (version,)), Commit(reader)),
    )
    orders = {name: tuple(of for of in order if of != version) for name, order in drawn.orders.items()}
    versions = [of.version for of in kept if isinstance(of, Derive) and of.version.object == version.object]
    matching = frozenset(of for of in versions if draw(st.booleans()))
    history = History(
        operations=operations,
        orders=with_installed(orders, operations),
        predicates={"P": Predicate(frozenset({version.object}), matching)},
    )
    return LeftOut(history=history, version=version)


def predicate_edges(history: History) -> frozenset[Edge]:
    kinds = {DependencyKind.PREDICATE_READ, DependencyKind.PREDICATE_ANTI}
    return frozenset(edge for edge in judged(history).edges if edge.kind in kinds)


@examples(2)
@given(left_out())
def test_a_version_that_its_order_leaves_out_is_read_as_at_one_of_its_places(case: LeftOut) -> None:
    """ISO-8. An order says where a version stands, never whether a read of it counts."""
    edges = predicate_edges(case.history)
    event(f"edges: {bool(edges)}")
    assert edges in map(predicate_edges, case.listings())


@examples(4)
@given(moved(), st.booleans())
def test_a_derivation_may_be_moved_anywhere(pair: tuple[History, History], literal: bool) -> None:
    """Theorem 1: the edges stay, and with them all phenomena; begins are written out, and stay too."""
    before, after = (judged(history, literal=literal) for history in pair)
    event(f"edges: {bool(before.edges)}")
    assert before == after


def test_derivations_that_matter_are_moved_into_transactions_that_abort() -> None:
    """Without the derivation there would be other edges."""

    def reached(pair: tuple[History, History]) -> bool:
        before, after = pair
        derivation = next(
            (of for of in after.operations if isinstance(of, Derive) and of not in before.operations), None
        )
        if derivation is None or Abort(derivation.transaction) not in after.operations:
            return False
        rest = tuple(of for of in after.operations if of != derivation)
        return judge(replace(after, operations=rest)).edges != judge(after).edges

    find(moved(), reached, settings=unshrunk(5_000))


@dataclass(frozen=True, slots=True, kw_only=True)
class Encapsulated:
    """A history, the same with a derivation that only its own transaction reads, and that transaction."""

    without: History
    within: History
    transaction: int


@st.composite
def encapsulated(draw: DrawFn, *, predicates: bool) -> Encapsulated:
    """A derivation, into an object of its own, from what its transaction has read or written."""
    history = draw(histories())
    if not predicates:
        kept = tuple(of for of in history.operations if not isinstance(of, PredicateRead))
        history = replace(history, operations=kept)
    history = begun(history)
    known = [(of.transaction, of.version) for of in history.operations if isinstance(of, Read | Write)]
    assume(known)
    transaction = draw(st.sampled_from(sorted({of for of, _ in known})))
    own = [version for of, version in known if of == transaction]
    sources = tuple(draw(st.lists(st.sampled_from(own), min_size=1, max_size=2, unique=True)))
    places = [place for place, of in enumerate(history.operations) if of.transaction == transaction]
    made = [
        place
        for place, of in enumerate(history.operations)
        if isinstance(of, Read | Write) and of.transaction == transaction and of.version in sources
    ]
    place = draw(st.integers(max(made) + 1, places[-1]))
    version = Version(FRESH, "1")
    there = (Derive(transaction, version, sources), Read(transaction, version))
    within = replace(
        history,
        operations=(*history.operations[:place], *there, *history.operations[place:]),
        orders={**history.orders, FRESH: (version,)},
    )
    return Encapsulated(without=history, within=within, transaction=transaction)


@examples(4)
@given(encapsulated(predicates=False))
def test_an_encapsulated_derivation_changes_no_level(case: Encapsulated) -> None:
    """Corollary 2, as it is true; what edges come are anti-dependencies beside write-dependencies."""
    before, after = judged(case.without), judged(case.within)
    assert before.strongest == after.strongest
    assert before.edges <= after.edges
    for edge in after.edges - before.edges:
        assert (edge.source, edge.kind) == (case.transaction, DependencyKind.ANTI)
        assert edge._replace(kind=DependencyKind.WRITE) in before.edges


@examples(4)
@given(encapsulated(predicates=True))
def test_with_predicates_it_may_cost_one_level(case: Encapsulated) -> None:
    before, after = isolation.check(case.without), isolation.check(case.within)
    assert set(before.holding) - {"PL-2.99"} == set(after.holding) - {"PL-2.99"}
    assert set(before.holding) >= set(after.holding)


@pytest.mark.parametrize("predicates", [False, True])
def test_encapsulated_derivations_that_add_edges_are_reached(predicates: bool) -> None:
    find(
        encapsulated(predicates=predicates),
        lambda case: judge(case.within).edges > judge(case.without).edges,
        settings=unshrunk(2_000),
    )


def edges(history: History) -> set[str]:
    return {str(edge) for edge in judged(history).edges}


def test_gap_of_the_corollary_an_own_value_is_read_before_its_source_is_overwritten() -> None:
    """T1 reads y@1, which derives from x@1, which T2 overwrites: an edge that is not there without."""
    without = in_short("w1(x@1) c1 w2(x@2) c2", "x@1 << x@2")
    within = in_short("w1(x@1) d1(y@1|x@1) r1(y@1) c1 w2(x@2) c2", "x@1 << x@2; y@1")
    assert edges(without) == {"T1-ww->T2"}
    assert edges(within) == {"T1-ww->T2", "T1-rw->T2"}
    assert judged(without) == replace(judged(within), edges=judged(without).edges)


def test_gap_of_the_corollary_derived_versions_that_are_neighbours() -> None:
    """Each value is read by its own transaction alone; their order makes a cycle of T1 and T2."""
    without = in_short("w1(a@1) c1 r2(a@1) w2(b@2) c2", "a@1; b@2")
    within = in_short(
        "w1(a@1) d1(y@1|a@1) r1(y@1) c1 r2(a@1) w2(b@2) d2(y@2|b@2) r2(y@2) c2", "a@1; b@2; y@2 << y@1"
    )
    assert edges(within) - edges(without) == {"T2-ww->T1"}
    assert judged(without).strongest == {"PL-SI", "PL-3"}
    assert judged(within).strongest == {"PL-1"}


def test_gap_of_the_corollary_another_derivation_uses_it() -> None:
    """Nobody but T1 reads y@1; T5 reads z@3, which derives from it."""
    without = in_short("w1(x@1) c1 b3 c3 w2(x@2) c2 r5(x@2) c5", "x@1 << x@2")
    within = in_short(
        "w1(x@1) d1(y@1|x@1) r1(y@1) c1 d3(z@3|y@1) c3 w2(x@2) c2 r5(z@3) r5(x@2) c5",
        "x@1 << x@2; y@1; z@3",
    )
    assert judged(without).strongest == {"PL-SI", "PL-3"}
    assert judged(within).strongest == {"PL-2"}


def test_gap_of_the_corollary_beside_predicates() -> None:
    """T1-rw->T2, which stands beside T1-ww->T2, makes an item anti-dependency part of a predicate's cycle."""
    orders, predicates = "x@1 << x@2; z@1", {"P": ("z", "z@1")}
    without = in_short("w1(x@1) w1(z@1) c1 p2(P:) w2(x@2) c2", orders, predicates)
    within = in_short(
        "w1(x@1) w1(z@1) d1(y@1|x@1) r1(y@1) c1 p2(P:) w2(x@2) c2", f"{orders}; y@1", predicates
    )
    assert judged(without).strongest == {"PL-2.99"}
    assert judged(within).strongest == {"PL-2"}


def test_a_join_orders_concurrent_writers_of_its_sources() -> None:
    """Snapshots, neither of which saw the other, are no snapshots once a join has gone from one to the other.

    The refined clause for derived versions: z@3 derives from T1's x, z@5 from T2's y, and neither from both.
    """
    writes = "b1 b2 w1(x@1) c1 {}w2(y@2) c2 w4(x@4) c4{}"
    orders = "x@0 << x@1 << x@4; y@0 << y@2"
    without = in_short(writes.format("", ""), orders)
    within = in_short(
        writes.format("d3(z@3|x@1,y@0) c3 ", " d5(z@5|x@4,y@2) c5").replace("b2", "b2 b3 b5"),
        f"{orders}; z@3 << z@5",
    )
    assert edges(within) - edges(without) == {"T1-ww->T2"}
    assert judged(without).strongest == {"PL-SI", "PL-3"}
    assert judged(within).strongest == {"PL-3"}


def test_a_join_that_nobody_reads_turns_write_skew_into_read_skew() -> None:
    """Snapshot isolation permits T1-rw->T2-rw->T1; beside the join's T1-ww->T2 it is G-single."""
    writes = "b1 b2 r1(y@0) r2(x@0) w1(x@1) c1 {}w2(y@2) c2 w4(x@4) c4{}"
    orders = "x@0 << x@1 << x@4; y@0 << y@2"
    without = in_short(writes.format("", ""), orders)
    within = in_short(
        writes.format("d3(z@3|x@1,y@0) c3 ", " d5(z@5|x@4,y@2) c5").replace("b2", "b2 b3 b5"),
        f"{orders}; z@3 << z@5",
    )
    assert judged(without).strongest == {"PL-SI"}
    assert judged(within).strongest == {"PL-2"}
