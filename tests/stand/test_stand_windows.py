"""Windows, set operations and repeated questions: plain Python, the reference and engines answer alike."""

from collections.abc import Callable
from typing import Any

import pytest
from judged_answers import mistake
from needs import needs_package

from oracles.answers.contradictions import Discrepancy, find_contradiction, without_limit
from skipproof.stand.adapters.serving import Adapter, _answer_request
from skipproof.stand.hunt.examining import QuestionResult, examine
from skipproof.stand.hunt.shrinking import smaller_worlds
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.workers import EngineClient, Worker
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import (
    Call,
    Column,
    Key,
    Literal,
    Question,
    Relation,
    SetOperation,
    Term,
    Window,
)
from strategies.engines.worlds import World

A, B, RID, U_A = Column("a", "int32"), Column("b", "string"), Column("rid", "int64"), Column("u_a", "int32")
ROWS = ((1, "x", 0), (2, "x", 1), (None, "y", 2)), ((2, None, 3), (3, "y", 4), (2, "y", 5))
OTHERS = ((2, 0), (2, 1), (None, 2)), ((7, 3),)
LAST = Key(RID, descending=True)
PARITY = Call("%", (A, Literal(2, "int32")), "int32")


def in_window(
    function: str, at_most: int, *order: Key, partition: Term | None = None, **others: Any
) -> Question:
    window = Window(function=function, at_most=at_most, order=order, partition=partition)
    return Question(area="window", source=Relation(table="t"), select=("rid",), window=window, **others)


def set_question(kind: str, *, every: bool = False, where: Term | None = None, **others: Any) -> Question:
    operation = SetOperation(kind=kind, all=every, right=Relation(table="u", where=where), columns=("u_a",))
    return Question(area="set", source=Relation(table="t"), select=("a",), set=operation, **others)


# Questions about `ROWS` and `OTHERS`, with their answers.
ANSWERS: dict[str, tuple[Question, list[list[Any]]]] = {
    "first rows": (in_window("row_number", 2, Key(A), Key(RID)), [[0], [1]]),
    "first rows of each text": (in_window("row_number", 1, LAST, partition=B), [[1], [3], [5]]),
    "first rows by an expression": (in_window("row_number", 1, LAST, partition=PARITY), [[2], [4], [5]]),
    "ranks": (in_window("rank", 2, Key(A)), [[0], [1], [3], [5]]),
    "ranks with a gap": (in_window("rank", 4, Key(A)), [[0], [1], [3], [5]]),
    "ranks without gaps": (in_window("dense_rank", 3, Key(A)), [[0], [1], [3], [4], [5]]),
    "NULL first": (in_window("dense_rank", 1, Key(A, nulls_first=True)), [[2]]),
    "ranks of each text": (in_window("rank", 1, Key(A), partition=B), [[0], [3], [5]]),
    "after a condition": (
        Question(
            area="window",
            source=Relation(table="t", where=Call(">", (A, Literal(1, "int32")))),
            select=("rid",),
            window=Window(function="row_number", at_most=1, order=(Key(RID),)),
        ),
        [[1]],
    ),
    "a union": (set_question("union"), [[None], [1], [2], [3], [7]]),
    "a union of all": (
        set_question("union", every=True, where=Call(">", (U_A, Literal(2, "int32")))),
        [[None], [1], [2], [2], [2], [3], [7]],
    ),
    "an intersection": (set_question("intersect"), [[None], [2]]),
    "an intersection of all": (set_question("intersect", every=True), [[None], [2], [2]]),
    "a difference": (set_question("except"), [[1], [3]]),
    "a difference of all": (set_question("except", every=True), [[1], [2], [3]]),
    "the greatest of a union": (set_question("union", order=(Key(A, descending=True),), limit=2), [[7], [3]]),
}
LACKED = {
    "polars": {name for name in ANSWERS if "rank" in name or "intersection" in name or "difference" in name}
    | {"NULL first"},
    "datafusion": {"an intersection of all", "a difference of all"},
}  # fmt: skip


def world(question: Question) -> World:
    tables = {"t": StoredTable(columns=(A, B, RID), blocks=ROWS)}
    if question.set is not None:
        tables["u"] = StoredTable(columns=(U_A, Column("u_rid", "int64")), blocks=OTHERS)
    return World(tables=tables, settings={}, questions=(question,))


def wrong(worker: EngineClient, name: str) -> Any:
    """Return what is wrong about an engine's answer, if something is."""
    question, rows = ANSWERS[name]
    return mistake(worker, world(question), rows)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_reference_answers_as_plain_python(name: str) -> None:
    assert wrong(SmallEngine(), name) is None


@pytest.mark.parametrize(
    ("numbers", "is_right"),
    [([0, 1], True), ([5, 0], True), ([1, 5], True), ([0, 4], False), ([0], False), ([0, 1, 3], False)],
)
def test_of_rows_with_equal_keys_any_may_be_first(numbers: list[int], is_right: bool) -> None:
    """Row 0 is the first, and 1, 3 and 5 share the second place."""
    question = in_window("row_number", 2, Key(A))
    (result,) = examine(SmallEngine(), world(question))
    assert result.contradiction is None
    contradiction = find_contradiction(question, [[number] for number in numbers], result.without["rows"])
    assert (contradiction is None) is is_right


@pytest.mark.parametrize("engine", ["duckdb", "datafusion", "polars"])
def test_engines_answer_the_same(engine: str, engine_worker: Callable[[str], Worker]) -> None:
    needs_package(engine)
    worker = engine_worker(engine)
    names = [name for name in ANSWERS if name not in LACKED.get(engine, ())]
    assert {name: errors for name in names if (errors := wrong(worker, name))} == {}


@pytest.mark.deep
@pytest.mark.spark
def test_spark_answers_the_same(engine_worker: Callable[[str], Worker]) -> None:
    worker = engine_worker("spark")
    assert {name: errors for name in ANSWERS if (errors := wrong(worker, name))} == {}


def test_a_window_without_an_order_keeps_any_rows_but_a_number_of_them() -> None:
    question, whole = in_window("row_number", 2), [[0], [1], [2]]
    assert without_limit(question).window is None
    assert without_limit(in_window("row_number", 2, LAST)).window is not None
    assert find_contradiction(question, [[0], [2]], whole) is None
    for answer, verdict in (([[0]], Discrepancy.LOST), ([[0], [1], [2]], Discrepancy.ADDED)):
        result = find_contradiction(question, answer, whole)
        assert result is not None
        assert result.verdict is verdict
    assert find_contradiction(question, [[0], [5]], whole) is not None
    limited = in_window("row_number", 2, limit=5, offset=1)
    assert find_contradiction(limited, [[2]], whole) is None
    assert find_contradiction(limited, [[1], [2]], whole) is not None


class Counts(Adapter):
    """An adapter whose answer is the number of times that any question was asked."""

    def hello(self) -> dict[str, Any]:
        return {}

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        return "asked = []\n", {}

    def ask(self, question: dict[str, Any]) -> str:
        return "asked.append(1)\nanswer = [[len(asked)]]\n"


def test_a_repeated_question_is_asked_in_one_session_and_its_program_too() -> None:
    questions = [{"repeat": 2}, {}]
    request = {"tables": {}, "questions": questions, "sources": True}
    answers = _answer_request(Counts(), request, {})["answers"]
    assert [answer["rows"] for answer in answers] == [[[2]], [[3]]]
    assert [answer["source"].count("append") for answer in answers] == [2, 1]


def least(question: Question, fails: Callable[[Question], bool]) -> Question:
    """Return the smallest question that fails."""

    def examine_candidate(candidate: World) -> QuestionResult | None:
        (query,) = candidate.questions
        return QuestionResult(question=query) if fails(query) else None

    *_, (smallest, _) = smaller_worlds(world(question), examine_candidate, tries_max=5_000)
    return smallest.questions[0]


def test_what_a_failure_does_not_need_is_left_out() -> None:
    wide = in_window("row_number", 2, Key(PARITY), LAST, partition=PARITY, repeat=2, limit=3, offset=1)
    smallest = least(wide, lambda query: True)
    assert (smallest.window, smallest.repeat, smallest.offset) == (None, 1, 0)
    windowed = least(wide, lambda query: query.window is not None and query.window.partition is not None)
    assert windowed.window == Window(function="row_number", at_most=2, partition=A, order=(LAST,))
    assert least(wide, lambda query: query.repeat == 2).window is None
    union = set_question("union", where=Call(">", (U_A, Literal(2, "int32"))), order=(Key(A),), limit=2)
    assert least(union, lambda query: True) == set_question("union")
