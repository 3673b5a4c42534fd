"""The truth that answers are judged by is another engine's, and a wrong answer is told in one sentence."""

import random
from itertools import count

import duckdb
import pyarrow as pa
import pytest

from pruning.expressions.plans import JoinKind
from pruning.expressions.trees import Column
from pruning.metadata.table.schema import arrow_type
from sim.scans.answers import describe_difference, expected_answer
from sim.scans.drawing import TYPES, drawn_query, drawn_table
from sim.scans.queries import Query, QueryKind, query_answer, sides
from sim.scans.tables import ID, RowTable

JOINS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.SEMI: "SEMI JOIN",
    JoinKind.ANTI: "ANTI JOIN",
}
NAMES = ("t", "u")


def draw_query(seed: int, kind: QueryKind, *, filtered: bool) -> tuple[Query, dict[str, RowTable]]:
    """Draw a query of a kind, and its tables."""
    draw = random.Random(seed)
    tables = {name: drawn_table(draw, name, blocks=(5,), rows_max=4) for name in NAMES}
    for _ in count():
        query = drawn_query(draw, "q", NAMES, kind)
        if filtered or all(asked.predicate is None for asked in query.scans.values()):
            return query, tables
    raise AssertionError


def arrow(table: RowTable) -> pa.Table:
    """The rows of a table for another engine."""
    columns = {name: [row[name] for row in table.rows] for name in TYPES}
    return pa.table({name: pa.array(column, arrow_type(TYPES[name])) for name, column in columns.items()})


@pytest.mark.parametrize("seed", range(30))
def test_a_join_gives_what_duckdb_gives(seed: int) -> None:
    """Of whole tables: what predicates mean is tested where they are evaluated."""
    query, tables = draw_query(seed, QueryKind.JOIN, filtered=False)
    join = query.join
    assert join is not None
    (equality,) = join.equalities
    left, right = (query.scans[scan].table for scan in sides(join))
    assert isinstance(equality.left, Column)
    key = equality.left.name[2:]
    agree = "IS NOT DISTINCT FROM" if equality.null_safe else "="
    told = f"l.{ID}" if join.kind in (JoinKind.SEMI, JoinKind.ANTI) else f"l.{ID}, r.{ID}"
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, arrow(table))
        found = connection.sql(
            f"SELECT {told} FROM {left} l {JOINS[join.kind]} {right} r ON l.{key} {agree} r.{key}"
        ).fetchall()
    assert sorted(expected_answer(query, tables).everything.elements(), key=repr) == sorted(found, key=repr)


@pytest.mark.parametrize("kind", list(QueryKind))
def test_the_answer_of_all_rows_is_right_and_no_other_is(kind: QueryKind) -> None:
    """Without its last row, with one twice, and, where they are ordered, with the first one last."""
    judged = 0
    for seed in range(60):
        query, tables = draw_query(seed, kind, filtered=True)
        so = expected_answer(query, tables)
        answer = query_answer(query, {scan: list(rows.values()) for scan, rows in so.matching.items()})
        assert describe_difference(query, so, answer) is None
        if not answer:
            continue
        judged += 1
        assert describe_difference(query, so, answer[:-1])
        assert describe_difference(query, so, [*answer, answer[0]])
        if len(set(answer)) == len(answer) > 1:
            assert describe_difference(query, so, [*answer[:-1], answer[0]])
        if so.first is not None and so.first[0] != so.first[-1]:
            assert describe_difference(query, so, [*answer[1:], answer[0]])
    assert judged > 10


@pytest.mark.parametrize("kind", list(QueryKind))
def test_no_answer_does_without_a_row_that_is_needed(kind: QueryKind) -> None:
    """Of the other rows alone no answer is right; there are such queries of each kind."""
    judged = 0
    for seed in range(60):
        query, tables = draw_query(seed, kind, filtered=True)
        so = expected_answer(query, tables)
        for scan, needed in so.needed.items():
            for gone in sorted(needed)[:3]:
                judged += 1
                rest = {
                    one: [row for name, row in rows.items() if (one, name) != (scan, gone)]
                    for one, rows in so.matching.items()
                }
                assert describe_difference(query, so, query_answer(query, rest))
    assert judged > 10
