"""A history that is not a possible one is UNKNOWN, and one clause says why; nothing is guessed."""

import json
from typing import Any

import pytest
from histories_in_short import history

from oracles import isolation
from oracles.isolation import LEVELS, PHENOMENA, UnusableHistory, Verdict, closures
from oracles.isolation.notation import dumps, loads
from strategies.histories.histories import History, Version, Write

# Text, orders, predicates; and what is said.
IMPOSSIBLE: dict[str, tuple[str, str, dict[str, tuple[str, str]], str]] = {
    "read of nobody's version": (
        "r1(x@9) c1", "x@0", {},
        "T1 reads x@9, which nobody writes or derives and which is not first in the order of x",
    ),
    "read of an object without an order": (
        "r1(x@0) c1", "", {},
        "T1 reads x@0, which nobody writes or derives and which is not first in the order of x",
    ),
    "derivation from nobody's version": (
        "d1(y@1|x@9) c1", "y@1", {},
        "T1 derives from x@9, which nobody writes or derives and which is not first in the order of x",
    ),
    "predicate read of nobody's version": (
        "p1(P:x@9) c1", "x@0", {"P": ("x", "")},
        "T1 reads by predicate x@9, which nobody writes or derives and which is not first in the order of x",
    ),
    "commit without a transaction": ("w1(x@1) c1 c2", "x@1", {}, "T2 commits but never began"),
    "abort without a transaction": ("w1(x@1) c1 a2", "x@1", {}, "T2 aborts but never began"),
    "operation after a commit": (
        "w1(x@1) c1 r1(x@1)", "x@1", {}, "T1 reads x@1 after its commit"
    ),
    "operation after an abort": ("b1 a1 r1(x@0)", "x@0", {}, "T1 reads x@0 after its abort"),
    "two commits": ("w1(x@1) c1 c1", "x@1", {}, "T1 commits after its commit"),
    "begin after an operation": ("r1(x@0) b1 c1", "x@0", {}, "T1 begins though it has begun"),
    "two begins": ("b1 b1 c1", "", {}, "T1 begins though it has begun"),
    "cycle of derivations": (
        "d1(y@1|z@1) d1(z@1|y@1) c1", "y@1; z@1", {},
        "y@1 derives from z@1, which derives from y@1",
    ),
    "version that derives from itself": ("d1(y@1|y@1) c1", "y@1", {}, "y@1 derives from y@1"),
    "version behind a cycle": (
        "d1(x@1|y@1) d1(y@1|z@1) d1(z@1|y@1) c1", "x@1; y@1; z@1", {},
        "y@1 derives from z@1, which derives from y@1",
    ),
    "two writers of a version": (
        "w1(x@1) w2(x@1) c1 c2", "x@1", {}, "T2 writes x@1, which T1 has already made"
    ),
    "version both written and derived": (
        "w1(x@1) d2(x@1|y@0) c1 c2", "x@1; y@0", {}, "T2 derives x@1, which T1 has already made"
    ),
    "order without a committed version": (
        "w1(x@1) c1 w2(x@2) c2", "x@1", {}, "T2 commits x@2, which the order of x lacks"
    ),
    "order without a derived version": (
        "d1(y@1|x@0) c1", "x@0", {}, "T1 commits y@1, which the order of y lacks"
    ),
    "order with a version twice": ("w1(x@1) c1", "x@1 << x@1", {}, "the order of x has x@1 twice"),
    "order with another object's version": (
        "w1(x@1) w1(y@1) c1", "x@1 << y@1", {}, "the order of x has y@1"
    ),
    "order with an aborted version": (
        "w1(x@1) a1", "x@1", {}, "the order of x has x@1, but T1 did not commit"
    ),
    "order with an intermediate version": (
        "w1(x@1.1) w1(x@1.2) c1", "x@1.1 << x@1.2", {},
        "the order of x has x@1.1, but T1 made another after it",
    ),
    "initial version that is not first": (
        "w1(x@1) c1", "x@1 << x@0", {},
        "the order of x has, though not first, x@0, which nobody writes or derives",
    ),
    "read before its write": (
        "r2(x@1) w1(x@1) c1 c2", "x@1", {}, "T2 reads x@1 before T1 writes it"
    ),
    "predicate read before a write": (
        "p2(P:x@1) w1(x@1) c1 c2", "x@1", {"P": ("x", "")}, "T2 reads x@1 before T1 writes it"
    ),
    "read of what derives from a later write": (
        "r2(y@3) c2 w1(x@1) c1 d3(z@3|x@1) d3(y@3|z@3) c3", "x@1; y@3; z@3", {},
        "T2 reads y@3, which derives from x@1, before T1 writes x@1",
    ),
    "predicate read of what derives from a later write": (
        "p2(P:y@3) c2 d3(y@3|x@1) c3 w1(x@1) c1", "x@1; y@3", {"P": ("y", "")},
        "T2 reads y@3, which derives from x@1, before T1 writes x@1",
    ),
    "undefined predicate": (
        "p1(P:x@0) c1", "x@0", {}, "a transaction reads by P, which no predicate is called"
    ),
    "version set outside the domain": (
        "p1(P:x@0) c1", "x@0", {"P": ("y", "")}, "T1 reads by predicate P and sees x@0, of no object of it"
    ),
    "version set with two versions of an object": (
        "w1(x@1) c1 p2(P:x@0,x@1) c2", "x@0 << x@1", {"P": ("x", "")},
        "T2 reads by predicate P and sees two versions of x",
    ),
    "match outside the domain": (
        "w1(x@1) c1", "x@1", {"P": ("y", "x@1")}, "P matches x@1, of an object it does not range over"
    ),
    "match of nobody's version": (
        "w1(x@1) c1", "x@1", {"P": ("x", "x@9")}, "P matches x@9, which nobody writes or derives"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_history_is_unknown_and_says_why(case: str) -> None:
    text, orders, predicates, problem = IMPOSSIBLE[case]
    given = history(text, orders, predicates, id=case)
    result = isolation.check(given)
    assert result.problem == problem
    assert result.unknown == PHENOMENA
    assert {result.verdict(level) for level in LEVELS} == {Verdict.UNKNOWN}
    assert (result.id, result.strongest, result.holding) == (case, (), ())
    found = result.to_dict()
    assert (found["phenomena"], found["strongest"], found["problem"]) == (None, None, problem)
    assert isolation.check(loads(dumps(given))) == result


# What is possible, though near to what is not.
POSSIBLE: dict[str, tuple[str, str, dict[str, tuple[str, str]]]] = {
    "initial version that is first": ("r1(x@7) w1(x@1) c1", "x@7 << x@1", {}),
    "initial version alone": ("r1(x@7) c1", "x@7", {}),
    "two derivations of an object in one transaction": (
        "w1(x@1) d1(y@1|x@1) d1(y@2|x@1) c1", "x@1; y@1 << y@2", {}
    ),
    "earlier derivation in no order": ("w1(x@1) d1(y@1|x@1) d1(y@2|x@1) c1", "x@1; y@2", {}),
    "derivation of an aborted transaction in the order": ("w1(x@1) c1 d2(y@2|x@1) a2", "x@1; y@2", {}),
    "derivation from nothing": ("d1(y@1|) c1", "y@1", {}),
    "derivation after its read": ("w1(x@1) c1 r2(y@3) c2 d3(y@3|x@1) c3", "x@1; y@3", {}),
    "derivation before its source": ("d3(y@3|x@1) c3 w1(x@1) c1 r2(y@3) c2", "x@1; y@3", {}),
    "begin and commit alone": ("b1 c1", "", {}),
    "nothing at all": ("", "", {}),
    "orders and predicates alone": ("", "x@0; y@7", {"P": ("x", "x@0")}),
    "predicate over unborn objects": ("p1(P:) c1", "", {"P": ("x, y", "")}),
    "predicate that nobody reads by": ("w1(x@1) c1", "x@1", {"P": ("x", "x@1")}),
}  # fmt: skip


@pytest.mark.parametrize("case", POSSIBLE)
def test_a_possible_history_is_judged(case: str) -> None:
    text, orders, predicates = POSSIBLE[case]
    result = isolation.check(history(text, orders, predicates))
    assert (result.problem, result.phenomena, result.strongest) == (None, (), ("PL-SI", "PL-3"))


def line(*, ops: Any = (), vo: Any = None, more: str = "") -> str:
    return f'{{"ops": {json.dumps(ops)}, "vo": {json.dumps({} if vo is None else vo)}{more}}}'


# Lines that are not in the notation, and what is said.
UNREADABLE = {
    '{"ops": [': "it is not JSON: Expecting value at character 10",
    "[" * 100_000: "it is nested too deeply",
    "[]": "it is no JSON object",
    '{"vo": {}}': "it has no field 'ops'",
    '{"ops": []}': "it has no field 'vo'",
    '{"ops": [], "vo": {}, "ops": []}': "it names 'ops' twice",
    '{"ops": [], "vo": {"x": ["x@1"], "x": ["x@2"]}}': "it has two orders for x",
    line(more=', "pred": {"P": {"dom": [], "match": []}, "P": {}}'): "it defines P twice",
    '{"ops": [], "vo": {"\\ud800": [], "\\ud800": []}}': 'vo is "\\ud800", half a character',
    line(more=', "pred": {"\\ud800": {}, "\\ud800": {}}'): 'pred is "\\ud800", half a character',
    line(vo={"": []}): 'vo is "", which is no name',
    line(more=', "pred": {"": {"dom": [], "match": []}}'): 'pred is "", which is no name',
    line(more=', "pred": {"P": {"dom": [""], "match": []}}'): 'an object of P is "", which is no name',
    line(more=', "id": 7'): "id is 7, no text",
    line(ops={}): "ops is {}, no list",
    line(vo=[]): "vo is [], no JSON object",
    line(ops=["b1"]): 'operation 1 is "b1", no list',
    line(ops=[["b", 1], []]): "operation 2 is [], which begins with none of b, c, a, r, w, d, p",
    line(ops=[["x", 1]]): 'operation 1 is ["x", 1], which begins with none of b, c, a, r, w, d, p',
    line(ops=[["r", 1]]): 'operation 1 is ["r", 1], which has not 3 parts',
    line(ops=[["b", "1"]]): 'operation 1 is ["b", "1"], whose transaction is no number from 0 on',
    line(ops=[["b", True]]): 'operation 1 is ["b", true], whose transaction is no number from 0 on',
    line(ops=[["b", -1]]): 'operation 1 is ["b", -1], whose transaction is no number from 0 on',
    line(ops=[["b", 1.0]]): 'operation 1 is ["b", 1.0], whose transaction is no number from 0 on',
    line(ops=[["b", 2**63]]):
        'operation 1 is ["b", 9223372036854775808], whose transaction is no number from 0 on',
    line(ops=[["r", 1, 7]]): "a version of operation 1 is 7, no text",
    line(ops=[["r", 1, "x"]]): '"x" of operation 1 is no version: they are object@tag',
    line(ops=[["r", 1, "@1"]]): '"@1" of operation 1 is no version: they are object@tag',
    line(ops=[["r", 1, "x@"]]): '"x@" of operation 1 is no version: they are object@tag',
    line(ops=[["d", 1, "y@1", "x@1"]]): 'operation 1 is "x@1", no list',
    line(ops=[["p", 1, 7, []]]): "operation 1 is 7, no text",
    line(vo={"x": "x@1"}): 'the order of x is "x@1", no list',
    line(vo={"x": [1]}): "a version of the order of x is 1, no text",
    line(ops=[["r", 1, "\ud800@1"]]): 'a version of operation 1 is "\\ud800@1", half a character',
    line(more=', "pred": []'): "pred is [], no JSON object",
    line(more=', "pred": {"P": {"dom": []}}'): "predicate P has no field 'match'",
    line(more=', "pred": {"P": {"dom": "x", "match": []}}'): 'the domain of P is "x", no list',
    line(more=', "pred": {"P": {"dom": [1], "match": []}}'): "an object of P is 1, no text",
    line(more=', "pred": {"P": {"dom": [], "match": ["x"]}}'):
        '"x" of what matches P is no version: they are object@tag',
}  # fmt: skip


@pytest.mark.parametrize("text", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_line_that_is_not_in_the_notation_is_refused(text: str) -> None:
    with pytest.raises(UnusableHistory) as refused:
        loads(text)
    assert str(refused.value) == UNREADABLE[text]


def test_a_line_that_was_read_is_judged_as_it_is() -> None:
    assert isolation.check(json.loads(line())).strongest == ("PL-SI", "PL-3")
    refused = isolation.check({"id": "none", "ops": []})
    assert (refused.id, refused.problem) == ("none", "it has no field 'vo'")


def test_other_fields_are_left_to_their_readers() -> None:
    assert loads(line(more=', "title": 7, "expect": {"phen": []}')) == loads(line())


def test_a_tag_that_holds_an_at_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="object@tag"):
        dumps(History(operations=(Write(1, Version("x", "1@2")),), orders={}))


def test_derivations_without_end_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each refresh derives from the one before, so that closures grow with the square of the refreshes."""
    text = " ".join(f"w1(x@{n}) d1(y@{n}|x@{n}{f',y@{n - 1}' if n else ''})" for n in range(9)) + " c1"
    given = history(text, "x@8; y@8")
    assert isolation.check(given).strongest == ("PL-SI", "PL-3")
    monkeypatch.setattr(closures, "VALUES_MAX", 40)
    assert isolation.check(given).problem == "its versions derive from more than 40 others together"
