"""The judge of the stand: an answer beside the whole answer of the same engine."""

from dataclasses import replace

import pytest

from oracles.answers.contradictions import Discrepancy, find_contradiction, has_several_answers, without_limit
from strategies.engines.questions import Call, Column, Key, Literal, Question, Relation

A = Column("a", "int64")
WHERE = Call(">", (A, Literal(0, "int64")))
ROWS = [[1, 0], [1, 1], [2, 2], [3, 3]]


def filtered(**more):
    return Question(area="filter", source=Relation(table="t", where=WHERE), select=("a", "rid"), **more)


def ordered(**more):
    return filtered(order=(Key(A),), **more)


#   question                       found                              verdict
CASES = {
    "same": (filtered(), ROWS, None),
    "another order": (filtered(), ROWS[::-1], None),
    "one lost": (filtered(), ROWS[1:], Discrepancy.LOST),
    "one twice": (filtered(), [*ROWS, ROWS[0]], Discrepancy.ADDED),
    "one changed": (filtered(), [[9, 0], *ROWS[1:]], Discrepancy.LOST),
    "any two of them": (filtered(limit=2), ROWS[2:], None),
    "too few for a LIMIT": (filtered(limit=2), ROWS[:1], Discrepancy.LOST),
    "too many for a LIMIT": (filtered(limit=2), ROWS[:3], Discrepancy.ADDED),
    "a strange row under a LIMIT": (filtered(limit=2), [[7, 7], ROWS[0]], Discrepancy.ADDED),
    "an OFFSET beyond the end": (filtered(limit=2, offset=9), [], None),
    "an OFFSET alone": (filtered(offset=3), ROWS[:1], None),
    "a lost row behind an OFFSET alone": (filtered(offset=1), ROWS[:2], Discrepancy.LOST),
    "in order": (ordered(), ROWS, None),
    "ties the other way": (ordered(), [ROWS[1], ROWS[0], *ROWS[2:]], None),
    "not in order": (ordered(), ROWS[::-1], Discrepancy.ADDED),
    "either of a tie": (ordered(limit=1), [ROWS[1]], None),
    "the wrong end": (ordered(limit=1), [ROWS[3]], Discrepancy.LOST),
    "behind the first": (ordered(limit=2, offset=1), [ROWS[0], ROWS[2]], None),
    "top of nothing": (ordered(limit=0), [], None),
    "rows that lack the key": (ordered(), [row[1:] for row in [[], *ROWS]], Discrepancy.LOST),
}


@pytest.mark.parametrize("name", CASES)
def test_a_contradiction_is_what_no_choice_of_rows_explains(name):
    question, found, verdict = CASES[name]
    wrong = find_contradiction(question, found, ROWS)
    assert (wrong and wrong.verdict) is verdict


@pytest.mark.parametrize("question", [filtered(), ordered(limit=2)])
@pytest.mark.parametrize("cut", [lambda row: row[1:], lambda row: [*row, 0]])
def test_rows_without_a_column_or_with_one_more_are_wrong_in_both_forms_too(question, cut):
    """Polars 0.13.6 leaves a column out of an aggregate, whatever it reads."""
    rows = list(map(cut, ROWS))
    for answer, whole in ((rows, ROWS), (rows, rows), (rows[:2], rows)):
        wrong = find_contradiction(question, answer, whole)
        assert wrong is not None
        assert wrong.difference.startswith(f"a row of {len(rows[0])} columns instead of 2: ")


def test_where_nothing_is_selected_rows_are_only_counted():
    nothing = replace(filtered(), select=())
    for rows in ([[]] * 4, [[1]] * 4):
        assert find_contradiction(nothing, rows, rows) is None
        assert find_contradiction(nothing, rows[:3], rows) is not None


def test_wrong_values_of_a_plain_read_are_a_verdict_of_their_own():
    plain = Question(area="filter", source=Relation(table="t"), select=("a", "rid"))
    wrong = find_contradiction(plain, [[9, 0], *ROWS[1:]], ROWS)
    assert wrong is not None
    assert wrong.verdict is Discrepancy.CHANGED
    assert "(9, 0)" in wrong.difference


def test_nan_equals_nan_and_both_zeros_are_equal():
    plain = Question(area="filter", source=Relation(table="t"), select=("a",))
    assert find_contradiction(plain, [[-0.0], ["NaN"]], [["NaN"], [0.0]]) is None
    assert find_contradiction(plain, [["NaN"], [1.0]], [["NaN"], [0.0]]) is not None


def test_the_whole_answer_is_the_question_without_limit_and_offset():
    assert without_limit(ordered(limit=2, offset=1)) == ordered()
    assert has_several_answers(filtered(offset=1))
    assert not has_several_answers(ordered())
