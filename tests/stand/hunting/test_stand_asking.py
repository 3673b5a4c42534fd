"""The questions of a world are asked together, and an answer that several of them need is asked for once."""

from collections.abc import Sequence
from typing import Any

import pytest

from oracles.answers.contradictions import whole_questions, without_limit
from skipproof.stand.hunt.examining import ask_each, examine
from skipproof.stand.reference import opinions
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.workers import Died, TimedOut
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import Column, Key, Question, Relation
from strategies.engines.worlds import World

A = Column("a", "int32")
TABLE = StoredTable(columns=(A, Column("rid", "int64")), blocks=(((1, 0), (2, 1)), ((3, 2),)))
NOTHING = World(tables={}, settings={}, questions=())


def top_rows(limit: int | None, offset: int = 0) -> Question:
    order = (Key(A, descending=False, nulls_first=False),)
    return Question(
        area="topk",
        source=Relation(table="t"),
        select=("a", "rid"),
        order=order,
        limit=limit,
        offset=offset,
    )


class Recorder(SmallEngine):
    """A small engine that keeps the questions of each request; it may lose a row of answers from files."""

    def __init__(self, *, loses: bool = False) -> None:
        super().__init__()
        self.requests: list[list[Any]] = []
        self._loses = loses

    def ask(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request["questions"])
        reply = super().ask(**request)
        if self._loses and "files" in request["tables"]["t"]:
            for answer in reply["answers"]:
                del answer["rows"][-1:]
        return reply


def limits(asked: Sequence[Any]) -> list[tuple[int | None, int]]:
    return [(question["limit"], question["offset"]) for question in asked]


def test_questions_that_differ_in_limit_alone_share_the_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is compared with it, and the reference answers once."""
    reference_asked = []
    answer = opinions.answer_from_all_rows

    def count(question: Any, tables: Any) -> Any:
        reference_asked.append(question)
        return answer(question, tables)

    monkeypatch.setattr(opinions, "answer_from_all_rows", count)
    questions = (
        top_rows(1),
        top_rows(2, 1),
        top_rows(None, 2),
        Question(area="filter", source=Relation(table="t")),
    )
    world = World(tables={"t": TABLE}, settings={}, questions=questions)
    engine = Recorder()
    assert [outcome.contradiction for outcome in examine(engine, world)] == [None] * 4
    pruned, plain = engine.requests
    assert limits(pruned) == [(1, 0), (2, 1), (None, 2), (None, 0)]
    assert limits(plain) == [(None, 0), (None, 0)]
    assert len(reference_asked) == 2
    outcomes = examine(Recorder(loses=True), world)
    assert all(outcome.contradiction for outcome in outcomes[:3])


def test_a_question_asked_several_times_has_as_many_whole_answers() -> None:
    """One of them may be wrong where the engine has a race in the plain form."""
    world = World(tables={"t": TABLE}, settings={}, questions=(top_rows(1), top_rows(2), top_rows(1)))
    engine = Recorder()
    examine(engine, world)
    assert len(engine.requests[1]) == 2


def test_the_whole_questions_are_those_of_the_questions() -> None:
    questions = (top_rows(1), top_rows(2), top_rows(1), Question(area="filter", source=Relation(table="t")))
    whole, positions = whole_questions(questions)
    assert [whole[position] for position in positions] == [without_limit(question) for question in questions]


class Ending:
    """An engine that ends, or hangs, wherever a question has LIMIT 3."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.counts: list[int] = []

    def ask(self, *, questions: Sequence[Any], **_: Any) -> dict[str, Any]:
        self.counts.append(len(questions))
        if any(question["limit"] == 3 for question in questions):
            raise self._error
        return {"answers": [{"rows": []}] * len(questions)}


def kinds(answers: Sequence[dict[str, Any]]) -> list[str]:
    return [answer.get("kind", "answered") for answer in answers]


def test_the_question_at_which_an_engine_ends_is_found_by_parts() -> None:
    engine = Ending(Died("a signal"))
    answers = ask_each(engine, {}, NOTHING, [top_rows(limit) for limit in range(1, 17)])
    assert kinds(answers) == ["answered"] * 2 + ["failed"] + ["answered"] * 13
    assert engine.counts == [16, 4, 2, 2, 1, 1, 4, 4, 4]


def test_a_release_that_hangs_is_not_asked_the_rest() -> None:
    """The parts are asked as far as the one that hangs, and its questions alone; the others are refused."""
    engine = Ending(TimedOut("no reply within 5 s"))
    answers = ask_each(engine, {}, NOTHING, [top_rows(limit) for limit in (1, 2, 4, 5, 3, 6, 7, 8, 9)])
    assert kinds(answers) == ["answered"] * 4 + ["failed"] + ["unsupported"] * 4
    assert engine.counts == [9, 3, 3, 1, 1]


def test_tables_that_take_long_to_make_are_made_for_parts_of_the_questions() -> None:
    """Together the questions take too long, but none of them does."""

    class Slow(Ending):
        def ask(self, *, questions: Sequence[Any], **more: Any) -> dict[str, Any]:
            if len(questions) > 10:
                self.counts.append(len(questions))
                raise self._error
            return super().ask(questions=questions, **more)

    engine = Slow(TimedOut("no reply within 5 s"))
    assert kinds(ask_each(engine, {}, NOTHING, [top_rows(1)] * 40)) == ["answered"] * 40
    assert engine.counts == [40, 6, 6, 6, 6, 6, 6, 4]
