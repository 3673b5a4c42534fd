"""A question that is wrong at times is asked again and again before it is called a race."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mutants.small_engine.catalogue import MUTANTS
from mutants.small_engine.racing import RacingEngine
from oracles.answers.contradictions import Contradiction, Discrepancy
from skipproof.stand.hunt import hunting, races
from skipproof.stand.hunt.causes import traits
from skipproof.stand.hunt.examining import QuestionResult, examine
from skipproof.stand.hunt.findings import Blame, ConfirmedFinding, blame_text, confirm
from skipproof.stand.hunt.hunting import Limits, capabilities, hunt
from skipproof.stand.hunt.races import RaceCount, find_race, question_to_ask_again
from skipproof.stand.hunt.state import Finding
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.workers import EngineClient, Worker
from strategies.engines.engine_tables import StoredTable
from strategies.engines.files import write_stored
from strategies.engines.questions import Call, Column, Json, Literal, Question, Relation
from strategies.engines.worlds import World

A = Column("a", "int32")
TABLE = StoredTable(columns=(A, Column("rid", "int64")), blocks=(((1, 0), (2, 1)), ((3, 2),)))
BELOW_3 = Call("<", (A, Literal(3, "int32")))


def world(question: Question, **settings: str) -> World:
    return World(tables={"t": TABLE}, settings=settings, questions=(question,))


def question(limit: int | None = None) -> Question:
    area = "filter" if limit is None else "limit"
    return Question(area=area, source=Relation(table="t", where=BELOW_3), select=("a", "rid"), limit=limit)


def race_in(engine: EngineClient, of: Question) -> tuple[World, QuestionResult] | None:
    (outcome,) = examine(engine, world(of))
    return find_race(engine, world(of), outcome, write=write_stored)


def confirmed(engine: EngineClient, failing: World, outcome: QuestionResult) -> ConfirmedFinding:
    assert outcome.contradiction is not None
    own_traits = traits(failing, outcome.question, outcome.contradiction)
    finding = Finding(world=failing, outcome=outcome, traits=own_traits, seed=0, examples=1, seconds=0.0)
    return confirm(engine, finding, write=write_stored)


def test_a_race_is_found_and_told_apart_from_a_fault_that_one_thread_has_too() -> None:
    engine = RacingEngine()
    race = race_in(engine, question())
    assert race is not None
    racing_world, outcome = race
    assert racing_world.settings == {"threads": "4"}
    assert outcome.contradiction is not None
    assert outcome.contradiction.verdict is Discrepancy.LOST
    assert outcome.with_statistics["rows"] == [[2, 1]]
    finding = confirmed(engine, racing_world, outcome)
    assert finding.blame is Blame.RACE
    assert blame_text(finding).endswith("(a race: 7 of 20 wrong, 0 of 20 single-threaded)")
    both = confirmed(RacingEngine(races_single=True), racing_world, outcome)
    assert both.blame is not Blame.RACE
    assert str(both.race).startswith("no race: ")


def test_without_a_switch_of_threads_nothing_is_called_a_race() -> None:
    engine = RacingEngine(races_single=True)
    race = race_in(engine, question())
    assert race is not None
    engine.hello = replace(engine.hello, single_threaded={})
    finding = confirmed(engine, *race)
    assert finding.race in (RaceCount(6, None), RaceCount(7, None))
    assert finding.blame is not Blame.RACE
    assert race_in(engine, question()) is None


def test_no_files_are_written_for_an_engine_without_a_switch_of_threads() -> None:
    engine = RacingEngine(races_single=True)
    engine.hello = replace(engine.hello, single_threaded={})
    writes: list[StoredTable] = []

    def write(table: StoredTable, directory: Path) -> list[Path]:
        writes.append(table)
        return write_stored(table, directory)

    right = QuestionResult(question=question(), without={"rows": [[1, 0], [2, 1]]})
    assert find_race(engine, world(question()), right, write=write) is None
    assert not writes
    assert find_race(RacingEngine(), world(question()), right, write=write) is not None
    assert writes


def test_a_finding_that_is_always_wrong_is_asked_no_further() -> None:
    (wrong,) = (mutant.engine() for mutant in MUTANTS if mutant.name == "null asks for all")
    table = replace(TABLE, blocks=(((None, 0), (2, 1)),))
    is_null = Relation(table="t", where=Call("is null", (A,)))
    failing = replace(world(replace(question(), source=is_null)), tables={"t": table})
    (outcome,) = examine(wrong, failing)
    assert confirmed(wrong, failing, outcome).race is None


class Varying(SmallEngine):
    """A correct engine that gives another row each time that LIMIT leaves a choice."""

    def __init__(self) -> None:
        super().__init__()
        self.hello = RacingEngine().hello
        self._count = 0

    def ask(self, **request: Any) -> dict[str, Any]:
        """Answer a request, without its LIMIT first."""
        limits = [requests["limit"] for requests in request["questions"]]
        questions = [{**requests, "limit": None} for requests in request["questions"]]
        answers = super().ask(**{**request, "questions": questions})["answers"]
        for answer, limit in zip(answers, limits, strict=True):
            self._count += 1
            turn = self._count % max(1, len(answer["rows"]))
            answer["rows"] = (answer["rows"][turn:] + answer["rows"][:turn])[:limit]
        return {"answers": answers}


def by_equality(_: Question, answer: Json, whole: Json) -> Contradiction | None:
    """Compare an answer wrongly: with the first rows of the right one."""
    return None if answer == whole[: len(answer)] else Contradiction(Discrepancy.LOST, "")


def test_two_right_answers_that_differ_are_no_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """If answers were compared with each other, they would be."""
    assert race_in(Varying(), question(limit=1)) is None
    monkeypatch.setattr(races, "find_contradiction", by_equality)
    assert race_in(Varying(), question(limit=1)) is not None


def result(area: str, **of_result: Any) -> QuestionResult:
    return QuestionResult(question=replace(question(), area=area), **of_result)


def test_of_questions_whose_threads_share_filters_each_class_is_asked_again_as_often() -> None:
    """All other classes together are asked as often as one of these."""
    outcomes = [result(area) for area in ("filter", "window", "aggregate", "set", "join", "topk", "limit")]
    times: Counter[str] = Counter()
    for _ in range(12):
        chosen = question_to_ask_again(outcomes, times)
        assert chosen is not None
        times[chosen[0]] += 1
    assert times == {"": 3, "aggregate": 3, "join": 3, "topk": 3}


def test_what_is_wrong_refused_or_a_change_is_not_asked_again() -> None:
    wrong = Contradiction(Discrepancy.LOST, "one row less")
    change = QuestionResult(question=replace(question(), area="dml", change="a"))
    outcomes = [result("join", contradiction=wrong), result("join", refused="no such type"), change]
    assert question_to_ask_again(outcomes, Counter()) is None
    assert question_to_ask_again([*outcomes, result("join")], Counter()) == ("join", result("join"))


def races_in_hunt() -> list[Mapping[str, str]]:
    """Return the settings of findings of a hunt that draws no number of threads itself."""
    engine = RacingEngine()
    able = replace(capabilities(engine, areas=("filter",)), settings={})
    state = hunt(engine, able, Limits(examples=120, findings=1, worlds_to_shrink=0))
    return [finding.world.settings for finding in state.findings]


def test_a_hunt_asks_some_questions_with_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunting, "WORLDS_PER_RACE", 2)
    assert races_in_hunt() == [{"threads": "4"}]
    monkeypatch.setattr(hunting, "WORLDS_PER_RACE", 1_000_000)
    assert races_in_hunt() == []


@pytest.mark.parametrize("name", ["arrow", "datafusion", "deltalake", "duckdb"])
def test_an_engine_with_threads_has_other_numbers_of_them(
    engine_worker: Callable[[str], Worker], name: str
) -> None:
    """Else no race would ever be sought."""
    hello = engine_worker(name).hello
    assert list(races.parallel_worlds(hello, world(question())))
    for switch, single in hello.single_threaded.items():
        assert single in hello.settings[switch]
