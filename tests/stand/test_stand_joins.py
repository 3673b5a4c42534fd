"""Joins of three tables: plain Python, the reference and engines answer alike."""

from collections.abc import Callable
from typing import Any

import pytest
from judged_answers import mistake
from needs import needs_package

from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.shrinking import smaller_worlds
from skipproof.stand.reference.answering import join_rows
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.workers.workers import EngineClient, Worker
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import Call, Column, Join, Key, Literal, Question, Relation, Term
from strategies.engines.worlds import World

CELLS = {"t": ((1, 2, None), (3,)), "u": ((2, 3), (3, None)), "v": ((3, 4), (1, None))}
PREFIXES = {"t": "", "u": "u_", "v": "v_"}
BOTH = ("rid", "u_rid", "v_rid")


def table(name: str) -> StoredTable:
    """Return a table of one column and row numbers, with a row group for each tuple of cells."""
    columns = (Column(PREFIXES[name] + "a", "int32"), Column(PREFIXES[name] + "rid", "int64"))
    first, second = CELLS[name]
    blocks = (
        tuple(zip(first, range(len(first)), strict=True)),
        tuple((cell, len(first) + at) for at, cell in enumerate(second)),
    )
    return StoredTable(columns=columns, blocks=blocks)


def query(
    first: str, second: str, *select: str, by: str = "a", where: Term | None = None, **others: Any
) -> Question:
    right = Relation(table="v", where=where)
    return Question(
        area="join",
        source=Relation(table="t"),
        join=Join(kind=first, right=Relation(table="u"), left_key="a", right_key="u_a"),
        second=Join(kind=second, right=right, left_key=by, right_key="v_a"),
        select=select,
        **others,
    )


IS_NULL = Call("is null", (Column("a", "int32"),))
# Questions about the tables, with their answers.
ANSWERS: dict[str, tuple[Question, list[list[Any]]]] = {
    "inner, then inner": (query("inner", "inner", *BOTH), [[3, 1, 0], [3, 2, 0]]),
    "left, then inner by the other key": (query("left", "inner", *BOTH, by="u_a"), [[3, 1, 0], [3, 2, 0]]),
    "inner, then left": (query("inner", "left", *BOTH), [[1, 0, None], [3, 1, 0], [3, 2, 0]]),
    "semi, then left": (query("semi", "left", "rid", "v_rid"), [[1, None], [3, 0]]),
    "anti, then semi": (query("anti", "semi", "rid"), [[0]]),
    "inner, then anti": (query("inner", "anti", "rid", "u_rid"), [[1, 0]]),
    "inner, then right": (
        query("inner", "right", *BOTH),
        [[3, 1, 0], [3, 2, 0], [None, None, 1], [None, None, 2], [None, None, 3]],
    ),
    "semi, then full": (
        query("semi", "full", "rid", "v_rid"),
        [[1, None], [3, 0], [None, 1], [None, 2], [None, 3]],
    ),
    "a condition after a right join": (
        Question(
            area="join",
            source=Relation(table="t"),
            join=Join(kind="left", right=Relation(table="u"), left_key="a", right_key="u_a"),
            second=Join(kind="right", right=Relation(table="v"), left_key="a", right_key="v_a"),
            select=("rid", "v_rid"),
            where=IS_NULL,
        ),
        [[None, 1], [None, 3]],
    ),
    "the first rows": (
        query(
            "left",
            "inner",
            "rid",
            "v_rid",
            order=(Key(Column("rid", "int64")), Key(Column("v_rid", "int64"))),
            limit=1,
        ),
        [[0, 2]],
    ),
    "with a filtered table": (
        query(
            "left",
            "inner",
            "rid",
            "u_rid",
            "v_rid",
            where=Call("<", (Column("v_a", "int32"), Literal(3, "int32"))),
        ),
        [[0, None, 2]],
    ),
}


def world(question: Question) -> World:
    tables = {relation.table: table(relation.table) for relation in question.relations}
    return World(tables=tables, settings={}, questions=(question,))


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


class MovesConditions(Rules):
    """A mutant that moves a condition and a LIMIT below both joins."""

    def join_relations(self, question: Any, tables: Any) -> Any:
        second = question["second"]
        rows, schema = self.join(question | {"order": []}, tables)
        other, other_schema = self.relation(second["right"], tables["v"])
        return join_rows(second, rows, other, (schema, other_schema))


@pytest.mark.parametrize("name", ["a condition after a right join"])
def test_a_mutant_is_convicted(name: str) -> None:
    assert wrong(SmallEngine(MovesConditions()), name) is not None


def test_a_second_join_that_a_failure_does_not_need_is_left_out_with_its_table() -> None:
    question = query("left", "inner", *BOTH)

    def fails(candidate: World) -> QuestionResult | None:
        return QuestionResult(question=candidate.questions[0])

    *_, (smallest, _) = smaller_worlds(world(question), fails, tries_max=1_000)
    assert smallest.questions[0].second is None
    assert smallest.questions[0].select == ("rid", "u_rid")
    assert set(smallest.tables) == {"t", "u"}
