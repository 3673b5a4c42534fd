"""The reference: the small engine's answers from the generated values, and their use to judge engines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from oracles.answers.contradictions import Contradiction, Oracle, Rows, find_contradiction, without_limit
from skipproof.stand.adapters.serving import Unsupported
from skipproof.stand.reference.cases import Case
from skipproof.stand.reference.engine import answer_from_all_rows
from skipproof.stand.reference.meanings import difference_name, reason_to_raise
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Value, from_json
from skipproof.stand.workers.workers import Hello
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import Column, Json, Question
from strategies.engines.worlds import World

# The reason of an opinion for a question that the small engine cannot answer.
NOT_KNOWN = "the reference lacks it"

Answer: TypeAlias = list[list[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """The judgement of the reference on one whole answer.

    Attributes:
        question: The question, without LIMIT and OFFSET.
        none: The reason why there is no judgement, or empty.
        rows: The reference's own answer.
        contradiction: The contradiction of the engine's answer with it, or None.
    """

    question: Question
    none: str = ""
    rows: Rows = ()
    contradiction: Contradiction | None = None


class Reference:
    """Answers the questions of one world; its tables are only made when they are needed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._answers: dict[Question, Answer | None] = {}

    def opinion(self, hello: Hello, question: Question, whole: Rows) -> Opinion:
        """Judge an engine's whole answer, unless a declared difference in meaning applies."""
        whole_question = without_limit(question)
        none = difference_name(hello, self._case(hello, whole_question))
        if none:
            return Opinion(question=whole_question, none=none)
        rows = self.answer(whole_question)
        if rows is None:
            return Opinion(question=whole_question, none=NOT_KNOWN)
        wrong = find_contradiction(whole_question, whole, rows)
        if wrong is not None:
            wrong = replace(wrong, oracle=Oracle.REFERENCE)
        return Opinion(question=whole_question, rows=rows, contradiction=wrong)

    def reason_to_raise(self, hello: Hello, question: Question, error: str) -> str:
        """Return the declared difference in meaning by which an engine may raise an error, or empty."""
        return reason_to_raise(self._case(hello, question), error)

    def _case(self, hello: Hello, question: Question) -> Case:
        """Return a question of this world, with all settings."""
        defaults = {name: values[0] for name, values in hello.settings.items()}
        return Case(question, self._world.tables, {**defaults, **self._world.settings})

    def answer(self, question: Question) -> Answer | None:
        """Return all rows of the answer; None if the small engine does not support the question."""
        if question not in self._answers:
            try:
                self._answers[question] = answer_from_all_rows(question.json(), self._tables)
            except Unsupported:
                self._answers[question] = None
        return self._answers[question]

    @cached_property
    def _tables(self) -> dict[str, Table]:
        """The world's tables in the small engine."""
        return {name: _table(table) for name, table in self._world.tables.items()}


def _table(table: StoredTable) -> Table:
    """Return a table of the small engine without statistics."""
    places = {column.name: (at, column.type) for at, column in enumerate(table.columns)}
    return Table(places, [Group(_rows(block, table.columns), ()) for block in table.blocks if block])


def _rows(block: Sequence[Sequence[Json]], columns: Sequence[Column]) -> list[tuple[Value, ...]]:
    """Return the rows of a block; each distinct value is converted once, and the two zeros are two values."""
    read = []
    for column, cells in zip(columns, zip(*block, strict=True), strict=True):
        if column.type.startswith("float"):
            read.append([from_json(cell, column.type) for cell in cells])
        else:
            values = {cell: from_json(cell, column.type) for cell in set(cells)}
            read.append([values[cell] for cell in cells])
    return list(zip(*read, strict=True))
