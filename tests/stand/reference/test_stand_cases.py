"""The case of a question knows the values that its answer shows, or a declared meaning would not count."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from oracles.answers.contradictions import without_limit
from skipproof.stand.hunt.hunting import capabilities
from skipproof.stand.reference.cases import NANS, Case, compares_nan, orders_both_zeros
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.opinions import Reference
from strategies.engines.capabilities import ConditionScope
from strategies.engines.engine_questions import ASKS
from strategies.engines.engine_rows import ValuePool
from strategies.engines.engine_tables import StoredTable
from strategies.engines.joins import LEFT, RIGHT, RIGHT_PREFIX
from strategies.engines.questions import Column, Json, Question, Relation, Term
from strategies.engines.worlds import World

_POOL = ValuePool("float64", (0.0, -0.0, 1.0, "NaN"))
# Few set operations are unions in an order.
_AREAS = ("topk", *("set",) * 6, "aggregate")
_ALL, _ONE = [0.0, -0.0, "NaN", 1.0], [1.0]


def _table(cells: list[Json], prefix: str) -> StoredTable:
    """A table of one block."""
    columns = (Column(f"{prefix}a", _POOL.type), Column(f"{prefix}rid", "int64"))
    return StoredTable(columns=columns, blocks=(tuple((cell, row) for row, cell in enumerate(cells)),))


@cache
def ordered_answers() -> list[tuple[Case, frozenset[str]]]:
    """Questions about floats, each with the values of one column by which its whole answer is in order.

    Both tables have all values, or one of them has.
    """
    scope = ConditionScope(capabilities(SmallEngine()), {"a": _POOL})
    worlds = [
        {LEFT: _table(left, ""), RIGHT: _table(right, RIGHT_PREFIX)}
        for left, right in ((_ALL, _ALL), (_ALL, _ONE), (_ONE, _ALL))
    ]
    answers: list[tuple[Case, frozenset[str]]] = []

    @settings(max_examples=200, phases=(Phase.generate,), derandomize=True, database=None, deadline=None)
    @given(st.sampled_from(_AREAS).flatmap(lambda area: st.composite(ASKS[area])(scope)))
    def look(question_with_filters: Question) -> None:
        question = _without_filters(question_with_filters)
        for tables in worlds if (ordered := _ordered_places(question)) else ():
            world = World(tables=tables, settings={}, questions=(question,))
            rows = Reference(world).answer(without_limit(question)) or []
            answers.extend(
                (Case(question, tables), frozenset(str(row[at]) for row in rows)) for at in ordered
            )

    look()
    return answers


def _without_filters(question: Question) -> Question:
    """The question about all rows, so that the answer has most values."""
    whole = replace(question, source=Relation(table=LEFT))
    if question.set is None:
        return whole
    return replace(whole, set=replace(question.set, right=Relation(table=RIGHT)))


def _ordered_places(question: Question) -> list[int]:
    """The places in an answer's rows of the columns by which they are in order."""
    names = [key.by.name for key in question.order if isinstance(key.by, Column)]
    return [question.answer_columns.index(name) for name in names if name in question.answer_columns]


def count_missed() -> Counter[str]:
    """The questions, by their class, whose case does not know a value by which the answer is in order."""
    areas = Counter[str]()
    for case, cells in ordered_answers():
        unknown_zeros = {"0.0", "-0.0"} <= cells and not orders_both_zeros(case)
        unknown_nan = bool(cells & set(NANS)) and not compares_nan(case)
        areas[case.question.area] += unknown_zeros or unknown_nan
    return +areas


def test_a_case_knows_the_values_by_which_its_answer_is_in_order() -> None:
    assert count_missed() == Counter()


def test_answers_are_in_an_order_of_both_zeros() -> None:
    areas = Counter(case.question.area for case, cells in ordered_answers() if {"0.0", "-0.0"} <= cells)
    assert min(areas[area] for area in ("topk", "set")) >= 5, areas


def test_a_case_that_knows_one_side_of_a_set_operation_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def left_alone(case: Case, key: Term) -> tuple[Term, ...]:
        return (key,)

    monkeypatch.setattr(Case, "_order_operands", left_alone)
    assert count_missed()["set"] > 0
