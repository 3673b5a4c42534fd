"""ANSWER-1 and ANSWER-2: every answer that SQL permits is right, every other one is not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.answers.open_answers import answer_difference
from strategies.queries.queries import Openness, Query

NAN = math.nan
ROWS = [(1, b"a"), (1, b"a"), (2, b"b"), (2, b"c"), (None, b"d")]
# A key and a row each: two rows share the key 2, in either order.
KEYED = [(1, 10), (2, 20), (2, 21), (3, 30)]


def query(openness: Openness, limit: int | None = None, offset: int = 0) -> Query:
    """A query of which only the judging matters."""
    return Query(
        tables=(),
        sql="",
        openness=openness,
        unlimited="",
        key_count=1 if openness is Openness.TIES else 0,
        limit=limit,
        offset=offset,
    )


@st.composite
def ordered(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int | None, int]:
    """Rows after their keys, in the order of these, and a LIMIT and an OFFSET."""
    keys = sorted(draw(st.lists(st.integers(0, 3), max_size=8)))
    rows = [(key, draw(st.integers(0, 2))) for key in keys]
    return rows, draw(st.none() | st.integers(0, 9)), draw(st.integers(0, 9))


def window(rows: list[tuple[int, int]], limit: int | None, offset: int) -> list[tuple[int, int]]:
    """The rows that LIMIT and OFFSET leave."""
    return rows[offset:] if limit is None else rows[offset : offset + limit]


@given(ordered(), st.randoms(use_true_random=False))
def test_any_order_within_ties_is_right(drawn: tuple, chance) -> None:
    """ANSWER-1. For rows sorted by their keys and shuffled within ties: each window of them is right."""
    rows, limit, offset = drawn
    other = sorted(chance.sample(rows, len(rows)), key=lambda row: row[0])
    found = [row[1:] for row in window(other, limit, offset)]
    assert answer_difference(query(Openness.TIES, limit, offset), found, rows) is None


@given(ordered(), st.data())
def test_a_row_that_no_tie_permits_is_wrong(drawn: tuple, data: st.DataObject) -> None:
    """ANSWER-2. A row of another key in place of one that is due is always found."""
    rows, limit, offset = drawn
    found = [row[1:] for row in window(rows, limit, offset)]
    if not found:
        return
    place = data.draw(st.integers(0, len(found) - 1))
    found[place] = (99,)
    assert "should have the keys" in str(answer_difference(query(Openness.TIES, limit, offset), found, rows))


@given(st.lists(st.integers(0, 3), max_size=8), st.none() | st.integers(0, 9), st.integers(0, 9), st.data())
def test_any_rows_of_the_right_number_are_a_sub_bag(
    numbers: list[int], limit: int | None, offset: int, data: st.DataObject
) -> None:
    """ANSWER-1. Any choice of rows is right, a row more or less than that is wrong."""
    rows = [(number,) for number in numbers]
    asked = query(Openness.SUB_BAG, limit, offset)
    found = data.draw(st.permutations(rows))[: asked.size(len(rows))]
    assert answer_difference(asked, found, rows) is None
    assert answer_difference(asked, [*found, (0,)], rows) is not None
    if found:
        assert answer_difference(asked, found[1:], rows) is not None


RIGHT = [
    (query(Openness.EXACT), ROWS, ROWS[::-1]),
    (query(Openness.EXACT), [], []),
    (query(Openness.EXACT), [(NAN,), (0.0,)], [(-0.0,), (float("-nan"),)]),
    (query(Openness.SUB_BAG, limit=2), ROWS, ROWS[3:]),
    (query(Openness.SUB_BAG, limit=9), ROWS, ROWS),
    (query(Openness.SUB_BAG, limit=0), ROWS, []),
    (query(Openness.SUB_BAG, offset=4), ROWS, ROWS[:1]),
    (query(Openness.SUB_BAG, offset=7), ROWS, []),
    (query(Openness.TIES, limit=2), KEYED, [(10,), (21,)]),
    (query(Openness.TIES, limit=2), KEYED, [(10,), (20,)]),
    (query(Openness.TIES, limit=2, offset=2), KEYED, [(20,), (30,)]),
    (query(Openness.TIES), KEYED, [(10,), (21,), (20,), (30,)]),
    (query(Openness.TIES, limit=1), [(NAN, 1), (float("-nan"), 2)], [(2,)]),
    (query(Openness.TIES, limit=1), [(-0.0, 1), (0.0, 2)], [(2,)]),
]
WRONG = [
    ("a row is lost", query(Openness.EXACT), ROWS, ROWS[1:], "4 rows instead of 5; missing: (1, b'a')"),
    ("a row too many", query(Openness.EXACT), ROWS, [*ROWS, ROWS[0]], "too many: (1, b'a')"),
    ("a row is another's", query(Openness.EXACT), ROWS, [*ROWS[1:], ROWS[2]], "does not have: (2, b'b')"),
    ("a NULL became a value", query(Openness.EXACT), [(None,)], [(0,)], "does not have: (0,)"),
    ("false is not 0", query(Openness.EXACT), [(False,)], [(0,)], "does not have: (0,)"),
    ("too few", query(Openness.SUB_BAG, limit=3), ROWS, ROWS[:2], "2 rows instead of 3"),
    ("too many", query(Openness.SUB_BAG, limit=1), ROWS, ROWS[:2], "2 rows instead of 1"),
    ("OFFSET forgotten", query(Openness.SUB_BAG, offset=2), ROWS, ROWS, "5 rows instead of 3"),
    ("a row once too often", query(Openness.SUB_BAG, limit=2), ROWS, [ROWS[2]] * 2, "does not have"),
    ("a better row left out", query(Openness.TIES, limit=2), KEYED, [(20,), (21,)], "rows 0 to 0"),
    ("a worse row taken", query(Openness.TIES, limit=2), KEYED, [(10,), (30,)], "rows 1 to 1"),
    ("one of the tied twice", query(Openness.TIES, limit=3), KEYED, [(10,), (20,), (20,)], "rows 1 to 2"),
    ("keys out of order", query(Openness.TIES), KEYED, [(10,), (20,), (30,), (21,)], "rows 1 to 2"),
    ("order reversed", query(Openness.TIES), KEYED, [(30,), (21,), (20,), (10,)], "rows 0 to 0"),
    ("OFFSET ignored", query(Openness.TIES, limit=1, offset=1), KEYED, [(10,)], "rows 0 to 0"),
    ("too few under LIMIT", query(Openness.TIES, limit=3), KEYED, [(10,), (20,)], "2 rows instead of 3"),
]


@pytest.mark.parametrize(("asked", "everything", "found"), RIGHT)
def test_a_permitted_answer_is_right(asked: Query, everything: list, found: list) -> None:
    assert answer_difference(asked, found, everything) is None


@pytest.mark.parametrize(("asked", "everything", "found", "said"), [case[1:] for case in WRONG])
def test_a_wrong_answer_is_named(asked: Query, everything: list, found: list, said: str) -> None:
    assert said in str(answer_difference(asked, found, everything))


def test_rows_that_are_not_in_order_are_refused() -> None:
    """The oracle's own answer is not to be trusted blindly."""
    with pytest.raises(ValueError, match="do not stand together"):
        answer_difference(query(Openness.TIES), [(1,), (2,), (3,)], [(1, 1), (2, 2), (1, 3)])
