"""Faults that a hunt knows from cures of its findings: it counts their failures in any class of questions."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from mutants.stand.queues import ComparedWithoutTime, ForeverKnown, KnowsNoFault, TakenByTheirSwitches
from oracles.answers.contradictions import Contradiction, Discrepancy, Oracle
from skipproof.stand.hunt import failures as handling
from skipproof.stand.hunt.causes import traits
from skipproof.stand.hunt.cures import is_cured
from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.failures import Failures
from skipproof.stand.hunt.known_faults import KnownFaults, cures_at_fault
from skipproof.stand.hunt.state import Finding, Hunt, Limits
from skipproof.stand.hunt.varying import Cure, CureKind
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import Call, Column, Literal, Question, Relation, Term, subterms
from strategies.engines.worlds import World

A, RID = Column("a", "int64"), Column("rid", "int64")
SWITCHES = {"pruning": ("true", "false"), "pushing": ("false", "true"), "pages": ("true", "false")}
PAIR = {"pruning": "false", "pushing": "true"}
EQUALITY = Call("=", (A, Literal(1, "int64")))
TRY_CAST = Call("=", (Call("try cast", (A,), "int8"), Literal(1, "int8")))


def world_of(area: str, settings: Mapping[str, str], where: Term = EQUALITY, *, null: bool = False) -> World:
    cell = None if null else 1
    table = StoredTable(columns=(A, RID), blocks=(((cell, 0), (2, 1)),))
    question = Question(area=area, source=Relation(table="t", where=where), select=("rid",))
    return World(tables={"t": table}, settings=settings, questions=(question,))


def result(world: World, wrong: Contradiction | None) -> QuestionResult:
    rows = {"rows": [[1]]}
    return QuestionResult(
        question=world.questions[0], contradiction=wrong, with_statistics=rows, without=rows
    )


def wrong_by_two_switches_or_null(world: World) -> QuestionResult:
    """Judge an engine that is wrong if two switches are set, and about NULL in tables read by `pushing`."""
    has_null = None in [row[0] for block in world.tables["t"].blocks for row in block]
    by_null = has_null and world.settings.get("pushing") == "true"
    is_wrong = world.settings.items() >= PAIR.items() or by_null
    return result(world, Contradiction(Discrepancy.ADDED, "one row more") if is_wrong else None)


def wrong_try_cast(world: World) -> QuestionResult:
    """Judge an engine that gets TRY_CAST and LIKE wrong, with and without statistics."""
    functions = {
        part.function
        for term in world.questions[0].terms
        for part in subterms(term)
        if isinstance(part, Call)
    }
    is_wrong = bool(functions & {"try cast", "like"})
    wrong = Contradiction(Discrepancy.LOST, "one row less", Oracle.REFERENCE) if is_wrong else None
    return result(world, wrong)


class Example:
    """The failures of a hunt, which one judge of worlds examines."""

    def __init__(self, judge: Callable[[World], QuestionResult], kind: type[Failures] = Failures) -> None:
        self.state = Hunt(examples=10_001)
        # Whether the answer to what failed is right when it is asked again.
        self.answers_rightly = False
        self._judge = judge
        self._failures = kind(
            self.state,
            Limits(examples=20_000, shrinking_share=0.999),
            examine=lambda world: result(world, None) if self.answers_rightly else judge(world),
            sought=lambda *_: True,
            switches=SWITCHES,
        )

    def handle(self, world: World) -> int:
        """Handle the failure of a world; return how many findings the hunt has with it."""
        self._failures.handle(world, self._judge(world), seed=0)
        self._failures.continue_waiting()
        return len(self.state.findings)

    def handle_areas(self, *areas: str) -> None:
        """Handle a failure of two switches in each class."""
        for area in areas:
            self.handle(world_of(area, {**PAIR, "pages": "false"}))


AREAS = ("filter", "aggregate", "window")


@pytest.mark.parametrize("kind", [KnownFaults, KnowsNoFault])
def test_what_needs_two_switches_is_one_fault_in_any_class(
    kind: type[KnownFaults], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first three findings are kept; after them another class of questions gives no new one."""
    monkeypatch.setattr(handling, "KnownFaults", kind)
    example = Example(wrong_by_two_switches_or_null)
    example.handle_areas(*AREAS)
    assert [finding.world.settings for finding in example.state.findings] == [PAIR] * 3
    count = example.handle(world_of("join", PAIR))
    assert (count, example.state.again.total()) == ((3, 1) if kind is KnownFaults else (4, 0))


def test_two_findings_are_no_known_fault() -> None:
    example = Example(wrong_by_two_switches_or_null)
    example.handle_areas(*AREAS[:2])
    assert example.handle(world_of("join", PAIR)) == 3


@pytest.mark.parametrize("kind", [KnownFaults, TakenByTheirSwitches])
def test_what_has_the_switches_and_does_not_need_both_is_shrunk(
    kind: type[KnownFaults], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is wrong about NULL, without the first of them, too."""
    monkeypatch.setattr(handling, "KnownFaults", kind)
    example = Example(wrong_by_two_switches_or_null)
    example.handle_areas(*AREAS)
    example.handle(world_of("join", PAIR, null=True))
    has_null = [None in finding.world.tables["t"].cells("a") for finding in example.state.findings]
    assert any(has_null) == (kind is KnownFaults)


@pytest.mark.parametrize("kind", [KnownFaults, ForeverKnown])
def test_a_failure_of_one_world_of_twenty_is_shrunk_whatever_is_known(
    kind: type[KnownFaults], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another fault may need the same switches."""
    monkeypatch.setattr(handling, "KnownFaults", kind)
    example = Example(wrong_by_two_switches_or_null)
    example.handle_areas(*AREAS)
    example.state.examples = 10_020
    assert example.handle(world_of("join", PAIR)) == (4 if kind is KnownFaults else 3)


@pytest.mark.parametrize("kind", [Failures, ComparedWithoutTime])
def test_what_may_be_of_a_known_fault_waits_while_there_is_no_time(kind: type[Failures]) -> None:
    """To ask for its cures is a part of shrinking, which has its share of a hunt."""
    example = Example(wrong_by_two_switches_or_null, kind)
    example.handle_areas(*AREAS)
    spent, example.state.worlds_shrinking = example.state.worlds_shrinking, 10**9
    example.handle(world_of("join", PAIR))
    assert (example.state.worlds_shrinking == 10**9) == (kind is Failures)
    example.state.worlds_shrinking = spent
    example.handle(world_of("filter", PAIR))
    assert (len(example.state.findings), example.state.again.total()) == (3, 2)


def test_a_failure_that_is_right_the_next_time_is_of_no_known_fault() -> None:
    """Whatever is taken away, its answer may be right."""
    example = Example(wrong_by_two_switches_or_null)
    example.handle_areas(*AREAS)
    race = world_of("join", {**PAIR, "pages": "false"})
    example.answers_rightly = True
    example.handle(race)
    assert not example.state.again
    assert example.state.findings[-1].world == race


def test_an_expression_that_both_forms_get_wrong_is_one_fault_in_any_class() -> None:
    example = Example(wrong_try_cast)
    for area in AREAS:
        example.handle(world_of(area, {}, TRY_CAST))
    assert len(example.state.findings) == 3
    assert example.handle(world_of("join", {}, Call("not", (TRY_CAST,)))) == 3
    assert example.handle(world_of("join", {}, Call("like", (A, Literal("%", "string"))))) == 4


def finding_of(world: World, judge: Callable[[World], QuestionResult]) -> Finding:
    outcome = judge(world)
    assert outcome.contradiction is not None
    return Finding(
        world=world,
        outcome=outcome,
        traits=traits(world, outcome.question, outcome.contradiction),
        seed=0,
        examples=1,
        seconds=0.0,
    )


def test_one_switch_is_no_fault() -> None:
    """All that is wrong with a feature is right without it."""
    by_null = finding_of(world_of("filter", {"pushing": "true"}, null=True), wrong_by_two_switches_or_null)
    by_two = finding_of(world_of("filter", PAIR), wrong_by_two_switches_or_null)
    cures = [
        cures_at_fault(finding, examine=wrong_by_two_switches_or_null, switches=SWITCHES)
        for finding in (by_null, by_two)
    ]
    names = ("pruning=true", "pushing=false")
    assert cures == [frozenset(), frozenset(Cure(CureKind.SWITCH, name) for name in names)]


def test_an_error_is_told_by_its_words() -> None:
    def judge(world: World) -> QuestionResult:
        is_wrong = wrong_by_two_switches_or_null(world).contradiction is not None
        return result(world, Contradiction(Discrepancy.RAISED, "overflow") if is_wrong else None)

    finding = finding_of(world_of("filter", PAIR), judge)
    assert cures_at_fault(finding, examine=judge, switches=SWITCHES) == frozenset()


def test_an_answer_of_which_the_reference_has_no_opinion_cures_nothing_that_it_contradicts() -> None:
    finding = finding_of(world_of("filter", {}, TRY_CAST), wrong_try_cast)
    right = wrong_try_cast(world_of("filter", {}))
    assert is_cured(finding, right)
    assert not is_cured(finding, replace(right, no_opinion="casts beyond a type"))
    by_two = finding_of(world_of("filter", PAIR), wrong_by_two_switches_or_null)
    assert is_cured(by_two, replace(right, no_opinion="casts beyond a type"))
