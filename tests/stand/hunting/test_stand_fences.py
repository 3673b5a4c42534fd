"""A loud cause is fenced off by all of its traits, so that a quiet cause behind it is still found."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from mutants.small_engine.catalogue import MUTANTS
from mutants.small_engine.mutating import compose
from skipproof.stand.hunt import fences, hunting
from skipproof.stand.hunt.causes import traits
from skipproof.stand.hunt.examining import QuestionResult, examine
from skipproof.stand.hunt.failures import Failures
from skipproof.stand.hunt.hunting import Hunt, Limits, capabilities, hunt
from skipproof.stand.hunt.shrinking import Fails
from skipproof.stand.hunt.state import Fence
from skipproof.stand.reference.engine import SmallEngine
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import Call, Column, Json, Key, Literal, Question, Relation, Term
from strategies.engines.worlds import World

A, RID = Column("a", "int32"), Column("rid", "int64")
LOUD, QUIET = "nulls differ", "null asks for all"
DUPLICATES = 12
# Shrinking has all the time that it wants.
LIMITS = Limits(findings=20, shrinking_share=0.999)


def engine(*names: str) -> SmallEngine:
    return compose(*(mutant for mutant in MUTANTS if mutant.name in names))


def world(where: Term, *cells: Json, column: Column = A) -> World:
    rows = tuple((cell, row) for row, cell in enumerate(cells))
    question = Question(area="filter", source=Relation(table="t", where=where), select=("a", "rid"))
    return World(
        tables={"t": StoredTable(columns=(column, RID), blocks=(rows,))}, settings={}, questions=(question,)
    )


def differs(literal: int, *cells: Json) -> World:
    """Return a world that the loud mutant answers wrongly if a cell is NULL."""
    return world(Call("!=", (A, Literal(literal, "int32"))), *cells)


def is_null(*cells: Json) -> World:
    """Return a world that the quiet mutant answers wrongly if one cell is NULL and another is not."""
    return world(Call("is null", (A,)), *cells)


def failures_of(wrong: SmallEngine, worlds: list[World]) -> Hunt:
    """Return the state of a hunt that drew these worlds, one after the other."""
    state = Hunt()

    def examine_alone(candidate: World) -> QuestionResult:
        (outcome,) = examine(wrong, candidate)
        return outcome

    failures = Failures(state, LIMITS, examine=examine_alone, sought=lambda *_: True, switches={})
    for drawn_world in worlds:
        outcome = examine_alone(drawn_world)
        state.worlds, state.examples = state.worlds + 1, state.examples + 1_000
        assert outcome.contradiction is not None
        failures.handle(drawn_world, outcome, seed=0)
    failures.finish()
    return state


def loud_worlds(count: int) -> list[World]:
    return [differs(1, None, number + 2) for number in range(count)]


def one_trait(which: str) -> Callable[..., frozenset[str]]:
    """Return a mutant of fences that knows one trait of a cause alone."""

    def conjunction(*_: object, **__: object) -> frozenset[str]:
        return frozenset({which})

    return conjunction


def wrong_by_one(state: Hunt, fault: str, other: str) -> list[World]:
    """Return the worlds of findings that a mutant answers wrongly alone, and the other one rightly."""
    return [
        finding.world
        for finding in state.findings
        if examine(engine(fault), finding.world)[0].contradiction is not None
        and examine(engine(other), finding.world)[0].contradiction is None
    ]


def quiet_findings(state: Hunt) -> list[World]:
    return wrong_by_one(state, QUIET, LOUD)


def test_a_quiet_mutant_that_shares_traits_with_a_loud_one_is_found_behind_its_fence() -> None:
    """Both need NULL in a column of integers."""
    state = failures_of(engine(LOUD, QUIET), [*loud_worlds(20), is_null(None, 5), *loud_worlds(5)])
    (fence,) = state.fences
    assert fence.traits == {"filter: rows added", "inequality", "NULL"}
    assert state.fenced[fence.ordinal] >= 5
    assert len(quiet_findings(state)) == 1


@pytest.mark.parametrize("trait", ["NULL", "integer"])
def test_a_fence_of_one_trait_hides_the_quiet_mutant(monkeypatch: pytest.MonkeyPatch, trait: str) -> None:
    """So the test before can fail."""
    monkeypatch.setattr(fences, "minimal_conjunction", one_trait(trait))
    state = failures_of(engine(LOUD, QUIET), [*loud_worlds(20), is_null(None, 5), *loud_worlds(5)])
    assert quiet_findings(state) == []


def top_k(*cells: Json, limit: int, offset: int = 0) -> World:
    """Return a world whose rows are ordered, NULL first."""
    (filtered,) = is_null(*cells).questions
    question = replace(
        filtered,
        area="topk",
        source=Relation(table="t"),
        order=(Key(A, nulls_first=True), Key(RID)),
        limit=limit,
        offset=offset,
    )
    rows = tuple(((cell, row),) for row, cell in enumerate(cells))
    table = StoredTable(columns=(A, RID), blocks=rows)
    return World(tables={"t": table}, settings={}, questions=(question,))


FIRST, SECOND = "offset is lost", "nulls never come first"


def needs_null(state: Hunt) -> list[World]:
    return wrong_by_one(state, SECOND, FIRST)


@pytest.mark.parametrize("known", [1, 20])
def test_a_failure_with_all_traits_of_a_finding_is_another_one_if_another_trait_cures_it(
    monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    """Rows of any value are lost by an OFFSET, and NULL by an order, also behind the fence of the first."""
    first = [top_k(0, number, limit=1, offset=1) for number in range(1, known + 1)]
    null = top_k(5, None, 6, limit=1)
    state = failures_of(engine(FIRST, SECOND), [*first, null, *first[:2]])
    finding, other = state.findings
    assert finding.traits == {"topk: rows lost", "LIMIT", "integer"}
    assert other.traits == finding.traits | {"NULL"}
    assert needs_null(state) == [other.world]
    assert bool(state.fences) == (known > 10)
    # Without the cure it would be a duplicate.
    monkeypatch.setattr("skipproof.stand.hunt.failures.another_cure", lambda *_, **__: None)
    assert not needs_null(failures_of(engine(FIRST, SECOND), [*first, null, *first[:2]]))


def test_what_a_failure_is_shrunk_to_is_cured_by_the_same_trait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller world that shows the first fault instead is passed over."""
    first, null = top_k(0, 1, limit=1, offset=1), top_k(5, None, 6, limit=1)

    def tries(world: World, fails: Fails, *, tries_max: int) -> Iterator[tuple[World, QuestionResult] | None]:
        result = fails(first)
        yield None if result is None else (first, result)

    monkeypatch.setattr("skipproof.stand.hunt.failures.tried_worlds", tries)
    assert needs_null(failures_of(engine(FIRST, SECOND), [first, null])) == [null]
    monkeypatch.setattr("skipproof.stand.hunt.failures.has_cure", lambda *_, **__: True)
    assert needs_null(failures_of(engine(FIRST, SECOND), [first, null])) == []


def shrinks_each(types: list[str]) -> list[bool]:
    """Tell of failures like one finding, each with a column of a type, whether it is shrunk."""
    wrong = engine(LOUD)
    state = Hunt(earlier=(frozenset({"filter: rows added", "inequality", "NULL"}),))
    failures = Failures(
        state,
        LIMITS,
        examine=lambda candidate: examine(wrong, candidate)[0],
        sought=lambda *_: True,
        switches={},
    )
    tries = []
    for type_ in types:
        column = Column("a", type_)
        failing = world(Call("!=", (column, Literal(1, type_))), 1, None, 5, column=column)
        (outcome,) = examine(wrong, failing)
        before, state.examples = state.worlds_shrinking, state.examples + 1_000
        failures.handle(failing, outcome, seed=0)
        tries.append(state.worlds_shrinking > before)
    return tries


def test_the_first_failures_of_each_type_are_shrunk_although_a_finding_is_like_them(monkeypatch) -> None:
    """A fault of one type would else be taken for a fault of all; the mutant does."""
    types = ["int32"] * 5 + ["float64"] * 4
    assert shrinks_each(types) == [True] * 3 + [False] * 2 + [True] * 3 + [False]
    monkeypatch.setattr("skipproof.stand.hunt.failures.type_traits", lambda failure_traits: frozenset())
    assert shrinks_each(types) == [True] * 3 + [False] * 6


def test_what_is_behind_a_fence_is_not_shrunk_but_in_one_world_of_twenty() -> None:
    """There, a failure with another cause too is made simpler until it is outside of the fence."""
    both = world(Call("or", (Call("!=", (A, Literal(5, "int32"))), Call("is null", (A,)))), None, 5)
    wrong = engine(LOUD, QUIET)
    fence = Fence(ordinal=0, traits=frozenset({"NULL", "inequality", "integer"}))
    quiet_worlds = 0
    for worlds_before in (3, fences.WORLDS_PER_OPEN_WORLD - 1):
        (outcome,) = examine(wrong, both)
        assert outcome.contradiction is not None
        state = Hunt(fences=[fence], worlds=worlds_before + 1, examples=10_000)
        failures = Failures(
            state,
            LIMITS,
            examine=lambda candidate: examine(wrong, candidate)[0],
            sought=lambda *_: True,
            switches={},
        )
        failures.handle(both, outcome, seed=0)
        quiet_worlds += len(quiet_findings(state))
    assert quiet_worlds == 1


@pytest.mark.parametrize(
    ("worlds_before", "question_count", "failed", "is_asked"),
    [
        (3, 40, 20, False),
        # Too few failed, or were asked.
        (3, 40, 19, True),
        (3, 19, 19, True),
        # One world in twenty ignores fences.
        (fences.WORLDS_PER_OPEN_WORLD - 1, 40, 40, True),
    ],
)
def test_questions_that_mostly_fail_behind_a_fence_are_not_asked(
    worlds_before: int, question_count: int, failed: int, is_asked: bool
) -> None:
    """Questions that lack a trait of the fence are."""
    state = failures_of(engine(LOUD), loud_worlds(1))
    state.fences.append(Fence(ordinal=0, traits=frozenset({"filter: rows added", "inequality", "NULL"})))
    state.worlds, state.asked_behind[0], state.fenced[0] = worlds_before, question_count, failed
    behind, outside = differs(7, None, 3), is_null(None, 5)
    assert fences.without_fenced_questions(state, outside) == outside
    left = fences.without_fenced_questions(state, behind)
    assert left.questions == (behind.questions if is_asked else ())
    assert state.unasked == (not is_asked)


def test_a_hunt_ends_although_nothing_is_asked_behind_a_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question would be behind a fence; one set of tables in twenty is asked all the same."""
    question_count: list[World] = []

    def without_questions(state: Hunt, drawn_world: World) -> World:
        if fences.ignores_fences(state.worlds + 1):
            question_count.append(drawn_world)
            return drawn_world
        return replace(drawn_world, questions=())

    monkeypatch.setattr(hunting, "without_fenced_questions", without_questions)
    sound = SmallEngine()
    state = hunt(sound, capabilities(sound, areas=("filter",)), Limits(examples=10))
    assert state.examples >= 10
    assert state.worlds >= 20 * len(question_count)


def test_a_trait_stays_in_a_fence_only_if_the_failure_needs_it() -> None:
    """The type does not matter to the mutant, a page index neither; NULL does."""
    odd = differs(1, None, 2)
    odd = replace(
        odd,
        tables={
            name: replace(table, layout=replace(table.layout, page_index=True, filters=("a",)))
            for name, table in odd.tables.items()
        },
    )
    wrong = engine(LOUD)
    (outcome,) = examine(wrong, odd)
    assert outcome.contradiction is not None
    assert traits(odd, outcome.question, outcome.contradiction) > {"a page index", "a bloom filter"}

    def fails(candidate: World) -> QuestionResult | None:
        (result,) = examine(wrong, candidate)
        return result if result.contradiction is not None else None

    conjunction = fences.minimal_conjunction(odd, outcome, fails, tries_max=100)
    assert conjunction == {"filter: rows added", "inequality", "NULL"}
    untried = fences.minimal_conjunction(odd, outcome, fails, tries_max=0)
    assert untried >= {"a page index", "a bloom filter"}


class TickingClock:
    """A clock that goes on by one second each time that an engine is asked."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TickingEngine(SmallEngine):
    """A wrong engine that makes a clock go on."""

    def __init__(self, clock: TickingClock) -> None:
        super().__init__(engine(LOUD).rules)
        self._clock = clock

    def ask(self, **request: object) -> dict[str, object]:
        """Answer a request, which takes a second."""
        self._clock.now += 1.0
        return super().ask(**request)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_shrinking_takes_at_most_its_share_of_a_hunt_on_any_machine(share: float) -> None:
    """A fifth by default. Its last world may begin before the share is used up; more time would be used."""
    clock = TickingClock()
    slow = TickingEngine(clock)
    limits = Limits(seconds=80.0, findings=1_000, shrinking_share=share)
    state = hunt(slow, capabilities(slow, areas=("filter",)), limits, hunt_seed=3, clock=clock)
    assert Limits().shrinking_share == 0.2
    assert state.failures > 3
    assert (state.seconds_shrinking <= 0.2 * clock.now + 3.0) == (share == 0.2)


def test_shrinking_that_was_paused_goes_on_where_it_was() -> None:
    """However small the share is, each time it tries what it has not tried yet."""
    wrong, tried = engine(LOUD), list[str]()
    state, start = Hunt(), differs(1, *[None] * 3, *range(2, 9))

    def examine_alone(candidate: World) -> QuestionResult:
        tried.append(str(candidate))
        (outcome,) = examine(wrong, candidate)
        return outcome

    failures = Failures(
        state, Limits(examples=10_000), examine=examine_alone, sought=lambda *_: True, switches={}
    )
    failures.handle(start, examine(wrong, start)[0], seed=0)
    pauses = 0
    while not state.findings:
        state.examples += 8
        failures.continue_waiting()
        pauses += 1
    assert pauses > 10
    assert len(tried) == state.worlds_shrinking <= 2 * pauses
    assert sum(len(block) for block in state.findings[0].world.tables["t"].blocks) == 2


def test_without_a_limit_of_time_worlds_to_shrink_are_counted() -> None:
    """So the same seed has the same findings, however fast the machine is."""
    wrong = engine(LOUD)
    limits = Limits(examples=200, findings=1_000)
    state = hunt(wrong, capabilities(wrong, areas=("filter",)), limits, hunt_seed=3)
    assert 0 < state.worlds_shrinking <= 200 / 8 + 10
