"""Failures that wait to be shrunk: a loud fault leaves places for what else a release does wrong."""

import pytest

from mutants.stand.queues import AsTheyCome, ShrunkOnce
from oracles.answers.contradictions import Contradiction, Discrepancy
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


def failure(
    error: str = "", *, area: str = "filter", where: Term = EQUALITY, cure: Cure | None = None
) -> Shrinking:
    """Return a failure: an error with these words, or lost rows if there are none."""
    question = Question(area=area, source=Relation(table="t", where=where), select=("a",))
    table = StoredTable(columns=(A,), blocks=(((1,),),))
    world = World(tables={"t": table}, settings={}, questions=(question,))
    wrong = Contradiction(Discrepancy.RAISED if error else Discrepancy.LOST, error or "0 rows instead of 1")
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
    """As of an early release, which raises three errors wherever they can be raised, and loses rows once."""
    loud = errors("overflow", "another schema", "no such type")
    assert len(loud) > WAITING_MAX
    lost = failure()
    assert lost in pop_all(queue_of([*loud, lost]))
    assert lost in pop_all(queue_of([lost, *loud]))
    assert lost not in pop_all(queue_of([*loud, lost], AsTheyCome))


def test_places_are_shared_equally_by_symptoms() -> None:
    """Of a loud one that comes first some leave their places to others that come later."""
    loud = [failure("overflow", area=area) for area in AREAS]
    forms = [failure(area=area, where=where) for area in AREAS for where in (EQUALITY, NULL_TEST)]
    kept = pop_all(queue_of([*loud, *forms]))
    assert len(kept) == WAITING_MAX
    assert len([other for other in kept if other in forms]) == len(forms)
    assert [other for other in kept if other in loud]


def test_a_failure_of_the_loudest_symptom_finds_no_place() -> None:
    """It is counted as one that was not shrunk, and what waits stays."""
    waiting = queue_of(errors("overflow", "another schema", "no such type"))
    before = len(waiting)
    assert not waiting.add(failure("overflow", area="window", cure=CURE))
    assert len(waiting) == before == WAITING_MAX


def test_of_failures_with_one_symptom_the_simplest_have_the_places() -> None:
    """Those that come first have no right to their places."""
    many = [
        failure(where=Call("or", (EQUALITY, NULL_TEST)), cure=Cure(CureKind.SWITCH, str(number)))
        for number in range(WAITING_MAX - 2)
    ]
    complex_, other = failure(where=Call("not", (EQUALITY,))), failure(where=Call("not", (NULL_TEST,)))
    simple = failure()
    assert simple in pop_all(queue_of([*many, complex_, other, simple]))
    assert simple in pop_all(queue_of([*many, simple, complex_, other]))
    assert simple not in pop_all(queue_of([*many, complex_, other, simple], AsTheyCome))


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


def examine_two_faults(world: World) -> QuestionResult:
    """Judge an engine that loses a row of a small table, and where a condition meets NULL in a large one."""
    (question,) = world.questions
    cells = [row[0] for block in world.tables["t"].blocks for row in block]
    is_small, asks_of_null = 0 < len(cells) <= 2, question.source.where is not None and None in cells
    is_wrong = is_small or (asks_of_null and len(cells) >= 3)
    wrong = Contradiction(Discrepancy.LOST, "one row less") if is_wrong else None
    rows = {"rows": [[cell] for cell in cells]}
    return QuestionResult(question=question, contradiction=wrong, with_statistics=rows, without=rows)


@pytest.mark.parametrize("kind", [Failures, ShrunkOnce])
def test_a_failure_whose_smaller_worlds_show_another_fault_is_shrunk_again(kind: type[Failures]) -> None:
    """The smallest world that fails has no NULL; the failure that was drawn is right without its NULL."""
    state = Hunt()
    failures = kind(
        state,
        Limits(examples=10_000, findings=20, shrinking_share=0.999),
        examine=examine_two_faults,
        sought=lambda *_: True,
        switches={},
    )
    question = Question(area="filter", source=Relation(table="t", where=EQUALITY), select=("rid",))
    table = StoredTable(columns=(A, RID), blocks=(((1, 0), (None, 1), (2, 2), (3, 3)),))
    drawn = World(tables={"t": table}, settings={}, questions=(question,))
    state.examples = 10_000
    failures.handle(drawn, examine_two_faults(drawn), seed=0)
    failures.continue_waiting()
    are_of_null = ["NULL" in finding.traits for finding in state.findings]
    assert are_of_null == ([False, True] if kind is Failures else [False])
    assert not state.again
