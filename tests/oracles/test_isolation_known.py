"""Known histories give the phenomena, levels and edges that follow from the definitions by hand."""

import json

import pytest
from histories_in_short import history, operations
from histories_known import KNOWN
from labelled_histories import BY_NAME, needs_labels

from oracles import isolation
from oracles.isolation import Verdict
from oracles.isolation.notation import loads
from oracles.isolation_brute_force import judge
from strategies.histories.histories import History


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_history_shows_what_it_is_known_for(name: str) -> None:
    known = KNOWN[name]
    result = isolation.check(known.history)
    assert result.problem is None
    assert " ".join(result.phenomena) == known.phenomena
    assert " ".join(result.strongest) == known.strongest
    if known.edges is not None:
        assert result.edges() == set(known.edges.split())


@pytest.mark.parametrize("name", KNOWN)
def test_the_brute_force_checker_agrees_on_a_known_history(name: str) -> None:
    result, judged = isolation.check(KNOWN[name].history), judge(KNOWN[name].history)
    assert set(result.phenomena) == judged.phenomena
    assert result.edges() == {str(edge) for edge in judged.edges}


@needs_labels
@pytest.mark.parametrize("name", BY_NAME)
def test_a_labelled_history_is_read_and_judged_as_labelled(name: str) -> None:
    """Each phenomenon, each strongest level, and the edges where they are given."""
    labelled = BY_NAME[name]
    line = json.loads(labelled.line)
    assert line["ops"] == operations(line["text"])
    assert loads(labelled.line) == labelled.history
    result = isolation.check(labelled.history)
    assert result.problem is None
    assert set(result.phenomena) == labelled.phenomena
    assert set(result.strongest) == labelled.strongest
    if labelled.edges is not None:
        assert result.edges() == labelled.edges
    if labelled.same_edges_as is not None:
        assert result.edges() == isolation.check(BY_NAME[labelled.same_edges_as].history).edges()
    assert labelled.literal <= set(isolation.check(labelled.history, literal=True).phenomena)


@pytest.mark.parametrize("name", ["join-with-what-stays", "refreshed-from-the-same"])
def test_the_literal_clause_condemns_serial_histories(name: str) -> None:
    result = isolation.check(KNOWN[name].history, literal=True)
    assert "G0" in result.phenomena
    assert result.strongest == ()


def test_a_transaction_that_only_derives_has_no_edge() -> None:
    edges = isolation.check(KNOWN["figure-2"].history).edges()
    assert not any(end in edge for edge in edges for end in ("T3", "T4"))


SKEWED = KNOWN["two-tables-one-behind"].history


def test_a_projection_leaves_out_the_other_transactions() -> None:
    """The writers alone are serializable, and so is the reader with the first of them."""
    assert isolation.check(SKEWED).verdict("PL-3") is Verdict.INVALID
    for some in ({1, 2}, {1, 5}):
        assert isolation.check(SKEWED, transactions=some).strongest == ("PL-SI", "PL-3")
    assert isolation.check(SKEWED, transactions={2, 5}).edges() == {"T2-wr->T5", "T5-rw->T2"}


def test_a_projection_leaves_out_what_others_read() -> None:
    dirty = history("w1(x@1) r2(x@1) r3(y@0) a1 c2 c3", "y@0")
    assert isolation.check(dirty, transactions={2}).phenomena == ("G1a",)
    assert isolation.check(dirty, transactions={3}).phenomena == ()


def test_a_projection_on_an_unknown_transaction_is_an_error() -> None:
    with pytest.raises(ValueError, match="T9 is not in the history"):
        isolation.check(SKEWED, transactions={9})


def test_a_transaction_that_never_ends_counts_as_aborted() -> None:
    result = isolation.check(history("w1(x@1) r2(x@1) c2", ""))
    assert result.phenomena == ("G1a",)
    assert "never committed" in str(result.witness["G1a"])


# Corollary 2 of [D], "a derivation that only its own transaction reads may be left out", and its three gaps:
# with the derivation, without it, and the edges that come with it.
GAPS: dict[str, tuple[History, History, str]] = {
    "an encapsulated read anti-depends on who overwrites the source": (
        history("w1(x@1) d1(y@1|x@1) r1(y@1) w1(z@1) c1 w2(x@2) c2", "x@1 << x@2; y@1; z@1"),
        history("w1(x@1) w1(z@1) c1 w2(x@2) c2", "x@1 << x@2; z@1"),
        "T1-rw->T2",
    ),
    "neighbours in the derived object's order depend on each other": (
        history("w1(a@1) d1(y@1|a@1) r1(y@1) c1 w2(b@2) d2(y@2|b@2) r2(y@2) c2", "a@1; b@2; y@1 << y@2"),
        history("w1(a@1) c1 w2(b@2) c2", "a@1; b@2"),
        "T1-ww->T2",
    ),
    "another derivation consumes the encapsulated version": (
        history("w1(x@1) d1(y@1|x@1) r1(y@1) c1 d3(z@3|y@1) c3 r5(z@3) c5", "x@1; y@1; z@3"),
        history("w1(x@1) c1 d3(z@3|v@0) c3 r5(z@3) c5", "x@1; v@0; z@3"),
        "T1-wr->T5",
    ),
}


@pytest.mark.parametrize("gap", GAPS)
def test_corollary_2_has_a_gap(gap: str) -> None:
    with_derivation, without, more = GAPS[gap]
    edges = isolation.check(with_derivation).edges()
    assert edges - isolation.check(without).edges() == {more}
