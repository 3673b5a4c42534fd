"""A witness is a cycle of the graph, of the phenomenon's kinds, and none is smaller."""

import random
from collections.abc import Callable, Iterator, Mapping

import networkx as nx
import pytest
from histories_in_short import history
from histories_known import KNOWN

from oracles import isolation
from oracles.isolation import Result, Witness, cycles, searching
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

SEEDS = 200
ANTI = {"rw", "rwp"}

# What the kinds along a cycle have to be.
ALLOWED: Mapping[str, Callable[[list[str]], bool]] = {
    "G0": lambda kinds: set(kinds) == {"ww"},
    "G1c": lambda kinds: not ANTI & set(kinds),
    "G-single": lambda kinds: sum(kind in ANTI for kind in kinds) == 1,
    "G2-item": lambda kinds: "rw" in kinds,
    "G2": lambda kinds: bool(ANTI & set(kinds)),
    "G-nonadjacent": lambda kinds: (
        bool(ANTI & set(kinds))
        and not any(
            one in ANTI and other in ANTI for one, other in zip(kinds, kinds[1:] + kinds[:1], strict=True)
        )
    ),
}


def drawn(seed: int) -> History:
    """A history of six transactions that read and write four objects and two derived ones at random."""
    draw = random.Random(seed)
    made: list[Version] = [Version(name, "0") for name in "abcd"]
    orders = {version.object: [version] for version in made}
    operations: list[Operation] = [Begin(number) for number in range(1, 7)]
    last: dict[tuple[int, str], Version] = {}
    aborting = {number for number in range(1, 7) if draw.random() < 0.1}
    for step in range(draw.randint(8, 24)):
        number, label = draw.randint(1, 6), f"{step + 1}"
        kind = draw.random()
        if kind < 0.4:
            operations.append(Read(number, draw.choice(made)))
        elif kind < 0.75:
            version = Version(draw.choice("abcd"), label)
            operations.append(Write(number, version))
            last[number, version.object] = version
            made.append(version)
        elif kind < 0.9:
            version = Version(draw.choice("yz"), label)
            operations.append(Derive(number, version, tuple(draw.sample(made, min(2, len(made))))))
            orders.setdefault(version.object, []).append(version)
            made.append(version)
        else:
            names = draw.sample("abcd", 2)
            seen = [draw.choice([one for one in made if one.object == name]) for name in names]
            operations.append(PredicateRead(number, "P", tuple(seen)))
    ending = draw.sample(range(1, 7), 6)
    operations += [Abort(number) if number in aborting else Commit(number) for number in ending]
    installed = [(name, version) for (number, name), version in last.items() if number not in aborting]
    for name, version in draw.sample(installed, len(installed)):
        orders[name].append(version)
    predicate = Predicate(
        frozenset("abcd"), frozenset(one for one in made if one.object in "abcd" and draw.random() < 0.5)
    )
    return History(
        operations=tuple(operations),
        orders={name: tuple(order) for name, order in orders.items()},
        predicates={"P": predicate},
    )


def closed_walks(result: Result, phenomenon: str, length: int) -> Iterator[list[str]]:
    """The kinds along each simple cycle of so many edges that is of the phenomenon."""
    graph = nx.MultiDiGraph()
    for edge in result.edges():
        tail, rest = edge.split("-", 1)
        kind, head = rest.split("->")
        graph.add_edge(tail, head, key=kind)
    for nodes in nx.simple_cycles(nx.DiGraph(graph), length_bound=length):
        if len(nodes) == length:
            ends = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
            choices: list[list[str]] = [[]]
            for tail, head in ends:
                choices = [[*chosen, kind] for chosen in choices for kind in graph[tail][head]]
            yield from (kinds for kinds in choices if ALLOWED[phenomenon](kinds))


def assert_cycle(result: Result, witness: Witness) -> None:
    edges = result.edges()
    for step, following in zip(witness.steps, [*witness.steps[1:], witness.steps[0]], strict=True):
        assert step.head == following.tail
        assert step.kind == "time" or f"T{step.tail}-{step.kind}->T{step.head}" in edges


@pytest.mark.parametrize("name", [name for name in KNOWN if KNOWN[name].phenomena])
def test_a_witness_of_a_known_history_is_a_cycle_of_its_kinds(name: str) -> None:
    result = isolation.check(KNOWN[name].history)
    for phenomenon, witness in result.witness.items():
        if phenomenon not in ("G1a", "G1b"):
            assert_cycle(result, witness)
        if phenomenon in ALLOWED:
            assert ALLOWED[phenomenon]([step.kind for step in witness.steps])


def test_no_cycle_is_smaller_than_a_witness() -> None:
    """Each phenomenon is there exactly if a cycle of its kinds is, and the witness is a smallest."""
    seen: set[tuple[str, int]] = set()
    for seed in range(SEEDS):
        result = isolation.check(drawn(seed))
        assert result.problem is None, seed
        for phenomenon in ALLOWED:
            witness = result.witness.get(phenomenon)
            size = len(witness.steps) if witness else 7
            if witness:
                assert_cycle(result, witness)
                assert witness.smallest
                assert ALLOWED[phenomenon]([step.kind for step in witness.steps]), (seed, phenomenon)
                seen.add((phenomenon, size))
            for smaller in range(2, size):
                assert not list(closed_walks(result, phenomenon, smaller)), (seed, phenomenon)
    assert {phenomenon for phenomenon, _ in seen} == set(ALLOWED)
    assert {("G2", 3), ("G1c", 3), ("G-single", 3), ("G-single", 4)} <= seen


def test_a_step_says_why() -> None:
    result = isolation.check(
        history("w1(x@1) c1 d2(y@2|x@1) d2(z@2|y@2) c2 w3(x@3) c3 r4(z@2) r4(x@3) c4", "x@1 << x@3; y@2; z@2")
    )
    assert str(result.witness["G-single"]) == (
        "G-single:\n"
        "  T4 < T3, because T4 read z@2, which derives from y@2, which derives from x@1, and T3 wrote x@3, "
        "the next version\n"
        "  but T3 < T4, because T4 read x@3, which T3 wrote: a contradiction"
    )
    assert result.witness["G-single"].to_dict()["steps"][1] == {
        "from": 3, "to": 4, "kind": "wr", "because": "T4 read x@3, which T3 wrote",
    }  # fmt: skip


def test_a_predicate_read_that_saw_a_later_version_says_which() -> None:
    """T1 changed what matches, and T3 saw what came after, which changed nothing more."""
    plain = history(
        "r3(y@0) w1(x@1) w1(y@1) c1 w2(x@2) c2 p3(P:x@2) c3", "x@0 << x@1 << x@2; y@0 << y@1",
        {"P": ("x", "x@0")},
    )  # fmt: skip
    assert [step.because for step in isolation.check(plain).witness["G-single"].steps] == [
        "T3 read y@0, and T1 wrote y@1, the next version",
        "T3 read by predicate P and saw x@2, which comes after x@1, which T1 wrote; x@1 changes what matches",
    ]
    derived = history(
        "r3(y@0) w1(x@1) w1(y@1) c1 d4(t@4|x@1) c4 d5(t@5|x@1) c5 p3(P:t@5) c3",
        "x@0 << x@1; y@0 << y@1; t@4 << t@5", {"P": ("t", "t@4,t@5")},
    )  # fmt: skip
    assert [step.because for step in isolation.check(derived).witness["G-single"].steps][1] == (
        "T3 read by predicate P and saw t@5, which comes after t@4, which derives from x@1, which T1 wrote; "
        "t@4 changes what matches"
    )


@pytest.mark.parametrize(
    ("name", "phenomenon", "reason"),
    [
        ("adya-G1a", "G1a", "T2 read x@1, which T1 wrote before it aborted"),
        (
            "aborted-behind-a-table",
            "G1a",
            "T5 read y@3, which derives from x@1, which T1 wrote before it aborted",
        ),
        ("adya-G1b", "G1b", "T2 read x@1.1, which T1 wrote and then wrote over"),
        ("adya-H-wcycle", "G0", "T1 wrote x@1, and T2 wrote x@2, the next version"),
        (
            "writes-through-tables",
            "G0",
            "z@4 follows z@3 in their order: z@3, which derives from a@1, which T1 wrote, and z@4, which "
            "derives from b@2, which T2 wrote",
        ),
        (
            "adya-H-phantom",
            "G2",
            "T1 read by predicate Sales and did not see z@2, which T2 wrote; z@2 changes what matches",
        ),
        (
            "hermitage-PMP",
            "G2",
            "T1 read by predicate thirds and saw z@2, which T2 wrote; z@2 changes what matches",
        ),
        ("stale-table", "G-SI-rt", "T2 committed before T5 began"),
        ("adya-H1-prime", "G-SI", "T2 began before T1 committed"),
        ("serializable-but-no-snapshot", "G-SI", "T2 committed before T3 did"),
    ],
)
def test_each_kind_of_reason_is_given(name: str, phenomenon: str, reason: str) -> None:
    witness = isolation.check(KNOWN[name].history).witness[phenomenon]
    assert reason in [step.because for step in witness.steps]


def test_a_search_that_meets_its_limits_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no limit can hide is still found: G2 needs no search, but G-single does."""

    def nothing(ways: object, **_: object) -> searching.ShortestSearch:
        return searching.ShortestSearch(None, complete=False)

    def undecided(ways: searching.PathSearches, **_: object) -> searching.Reachability:
        every = ways.starts >= 0
        return searching.Reachability(~every, every)

    monkeypatch.setattr(cycles, "find_shortest", nothing)
    monkeypatch.setattr(cycles, "decide_reachability", undecided)
    result = isolation.check(KNOWN["figure-2"].history)
    assert result.unknown == ("G-single",)
    assert "G2" in result.phenomena
    assert not result.witness["G2"].smallest
    assert result.strongest == ("PL-2",)
    assert [result.verdict(level).value for level in ("PL-2", "PL-2+", "PL-3")] == [
        "valid",
        "unknown",
        "invalid",
    ]
