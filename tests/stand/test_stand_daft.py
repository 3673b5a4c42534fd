"""Daft is asked by SQL; the statements are tested without it."""

from typing import Any

import pytest

from skipproof.stand.adapters.on_daft import Daft, OnDaft
from skipproof.stand.adapters.serving import Unsupported
from strategies.engines.questions import Aggregate, Call, Column, Key, Question, Relation, SetOperation

A = Column("a", "int32")


def test_every_column_of_an_answer_has_a_name() -> None:
    """Two aggregates of one column would have the same."""
    question = Question(
        area="aggregate",
        source=Relation(table="t"),
        group=Call("negate", (A,), "int32"),
        aggregates=(Aggregate("min", A), Aggregate("max", A)),
    )
    sql = Daft()
    expected = (
        'SELECT (- "a") AS "group", min("a") AS "aggregate 0", max("a") AS "aggregate 1" '
        'FROM "t" GROUP BY (- "a")'
    )
    assert sql.select(question.json()) == expected
    # Names are counted from 0 for each question.
    assert sql.select(question.json()) == expected


def test_what_its_sql_lacks_is_written_otherwise() -> None:
    distinct = Call("is distinct from", (A, A))
    offset = Question(area="topk", source=Relation(table="t"), select=("a",), order=(Key(A),), offset=2)
    assert Daft().term(distinct.json()) == '(NOT ("a" <=> "a"))'
    assert Daft().select(offset.json()).endswith(f" LIMIT {2**62} OFFSET 2")


def test_the_parts_of_a_set_operation_have_columns_of_the_same_names() -> None:
    union = SetOperation(kind="union", all=True, right=Relation(table="u"), columns=("u_a",))
    question = Question(area="set", source=Relation(table="t"), select=("a",), set=union)
    expected = 'SELECT "a" FROM "t" UNION ALL SELECT "u_a" AS "a" FROM "u"'
    assert Daft().select(question.json()) == expected


def test_settings_that_are_not_asked_for_have_their_defaults() -> None:
    table: dict[str, Any] = {"columns": [{"name": "a", "type": "int32"}], "blocks": [[[1]]]}
    text, _ = OnDaft().setup({"t": table}, {"default_morsel_size": "2"})
    assert "enable_scan_task_split_and_merge=False, default_morsel_size=2)" in text
    assert "t = daft.from_arrow(pa.table([pa.array([1], pa.int32())]" in text


@pytest.mark.parametrize("other", [{"partitions": [{"a": "1"}]}, {"schemas_differ": True}])
def test_files_are_read_by_their_own_schema(other: dict[str, Any]) -> None:
    table: dict[str, Any] = {"columns": [{"name": "a", "type": "int32"}], "files": ["/d/0.parquet"]}
    assert "t = daft.read_parquet(['/d/0.parquet'])" in OnDaft().setup({"t": table}, {})[0]
    with pytest.raises(Unsupported):
        OnDaft().setup({"t": table | other}, {})
