"""Joins by a further condition of ON, or by such a condition alone: plain Python and engines answer alike."""

from collections.abc import Callable
from itertools import product
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
from strategies.engines.joins import JOINS
from strategies.engines.questions import Call, Column, Join, Literal, Question, Relation, Term
from strategies.engines.worlds import World

# The values of a by row number; each table has two row groups, and no key of the last one has an equal.
LEFT: tuple[int | None, ...] = (1, 2, None, 3)
RIGHT: tuple[int | None, ...] = (2, 3, 3, 7, None, 8)
A, U_A, U_RID = Column("a", "int32"), Column("u_a", "int32"), Column("u_rid", "int64")
KINDS = [kind for kind in JOINS if kind != "not in"]
# The conditions of ON as terms and in Python.
BESIDE_KEYS: dict[str, tuple[Term, Callable[[Any, Any, int, int], bool]]] = {
    "of one side": (Call(">", (U_RID, Literal(1, "int64"))), lambda a, u_a, rid, u_rid: u_rid > 1),
    "of both sides": (
        Call("<", (Column("rid", "int64"), U_RID)),
        lambda a, u_a, rid, u_rid: rid < u_rid,
    ),
    "that is never true": (Call("<", (A, U_A)), lambda a, u_a, rid, u_rid: a < u_a),
}
ALONE: dict[str, tuple[Term, Callable[[Any, Any, int, int], bool]]] = {
    "less": (Call("<", (A, U_A)), lambda a, u_a, rid, u_rid: None not in (a, u_a) and a < u_a),
    "at least": (Call(">=", (A, U_A)), lambda a, u_a, rid, u_rid: None not in (a, u_a) and a >= u_a),
    "unequal": (Call("!=", (A, U_A)), lambda a, u_a, rid, u_rid: None not in (a, u_a) and a != u_a),
}
CASES = [(True, name) for name in BESIDE_KEYS] + [(False, name) for name in ALONE]


def table(prefix: str, cells: tuple[int | None, ...]) -> StoredTable:
    columns = (Column(prefix + "a", "int32"), Column(prefix + "rid", "int64"))
    rows = tuple(zip(cells, range(len(cells)), strict=True))
    return StoredTable(columns=columns, blocks=(rows[: len(rows) // 2], rows[len(rows) // 2 :]))


def world(kind: str, *, equal: bool, on: Term) -> World:
    """Return the question for the pairs of row numbers, or the row numbers of the left side alone."""
    question = Question(
        area="join",
        source=Relation(table="t"),
        join=Join(kind=kind, right=Relation(table="u"), left_key="a", right_key="u_a", on=on, equal=equal),
        select=("rid",) if kind in ("semi", "anti") else ("rid", "u_rid"),
    )
    return World(tables={"t": table("", LEFT), "u": table("u_", RIGHT)}, settings={}, questions=(question,))


def rows_by_definition(
    kind: str, *, equal: bool, holds: Callable[[Any, Any, int, int], bool]
) -> list[list[Any]]:
    """Return the answer by the definition of each kind, from all pairs of rows."""
    pairs = [
        [rid, u_rid]
        for (rid, a), (u_rid, u_a) in product(enumerate(LEFT), enumerate(RIGHT))
        if not equal or (a is not None and a == u_a)
        if holds(a, u_a, rid, u_rid)
    ]
    met, u_met = {rid for rid, _ in pairs}, {u_rid for _, u_rid in pairs}
    if kind in ("semi", "anti"):
        return [[rid] for rid in range(len(LEFT)) if (rid in met) == (kind == "semi")]
    alone = [[rid, None] for rid in range(len(LEFT)) if rid not in met and kind in ("left", "full")]
    u_alone = [
        [None, u_rid] for u_rid in range(len(RIGHT)) if u_rid not in u_met and kind in ("right", "full")
    ]
    return pairs + alone + u_alone


def mistakes(worker: EngineClient, *, equal: bool, name: str) -> dict[str, Any]:
    """Return what is wrong about an engine's answers, by the kind of join."""
    on, holds = (BESIDE_KEYS if equal else ALONE)[name]
    wrong = {
        kind: mistake(
            worker, world(kind, equal=equal, on=on), rows_by_definition(kind, equal=equal, holds=holds)
        )
        for kind in KINDS
    }
    return {kind: what for kind, what in wrong.items() if what is not None}


@pytest.mark.parametrize(("equal", "name"), CASES)
def test_the_reference_answers_as_plain_python(equal: bool, name: str) -> None:
    assert mistakes(SmallEngine(), equal=equal, name=name) == {}


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_engines_answer_the_same(engine: str, engine_worker: Callable[[str], Worker]) -> None:
    needs_package(engine)
    worker = engine_worker(engine)
    assert [case for case in CASES if mistakes(worker, equal=case[0], name=case[1])] == []


def test_clickhouse_needs_equal_keys(engine_worker: Callable[[str], Worker]) -> None:
    needs_package("chdb")
    worker = engine_worker("chdb")
    assert "join without equal keys" in worker.hello.functions_missing
    assert [name for name in BESIDE_KEYS if mistakes(worker, equal=True, name=name)] == []


@pytest.mark.deep
@pytest.mark.spark
def test_spark_answers_the_same(engine_worker: Callable[[str], Worker]) -> None:
    worker = engine_worker("spark")
    assert [case for case in CASES if mistakes(worker, equal=case[0], name=case[1])] == []


class PrunesByKeys(Rules):
    """A mutant that prunes a side by the keys of the other one, though they need not be equal."""

    def must_be_equal(self, join: Any) -> bool:
        return True


def test_a_mutant_is_convicted() -> None:
    assert mistakes(SmallEngine(PrunesByKeys()), equal=False, name="less") != {}


def test_a_condition_that_a_failure_does_not_need_is_left_out() -> None:
    start = world("left", equal=False, on=ALONE["less"][0])

    def fails(candidate: World) -> QuestionResult | None:
        return QuestionResult(question=candidate.questions[0])

    *_, (smallest, _) = smaller_worlds(start, fails, tries_max=1_000)
    join = smallest.questions[0].join
    assert join is not None
    assert (join.on, join.equal) == (None, True)
