"""Comparing a pruned answer with the answer that skips nothing."""

from typing import Any

import pytest

from skipproof.answers import compare, is_open

NAN = float("nan")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], []),
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")]),
        ([(NAN,), (None,)], [(None,), (NAN,)]),
        ([(0.1 + 0.2,)], [(0.3,)]),
        ([("k", 1e300), ("j", 2.0)], [("j", 2.0000000000000004), ("k", 1e300)]),
    ],
)
def test_the_same_rows_in_any_order_are_the_same(found: list[Any], expected: list[Any]) -> None:
    assert compare(found, expected, open_answer=False).same


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], [(1,)]),
        ([(1,)], [(1,), (1,)]),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)]),
        ([(None,)], [(NAN,)]),
        ([(0,)], [(None,)]),
        ([(1.0,)], [(1.001,)]),
        ([("1",)], [(1,)]),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_other_rows_are_a_difference_that_is_told(
    found: list[Any], expected: list[Any], swapped: bool
) -> None:
    comparison = compare(*((expected, found) if swapped else (found, expected)), open_answer=False)
    assert not comparison.same
    assert comparison.difference


def test_an_open_answer_may_have_other_rows_but_not_fewer() -> None:
    assert compare([(1,)], [(2,)], open_answer=True).same
    assert compare([(1,)], [(2,)], open_answer=True).open
    assert not compare([], [(2,)], open_answer=True).same


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id FROM range(9) WHERE id > 3", False),
        ("SELECT count(*) FROM range(9)", False),
        ("SELECT id FROM range(9) LIMIT 3", True),
        ("SELECT count(*) FROM (SELECT id FROM range(9) LIMIT 3)", True),
        ("SELECT id FROM range(9) WHERE id > (SELECT max(id) FROM (SELECT id FROM range(9) LIMIT 2))", True),
        ("SELECT id FROM range(9) WHERE rand() < 0.5", True),
    ],
)
def test_limit_and_randomness_leave_an_answer_open(spark: Any, sql: str, expected: bool) -> None:
    assert is_open(spark.sql(sql)) is expected
