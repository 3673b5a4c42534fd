"""Failures that wait to be shrunk: a loud fault leaves places for what else a release does wrong."""

from dataclasses import replace

import pytest

from mutants.stand.queues import (
    AnyRankLeavesFirst,
    AnyWrongRowsFirst,
    AsTheyCome,
    ComparedEachTime,
    NewOnesFirst,
    ShrunkAtOnce,
    ShrunkOnce,
    SimplestFirst,
)
from oracles.answers.contradictions import Contradiction, Discrepancy, Oracle
from skipproof.stand.hunt.causes import traits
from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.failures import Failures
from skipproof.stand.hunt.state import Finding, Hunt, Limits
from skipproof.stand.hunt.varying import Cure, CureKind
from skipproof.stand.hunt.waiting import WAITING_MAX, Shrinking, Waiting
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import Call, Column, Literal, Question, Relation, Term
from strategies.engines.worlds import World

A, RID = Column("a", "int32"), Column("rid", "int64")
AREAS = ("filter", "limit", "topk", "join", "aggregate", "window", "set", "subquery")
CURE = Cure(CureKind.SWITCH, "pruning=off")
EQUALITY, NULL_TEST = Call("=", (A, Literal(1, "int32"))), Call("is null", (A,))
FORMS = (
    EQUALITY,
    NULL_TEST,
    Call("or", (EQUALITY, NULL_TEST)),
    Call("not", (EQUALITY,)),
    Call("not", (NULL_TEST,)),
)


def failure(
    error: str = "",
    *,
    area: str = "filter",
    where: Term = EQUALITY,
    cure: Cure | None = None,
    oracle: Oracle = Oracle.ITSELF,
) -> Shrinking:
    """Return a failure: an error with these words, or lost rows if there are none."""
    question = Question(area=area, source=Relation(table="t", where=where), select=("a",))
    table = StoredTable(columns=(A,), blocks=(((1,),),))
    world = World(tables={"t": table}, settings={}, questions=(question,))
    verdict, difference = Discrepancy.RAISED if error else Discrepancy.LOST, error or "0 rows instead of 1"
    wrong = Contradiction(verdict, difference, oracle)
    finding = Finding(
        world=world,
        outcome=QuestionResult(question=question, contradiction=wrong),
        traits=traits(world, question, wrong),
        seed=0,
        examples=1,
        seconds=0.0,
    )
    return Shrinking(finding, cure)


def errors(*words: str) -> list[Shrinking]:
    """Return a failure in each area for each error."""
    return [failure(error, area=area) for error in words for area in AREAS]


def queue_of(failures: list[Shrinking], kind: type[Waiting] = Waiting) -> Waiting:
    waiting = kind()
    for other in failures:
        waiting.add(other)
    return waiting


def pop_all(waiting: Waiting) -> list[Shrinking]:
    """Return what waits, in the order in which it is shrunk."""
    return [waiting.pop() for _ in range(len(waiting))]


def test_a_full_queue_of_errors_has_a_place_for_lost_rows() -> None:
    """As of an early release, which raises some errors wherever they can be raised, and loses rows once."""
    loud = errors("overflow", "another schema", "no such type", "no such column", "a panic", "a bound")
    assert len(loud) > WAITING_MAX
    lost = failure()
    assert lost in pop_all(queue_of([*loud, lost]))
    assert lost in pop_all(queue_of([lost, *loud]))
    assert lost not in pop_all(queue_of([*loud, lost], AsTheyCome))


def wrong_in_every_area(oracle: Oracle = Oracle.ITSELF) -> list[Shrinking]:
    """Return as many failures as there are places, all with the same functions."""
    failures = [failure(area=area, where=where, oracle=oracle) for area in AREAS for where in FORMS]
    assert len(failures) == WAITING_MAX
    return failures


def test_a_full_queue_has_a_place_for_a_function_that_no_other_failure_has() -> None:
    """Even if it has the most traits."""
    rare = failure(where=Call("not", (Call("or", (NULL_TEST, Call("<", (A, Literal(1, "int32"))))),)))
    assert rare in pop_all(queue_of([*wrong_in_every_area(), rare]))
    assert rare in pop_all(queue_of([rare, *wrong_in_every_area()]))
    assert rare not in pop_all(queue_of([*wrong_in_every_area(), rare], AsTheyCome))


@pytest.mark.parametrize("kind", [Waiting, AnyRankLeavesFirst])
def test_a_full_queue_of_what_both_forms_get_wrong_has_a_place_for_what_pruning_does(
    kind: type[Waiting],
) -> None:
    """It has its turn first, so that all others of its kind had theirs, and those of the queue are rarer."""
    waiting, pruned = kind(), failure()
    for where in FORMS:
        waiting.add(failure(where=where))
        waiting.pop()
    for other in (*wrong_in_every_area(Oracle.REFERENCE), pruned):
        waiting.add(other)
    assert (pruned in pop_all(waiting)) == (kind is Waiting)


def test_a_failure_with_common_symptoms_alone_finds_no_place() -> None:
    """It is counted as one that was not shrunk, and what waits stays."""
    common = failure(where=Call("not", (Call("or", (NULL_TEST, EQUALITY)),)))
    waiting = queue_of(wrong_in_every_area())
    assert not waiting.add(common)
    assert len(waiting) == WAITING_MAX
    assert common not in pop_all(waiting)
    assert common not in pop_all(queue_of([common, *wrong_in_every_area()]))


def test_a_failure_of_another_cause_keeps_its_place() -> None:
    """A cure tells it from what it looks like."""
    other_cause = failure(where=Call("not", (Call("or", (NULL_TEST, EQUALITY)),)), cure=CURE)
    assert other_cause in pop_all(queue_of([other_cause, *wrong_in_every_area()]))


def test_of_failures_with_one_key_the_simplest_waits() -> None:
    complex_, simple = failure("overflow", where=Call("not", (NULL_TEST,))), failure("overflow")
    for order in ([complex_, simple], [simple, complex_]):
        waiting = Waiting()
        assert waiting.add(order[0])
        assert not waiting.add(order[1])
        assert pop_all(waiting) == [simple]


def test_another_cause_is_shrunk_first_then_wrong_rows_then_errors() -> None:
    """Rows that vanish are what nobody notices; an error is noticed by whoever meets it."""
    error, lost, other_cause = failure("overflow"), failure(where=NULL_TEST), failure(cure=CURE)
    assert pop_all(queue_of([error, lost, other_cause])) == [other_cause, lost, error]


@pytest.mark.parametrize("kind", [Waiting, AnyWrongRowsFirst])
def test_what_only_pruning_gets_wrong_is_shrunk_before_what_both_forms_do(kind: type[Waiting]) -> None:
    """An early release is wrong in much that has nothing to do with pruning."""
    simple = failure(oracle=Oracle.REFERENCE)
    pruned = failure(where=Call("not", (Call("or", (NULL_TEST, EQUALITY)),)))
    order = pop_all(queue_of([simple, pruned], kind))
    assert order == ([pruned, simple] if kind is Waiting else [simple, pruned])


@pytest.mark.parametrize("kind", [Waiting, SimplestFirst])
def test_symptoms_that_had_no_turn_come_before_simple_failures(kind: type[Waiting]) -> None:
    """Each symptom of the last simple failure had its turn with one of the two before it."""
    simple = [failure(), failure(area="topk", where=NULL_TEST), failure(where=NULL_TEST)]
    rare = failure(where=Call("not", (Call("or", (NULL_TEST, EQUALITY)),)))
    order = pop_all(queue_of([*simple, rare], kind))
    assert order == ([*simple, rare] if kind is SimplestFirst else [*simple[:2], rare, simple[2]])


@pytest.mark.parametrize("kind", [Waiting, NewOnesFirst])
def test_a_failure_that_is_not_done_goes_on_before_others(kind: type[Waiting]) -> None:
    """Its symptoms have had their turn, so that it would be the last."""
    first, second = failure(), failure(area="topk", where=NULL_TEST)
    waiting = queue_of([first, second], kind)
    begun = waiting.pop()
    assert begun is first
    waiting.add(begun)
    assert (waiting.pop() is first) == (kind is Waiting)


def examine_two_faults(world: World) -> QuestionResult:
    """Judge an engine that loses a row of a small table, and where a condition meets NULL in a large one."""
    (question,) = world.questions
    cells = [row[0] for block in world.tables["t"].blocks for row in block]
    is_small, asks_of_null = 0 < len(cells) <= 2, question.source.where is not None and None in cells
    is_wrong = is_small or (asks_of_null and len(cells) >= 3)
    wrong = Contradiction(Discrepancy.LOST, "one row less") if is_wrong else None
    rows = {"rows": [[cell] for cell in cells]}
    return QuestionResult(question=question, contradiction=wrong, with_statistics=rows, without=rows)


def failures_of(kind: type[Failures], *, examples: int) -> tuple[Hunt, Failures, World]:
    """Return a hunt with so many examples, its failures, and a world that shrinks to another fault."""
    state = Hunt(examples=examples)
    failures = kind(
        state,
        Limits(examples=10_000, findings=20, shrinking_share=0.999),
        examine=examine_two_faults,
        sought=lambda *_: True,
        switches={},
    )
    question = Question(area="filter", source=Relation(table="t", where=EQUALITY), select=("rid",))
    table = StoredTable(columns=(A, RID), blocks=(((1, 0), (None, 1), (2, 2), (3, 3)),))
    return state, failures, World(tables={"t": table}, settings={}, questions=(question,))


@pytest.mark.parametrize("kind", [Failures, ShrunkAtOnce])
def test_a_new_failure_waits_while_others_do(kind: type[Failures]) -> None:
    """The time for shrinking is theirs first."""
    state, failures, drawn = failures_of(kind, examples=0)
    failures.handle(drawn, examine_two_faults(drawn), seed=0)
    state.examples = 10_000
    (question,) = drawn.questions
    other = replace(drawn, questions=(replace(question, area="limit", limit=3),))
    failures.handle(other, examine_two_faults(other), seed=0)
    assert (state.worlds_shrinking == 0) == (kind is Failures)
    failures.continue_waiting()
    assert state.worlds_shrinking > 0


@pytest.mark.parametrize("kind", [Failures, ComparedEachTime])
def test_a_failure_that_goes_on_is_not_compared_again(
    kind: type[Failures], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To look for its cures takes more worlds than a step of shrinking."""
    state, failures, drawn = failures_of(kind, examples=0)
    compared: list[Finding] = []

    def no_cure(_: Failures, failure: Finding, ordinal: int) -> None:
        compared.append(failure)

    monkeypatch.setattr(Failures, "_cure_of_another_cause", no_cure)
    failures.handle(drawn, examine_two_faults(drawn), seed=0)
    small = replace(drawn, tables={"t": replace(drawn.tables["t"], blocks=(((1, 0),),))})
    outcome = examine_two_faults(small)
    assert outcome.contradiction is not None
    same = traits(small, outcome.question, outcome.contradiction)
    while not state.findings:
        # There is time for one world more.
        state.examples += 1
        failures.continue_waiting()
        if state.worlds_shrinking == 1:
            state.earlier = (same,)
    assert (len(compared) <= 1) == (kind is Failures)


@pytest.mark.parametrize("kind", [Failures, ShrunkOnce])
def test_a_failure_whose_smaller_worlds_show_another_fault_is_shrunk_again(kind: type[Failures]) -> None:
    """The smallest world that fails has no NULL; the failure that was drawn is right without its NULL."""
    state, failures, drawn = failures_of(kind, examples=10_000)
    failures.handle(drawn, examine_two_faults(drawn), seed=0)
    failures.continue_waiting()
    are_of_null = ["NULL" in finding.traits for finding in state.findings]
    assert are_of_null == ([False, True] if kind is Failures else [False])
    assert not state.again
