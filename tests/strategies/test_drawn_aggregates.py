"""Aggregates of the questions to engines: some that statistics alone answer, others that need the rows."""

import pytest

from skipproof.stand.hunt.rounds import Rounds
from strategies.engines.capabilities import Capabilities
from strategies.engines.questions import Column, Question
from strategies.engines.worlds import World

# Drawing the worlds takes seconds.
pytestmark = pytest.mark.slow


def needs_no_rows(question: Question) -> bool:
    """Tell whether a question is about extremes and counts of columns over a whole table."""
    only_columns = all(
        (part.of is None or isinstance(part.of, Column)) and part.where is None and not part.distinct
        for part in question.aggregates
    )
    return only_columns and question.group is None and question.having is None and not question.conditions


def test_a_sixth_of_aggregates_or_more_are_of_columns_of_a_whole_table() -> None:
    questions: list[Question] = []

    def visit(world: World) -> None:
        questions.extend(world.questions)

    source = Rounds(Capabilities(areas=("aggregate",)), 0)
    for _ in range(15):
        source.draw(visit)
    plain = [question for question in questions if needs_no_rows(question)]
    assert len(questions) / 6 < len(plain) < len(questions) / 2
    functions = {part.function for question in plain for part in question.aggregates if part.of is not None}
    assert functions == {"min", "max", "count"}
