"""Aggregates of expressions, with FILTER and DISTINCT, groups by expressions, HAVING, and their orders."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from judged_answers import mistake
from needs import needs_package

from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.shrinking import smaller_worlds
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.workers.workers import EngineClient, Worker
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import Aggregate, Call, Column, Key, Literal, Question, Relation, Term
from strategies.engines.worlds import World

A, B, RID = Column("a", "int32"), Column("b", "string"), Column("rid", "int64")
ROWS = ((1, "x", 0), (2, "X", 1), (None, "y", 2)), ((3, None, 3), (3, "y", 4), (-4, "x", 5))
FIRST, SECOND, GROUP = (
    Column("aggregate 0", "int64"),
    Column("aggregate 1", "int32"),
    Column("group", "int32"),
)


def number(value: int, type_: str = "int32") -> Literal:
    return Literal(value, type_)


def call(function: str, *of: Term, type_: str = "boolean") -> Call:
    return Call(function, of, type_)


UPPER = call("upper", B, type_="string")
HALF = call("//", A, number(2), type_="int32")
ABOVE = call(">", A, number(1))
ODD = call("%", SECOND, number(2), type_="int32")
COUNT, GREATEST = Aggregate("count"), Aggregate("max", A)


def query(*aggregates: Aggregate, where: Term | None = None, **others: Any) -> Question:
    return Question(
        area="aggregate", source=Relation(table="t", where=where), aggregates=aggregates, **others
    )


# Questions about `ROWS`, with their answers, sorted unless the question orders them.
ANSWERS: dict[str, tuple[Question, list[list[Any]]]] = {
    "of an expression": (query(Aggregate("max", HALF), Aggregate("min", UPPER)), [[1, "X"]]),
    "a sum": (query(Aggregate("sum", A)), [[5]]),
    "a sum of nothing": (query(Aggregate("sum", A), where=call(">", A, number(5))), [[None]]),
    "each once": (query(Aggregate("count", A, distinct=True), Aggregate("sum", A, distinct=True)), [[4, 2]]),
    "of rows that satisfy a condition": (query(Aggregate("count", where=ABOVE), COUNT), [[3, 6]]),
    "of values that satisfy a condition": (
        query(Aggregate("count", B, distinct=True, where=ABOVE), Aggregate("min", A, where=ABOVE)),
        [[2, 2]],
    ),
    "of no such value": (query(Aggregate("max", A, where=call(">", A, number(5)))), [[None]]),
    "by an expression": (query(COUNT, group=UPPER), [[None, 1], ["X", 3], ["Y", 2]]),
    "of many": (query(COUNT, group=A, having=call(">", FIRST, number(1, "int64"))), [[3, 2]]),
    "of none": (query(COUNT, having=call("<", FIRST, number(6, "int64"))), []),
    "by a group that is asked": (query(COUNT, group=A, having=call("is null", GROUP)), [[None, 1]]),
    "by an expression of an aggregate": (
        query(COUNT, GREATEST, group=UPPER, having=call("=", ODD, number(1))),
        [[None, 1, 3], ["Y", 2, 3]],
    ),
    "the greatest": (
        query(COUNT, GREATEST, group=UPPER, order=(Key(FIRST, descending=True),), limit=1),
        [["X", 3, 2]],
    ),
    "last groups": (query(COUNT, group=A, order=(Key(GROUP, descending=True),), limit=2), [[3, 2], [2, 1]]),
}  # fmt: skip


def world(question: Question) -> World:
    table = StoredTable(columns=(A, B, RID), blocks=ROWS)
    return World(tables={"t": table}, settings={}, questions=(question,))


def wrong(worker: EngineClient, name: str) -> Any:
    """Return what is wrong about an engine's answer, if something is."""
    question, rows = ANSWERS[name]
    return mistake(worker, world(question), rows)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_reference_answers_as_plain_python(name: str) -> None:
    assert wrong(SmallEngine(), name) is None


@pytest.mark.parametrize("engine", ["duckdb", "datafusion", "polars"])
def test_engines_answer_the_same(engine: str, engine_worker: Callable[[str], Worker]) -> None:
    needs_package(engine)
    worker = engine_worker(engine)
    assert {name: errors for name in ANSWERS if (errors := wrong(worker, name))} == {}


@pytest.mark.deep
@pytest.mark.spark
def test_spark_answers_the_same(engine_worker: Callable[[str], Worker]) -> None:
    worker = engine_worker("spark")
    assert {name: errors for name in ANSWERS if (errors := wrong(worker, name))} == {}


class ForgetsFilters(Rules):
    """A mutant that answers an aggregate with FILTER, or of an expression, from statistics as if without."""

    def aggregates_from_statistics(self, question: Any, group: Any, lookup: Any) -> Any:
        plain = [
            {"function": part["function"], "of": "a" if part["of"] else None}
            for part in question["aggregates"]
        ]
        return super().aggregates_from_statistics(question | {"aggregates": plain}, group, lookup)


class AddsDistinctCounts(Rules):
    """A mutant that adds the distinct counts of row groups."""

    def aggregates(self, question: Any, table: Any) -> Any:
        plain = [{**part, "distinct": False} for part in question["aggregates"]]
        return super().aggregates(question | {"aggregates": plain}, table)


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        (ForgetsFilters, "of rows that satisfy a condition"),
        (ForgetsFilters, "of an expression"),
        (AddsDistinctCounts, "each once"),
    ],
)
def test_a_mutant_is_convicted(rules: type[Rules], name: str) -> None:
    assert wrong(SmallEngine(rules()), name) is not None


def least(question: Question, fails: Callable[[Question], bool]) -> Question:
    """Return the smallest question that fails."""

    def examine_candidate(candidate: World) -> QuestionResult | None:
        (item,) = candidate.questions
        return QuestionResult(question=item) if fails(item) else None

    *_, (smallest, _) = smaller_worlds(world(question), examine_candidate, tries_max=5_000)
    return smallest.questions[0]


def test_what_a_failure_does_not_need_is_left_out() -> None:
    """Of aggregates: others, DISTINCT, FILTER, expressions, groups, HAVING and the order."""
    wide = query(
        Aggregate("count", HALF, distinct=True, where=ABOVE),
        GREATEST,
        where=ABOVE,
        group=UPPER,
        having=call(">", FIRST, number(0, "int64")),
        order=(Key(FIRST),),
        limit=3,
    )
    assert least(wide, lambda item: True) in (query(Aggregate("count", A)), query(GREATEST))
    grouped = least(wide, lambda item: item.group is not None)
    assert (grouped.group, grouped.having, grouped.order) == (Column("b", "int32"), None, ())
    filtered = least(wide, lambda item: any(part.where is not None for part in item.aggregates))
    (aggregate,) = filtered.aggregates
    assert (aggregate.of, aggregate.distinct, filtered.group) == (A, False, None)
    having = least(wide, lambda item: item.having is not None)
    assert (having.order, having.source.where) == ((), None)


def test_keys_of_an_order_are_left_out_and_made_simple() -> None:
    keys = (Key(call("negate", HALF, type_="int32")), Key(HALF, descending=True), Key(RID))
    wide = Question(area="topk", source=Relation(table="t"), select=("a", "rid"), order=keys, limit=2)
    assert least(wide, lambda item: True).order == (Key(RID),)
    smallest = least(wide, lambda item: item.order[0].descending)
    assert smallest.order == (Key(A, descending=True), Key(RID))


def test_old_questions_have_the_same_json() -> None:
    """Aggregates and groups of plain columns are names, as ever; workers and findings of old read them."""
    old = replace(query(GREATEST, COUNT), group=B).json()
    assert old["aggregates"] == [{"function": "max", "of": "a"}, {"function": "count", "of": None}]
    assert old["group"] == "b"
    without = {name: value for name, value in old.items() if name != "having"}
    tables = {"t": StoredTable(columns=(A, B, RID), blocks=ROWS).json}
    answers = [
        SmallEngine().ask(tables=tables, settings={}, questions=[question], sources=False)["answers"]
        for question in (old, without)
    ]
    assert answers[0] == answers[1]
    assert sorted(answers[0][0]["rows"], key=str) == [["X", 2, 1], ["x", 1, 2], ["y", 3, 2], [None, 3, 1]]
