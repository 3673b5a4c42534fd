"""Prepared questions: engines answer them as plain ones, whatever their first execution leaves."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from judged_answers import mistake
from needs import needs_package

from mutants.small_engine.catalogue import MUTANTS
from skipproof.stand.adapters.on_datafusion import DataFusion, executes_prepared
from skipproof.stand.adapters.parameters import with_nulls, with_parameters
from skipproof.stand.adapters.sql_text import Dialect
from skipproof.stand.hunt.causes import traits
from skipproof.stand.hunt.cures import find_signature
from skipproof.stand.hunt.examining import QuestionResult, examine
from skipproof.stand.hunt.hunting import Limits, capabilities, hunt
from skipproof.stand.hunt.rewriting import FILTER_ALONE, simpler_questions
from skipproof.stand.hunt.shrinking import smaller_worlds
from skipproof.stand.hunt.state import Finding
from skipproof.stand.hunt.varying import Cure, CureKind
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.workers import Worker
from strategies.engines.engine_tables import StoredTable
from strategies.engines.files import write_stored
from strategies.engines.questions import (
    Aggregate,
    Call,
    Column,
    Join,
    Literal,
    Question,
    Relation,
    SetOperation,
    Subquery,
    Term,
)
from strategies.engines.worlds import World

A, S, RID, U_A = Column("a", "int32"), Column("s", "string"), Column("rid", "int64"), Column("u_a", "int32")
ROWS = ((1, "x", 0), (2, "xy", 1), (None, "y", 2)), ((2, None, 3), (3, "y", 4))
OTHERS = ((2, 0), (3, 1), (None, 2)), ((7, 3),)


def number(value: int | None) -> Literal:
    return Literal(value, "int32")


def over(*parts: Term, **others: Any) -> Question:
    where = parts[0] if len(parts) == 1 else Call("and", parts)
    question = Question(area="filter", source=Relation(table="t", where=where), select=("rid",))
    return replace(question, prepared=True, **others)


RIGHT = Relation(table="u", where=Call(">", (U_A, number(2))))
# Questions about `ROWS` and `OTHERS`, with their answers.
ANSWERS: dict[str, tuple[Question, list[list[Any]]]] = {
    "a comparison": (over(Call("=", (A, number(2)))), [[1], [3]]),
    "a list": (over(Call("in", (A, number(1), number(3), number(None)))), [[0], [4]]),
    "an expression": (over(Call("<", (number(2), Call("+", (A, number(1)), "int32")))), [[1], [3], [4]]),
    "a pattern": (over(Call("like", (S, Literal("x%", "string")))), [[0], [1]]),
    "a start": (over(Call("starts with", (S, Literal("y", "string"))), Call(">", (A, number(0)))), [[4]]),
    "asked again": (over(Call(">", (A, number(2))), repeat=2), [[4]]),
    "an aggregate": (
        over(Call("=", (A, number(2))), area="aggregate", select=(), aggregates=(Aggregate("count"),)),
        [[2]],
    ),
    "a join": (
        over(
            Call("<", (A, number(5))),
            area="join",
            join=Join(kind="inner", right=RIGHT, left_key="a", right_key="u_a"),
            where=Call("!=", (RID, Literal(9, "int64"))),
        ),
        [[4]],
    ),
    "a subquery": (
        over(Subquery(kind="in", relation=RIGHT, column=U_A, operand=A), area="subquery"),
        [[4]],
    ),
    "a union": (
        over(
            Call("=", (A, number(1))),
            area="set",
            select=("a",),
            set=SetOperation(kind="union", right=RIGHT, columns=("u_a",)),
        ),
        [[1], [3], [7]],
    ),
}
# A value of each type as the constant that a column of it is compared with.
OF_TYPES = {
    "boolean": True, "int8": -1, "uint64": 2**64 - 1, "float32": 0.5, "float64": "Infinity",
    "decimal(9,2)": "-1.50", "string": "it's", "binary": "00ff", "date": -1, "timestamp(ms)": 1,
    "timestamp(us)": -1, "timestamp(ns)": 1, "timestamp(us,UTC)": 1,
}  # fmt: skip


def world(question: Question) -> World:
    tables = {"t": StoredTable(columns=(A, S, RID), blocks=ROWS)}
    if len(question.relations) > 1:
        tables["u"] = StoredTable(columns=(U_A, Column("u_rid", "int64")), blocks=OTHERS)
    return World(tables=tables, settings={}, questions=(question,))


def of_type(type_: str) -> World:
    """Return a world with a prepared comparison of a column of a type."""
    column = Column("a", type_)
    table = StoredTable(columns=(column, RID), blocks=(((OF_TYPES[type_], 0),), ((None, 1),)))
    question = over(Call("=", (column, Literal(OF_TYPES[type_], type_))))
    return World(tables={"t": table}, settings={}, questions=(question,))


@pytest.mark.parametrize("name", ANSWERS)
def test_the_small_engine_answers_as_plain_python(name: str) -> None:
    question, rows = ANSWERS[name]
    assert mistake(SmallEngine(), world(question), rows) is None


@pytest.mark.parametrize("engine", ["duckdb", "duckdb-tables", "datafusion", "chdb", "chdb-tables"])
def test_engines_answer_the_same(engine: str, engine_worker: Callable[[str], Worker]) -> None:
    needs_package(engine.partition("-")[0])
    worker = engine_worker(engine)
    questions = {name: (world(question), rows) for name, (question, rows) in ANSWERS.items()}
    types = {type_: (of_type(type_), [[0]]) for type_ in OF_TYPES}
    errors = {name: mistake(worker, *example) for name, example in (questions | types).items()}
    assert {name: error for name, error in errors.items() if error is not None} == {}


def test_literals_of_conditions_are_parameters_and_no_others() -> None:
    question, _ = ANSWERS["a join"]
    aggregate = Aggregate("min", Call("+", (A, number(1)), "int32"), where=Call(">", (A, number(0))))
    numbered, literals = with_parameters(replace(question, aggregates=(aggregate,)).json())
    assert [literal["literal"] for literal in literals] == [5, 9, 2]
    assert numbered["join"]["right"]["where"]["of"][1] == {"literal": 2, "type": "int32", "parameter": 3}
    assert numbered["aggregates"] == [aggregate.json()]
    assert with_nulls(numbered)["where"]["of"][1] == {"literal": None, "type": "int64", "parameter": 2}
    assert with_nulls(numbered)["aggregates"] == [aggregate.json()]


def test_a_statement_is_prepared_once_and_first_executed_with_null() -> None:
    question = over(Call("=", (A, number(2))), Call("=", (S, Literal("$1", "string")))).json()
    prepare, first, last = Dialect().prepared_statements(question)
    relation = """(SELECT * FROM "t" WHERE (("a" = $1) AND ("s" = $2))) AS "t\""""
    assert prepare == f'PREPARE stand AS SELECT "rid" FROM {relation}'
    assert first == "EXECUTE stand(CAST(NULL AS INTEGER), CAST(NULL AS VARCHAR))"
    assert last == "EXECUTE stand(2, '$1')"
    typed = DataFusion().prepared_statements(question)[0]
    assert typed.startswith("PREPARE stand(INTEGER, VARCHAR) AS ")
    without = over(Call("=", (A, A))).json()
    assert [text.partition(" AS ")[0] for text in DataFusion().prepared_statements(without)] == [
        "PREPARE stand",
        "EXECUTE stand",
        "EXECUTE stand",
    ]


def test_releases_that_cannot_execute_a_prepared_statement_are_asked_none() -> None:
    class Early:
        def sql(self, statement: str) -> Any:
            raise ValueError(f"no physical plan for {statement}")

    assert not executes_prepared(Early())


def test_only_prepared_questions_have_the_word() -> None:
    question, _ = ANSWERS["a comparison"]
    assert question.json()["prepared"] is True
    assert "prepared" not in replace(question, prepared=False).json()


@pytest.fixture(scope="module")
def forgetful() -> SmallEngine:
    """The small engine whose memory of a condition ignores the values of parameters."""
    (mutant,) = (member for member in MUTANTS if member.name == "parameters are forgotten")
    return mutant.engine()


def test_what_the_first_execution_leaves_is_a_contradiction_only_of_prepared_questions(
    forgetful: SmallEngine,
) -> None:
    question, _ = ANSWERS["a comparison"]
    (prepared,) = examine(forgetful, world(question))
    (plain,) = examine(forgetful, world(replace(question, prepared=False)))
    assert prepared.contradiction is not None
    assert plain.contradiction is None


def test_a_finding_of_prepared_questions_is_cured_without_parameters(forgetful: SmallEngine) -> None:
    question, _ = ANSWERS["a comparison"]
    (outcome,) = examine(forgetful, world(question))
    assert outcome.contradiction is not None
    own = traits(world(question), question, outcome.contradiction)
    assert "prepared" in own
    finding = Finding(world=world(question), outcome=outcome, traits=own, seed=1, examples=1, seconds=0.0)
    signature = find_signature(forgetful, finding, write=write_stored)
    assert Cure(CureKind.QUESTION, "asked without parameters") in signature.cures


def test_the_filter_alone_of_a_prepared_question_is_prepared() -> None:
    for prepared in (True, False):
        question = replace(ANSWERS["an aggregate"][0], prepared=prepared)
        assert dict(simpler_questions(question))[FILTER_ALONE].prepared is prepared


def test_shrinking_drops_parameters_that_a_failure_does_not_need() -> None:
    def least(fails: Callable[[Question], bool]) -> Question:
        def examine_candidate(candidate: World) -> QuestionResult | None:
            (query,) = candidate.questions
            return QuestionResult(question=query) if fails(query) else None

        *_, (smallest, _) = smaller_worlds(
            world(ANSWERS["asked again"][0]), examine_candidate, tries_max=1_000
        )
        return smallest.questions[0]

    assert not least(lambda query: query.source.where is not None).prepared
    assert least(lambda query: query.prepared).repeat == 1


def test_the_hunt_finds_it(forgetful: SmallEngine) -> None:
    able = capabilities(forgetful, areas=("filter",))
    state = hunt(forgetful, able, Limits(examples=1_000, findings=1), hunt_seed=7)
    (finding,) = state.findings
    assert finding.world.questions[0].prepared
