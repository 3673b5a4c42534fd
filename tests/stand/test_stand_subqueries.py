"""Subqueries: plain Python, the reference and the engines that have them answer alike."""

from collections.abc import Callable
from typing import Any

import pytest
from judged_answers import mistake
from needs import needs_package

from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.shrinking import smaller_worlds
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.workers import EngineClient, Worker
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import Call, Column, Key, Literal, Question, Relation, Subquery, Term
from strategies.engines.worlds import World

A, RID, U_A, U_RID = (
    Column(n, "int32" if n.endswith("a") else "int64") for n in ("a", "rid", "u_a", "u_rid")
)
ROWS = ((1, 0), (2, 1), (None, 2)), ((3, 3), (4, 4))
OTHERS = ((2, 0), (6, 1)), ((None, 2), (3, 3))
PRESENT = Relation(table="u", where=Call("is not null", (U_A,)))
NOTHING = Relation(table="u", where=Call(">", (U_A, Literal(9, "int32"))))
ONLY_NULL = Relation(table="u", where=Call("is null", (U_A,)))
FIRST = Relation(table="u", order=(Key(U_RID),), limit=1)
DOUBLE = Call("*", (A, Literal(2, "int32")), "int32")


def query(kind: str, relation: Relation, operand: Term | None = None) -> Subquery:
    return Subquery(kind=kind, relation=relation, column=U_A, operand=operand)


def negation(term: Term) -> Call:
    return Call("not", (term,))


ALL = Relation(table="u")
# Conditions on `ROWS` over `OTHERS`, with the numbers of the rows of which they are true.
ANSWERS: dict[str, tuple[Term, list[int]]] = {
    "in": (query("in", ALL, A), [1, 3]),
    "an expression in": (query("in", ALL, DOUBLE), [0, 3]),
    "not in": (negation(query("in", PRESENT, A)), [0, 4]),
    "not in with NULL": (negation(query("in", ALL, A)), []),
    "in only NULL": (Call("is null", (query("in", ONLY_NULL, A),)), [0, 1, 2, 3, 4]),
    "not in nothing": (negation(query("in", NOTHING, A)), [0, 1, 2, 3, 4]),
    "in the first": (query("in", FIRST, A), [1]),
    "in distinct values": (query("in", Relation(table="u", distinct="u_a"), A), [1, 3]),
    "exists": (query("exists", ALL, A), [1, 3]),
    "not exists": (negation(query("exists", ALL, A)), [0, 2, 4]),
    "not exists in nothing": (negation(query("exists", NOTHING, A)), [0, 1, 2, 3, 4]),
    "the least": (Call("=", (A, query("min", ALL))), [1]),
    "below the greatest": (Call("<", (DOUBLE, query("max", ALL))), [0, 1]),
    "the greatest of nothing": (Call("is null", (Call("=", (A, query("max", NOTHING))),)), [0, 1, 2, 3, 4]),
    "the count": (Call("=", (A, query("count", ALL))), [3]),
    "beside another test": (Call("and", (query("exists", ALL, A), Call(">", (A, Literal(2, "int32"))))), [3]),
}
# DataFusion and Spark make IN a join that marks rows: it is false instead of NULL, and never drawn so.
UNMARKED = {name: where for name, where in ANSWERS.items() if name != "in only NULL"}


def world(where: Term) -> World:
    tables = {
        "t": StoredTable(columns=(A, RID), blocks=ROWS),
        "u": StoredTable(columns=(U_A, U_RID), blocks=OTHERS),
    }
    question = Question(area="subquery", source=Relation(table="t", where=where), select=("rid",))
    return World(tables=tables, settings={}, questions=(question,))


def wrong(worker: EngineClient, name: str) -> Any:
    """Return what is wrong about an engine's answer, if something is."""
    where, numbers = ANSWERS[name]
    return mistake(worker, world(where), [[number] for number in numbers])


@pytest.mark.parametrize("name", ANSWERS)
def test_the_reference_answers_as_plain_python(name: str) -> None:
    assert wrong(SmallEngine(), name) is None


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_engines_answer_the_same(engine: str, engine_worker: Callable[[str], Worker]) -> None:
    needs_package(engine)
    worker = engine_worker(engine)
    names = UNMARKED if engine == "datafusion" else ANSWERS
    assert {name: errors for name in names if (errors := wrong(worker, name))} == {}


@pytest.mark.deep
@pytest.mark.spark
def test_spark_answers_the_same(engine_worker: Callable[[str], Worker]) -> None:
    worker = engine_worker("spark")
    assert {name: errors for name in UNMARKED if (errors := wrong(worker, name))} == {}


def least(where: Term, fails: Callable[[Question], bool]) -> Question:
    """Return the smallest question that fails."""

    def examine_candidate(candidate: World) -> QuestionResult | None:
        (request,) = candidate.questions
        return QuestionResult(question=request) if fails(request) else None

    *_, (smallest, _) = smaller_worlds(world(where), examine_candidate, tries_max=5_000)
    return smallest.questions[0]


def test_of_a_subquery_what_a_failure_does_not_need_is_left_out() -> None:
    wide = Call("or", (Call("is null", (A,)), negation(query("in", FIRST, DOUBLE))))
    assert least(wide, lambda request: True).source.where is None
    smallest = least(wide, lambda request: bool(request.queries))
    assert smallest.source.where == query("in", ALL, A)


def test_columns_that_a_subquery_names_stay_and_take_other_types() -> None:
    number, other = Column("a", "int64"), Column("u_a", "int64")
    tables = {
        "t": StoredTable(columns=(number, RID), blocks=(((1, 0),),)),
        "u": StoredTable(columns=(other, Column("u_b", "int64"), U_RID), blocks=(((1, 1, 0),),)),
    }
    request = Subquery(kind="in", relation=Relation(table="u"), column=other, operand=number)
    question = Question(area="subquery", source=Relation(table="t", where=request), select=("rid",))
    start = World(tables=tables, settings={}, questions=(question,))

    def fails(candidate: World) -> QuestionResult | None:
        return QuestionResult(question=candidate.questions[0]) if candidate.questions[0].queries else None

    *_, (smallest, _) = smaller_worlds(start, fails, tries_max=1_000)
    (asked_of,) = smallest.questions[0].queries
    assert (asked_of.column, asked_of.operand) == (U_A, A)
    assert [column.name for column in smallest.tables["u"].columns] == ["u_a", "u_rid"]
