"""The reference: what the generated values alone make of a question, as the stand's small engine tells it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from oracles.answers.contradictions import Contradiction, Oracle, Rows, contradiction, unlimited
from skipproof.stand.adapters.serving import Unsupported
from skipproof.stand.reference.cases import Case
from skipproof.stand.reference.engine import plainly
from skipproof.stand.reference.meanings import difference
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Value, from_json
from skipproof.stand.workers.workers import Hello
from strategies.engines.engine_questions import World
from strategies.engines.engine_tables import Stored
from strategies.engines.questions import Column, Json, Question

# Why there is no opinion where no engine's meaning is to blame.
NOT_KNOWN = "the reference lacks it"

Answer: TypeAlias = list[list[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What the reference says of one whole answer.

    Attributes:
        question: What was asked, without LIMIT and OFFSET.
        none: Why it says nothing; empty where it does.
        rows: Its own answer.
        contradiction: What is wrong with the engine's, None where nothing is.
    """

    question: Question
    none: str = ""
    rows: Rows = ()
    contradiction: Contradiction | None = None


class Reference:
    """Answers the questions of one world; nothing is computed before it is asked for."""

    def __init__(self, world: World) -> None:
        self._world = world

    def opinion(self, hello: Hello, question: Question, whole: Rows) -> Opinion:
        """Judge an engine's whole answer, where what the engine means is what the reference means."""
        asked = unlimited(question)
        defaults = {name: values[0] for name, values in hello.settings.items()}
        none = difference(hello, Case(asked, self._world.tables, {**defaults, **self._world.settings}))
        if none:
            return Opinion(question=asked, none=none)
        rows = self.answer(asked)
        if rows is None:
            return Opinion(question=asked, none=NOT_KNOWN)
        wrong = contradiction(asked, whole, rows)
        if wrong is not None:
            wrong = replace(wrong, oracle=Oracle.REFERENCE)
        return Opinion(question=asked, rows=rows, contradiction=wrong)

    def answer(self, question: Question) -> Answer | None:
        """All rows of the answer; None of a question that the small engine cannot be asked."""
        try:
            return plainly(question.json(), self._tables)
        except Unsupported:
            return None

    @cached_property
    def _tables(self) -> dict[str, Table]:
        return {name: _table(table) for name, table in self._world.tables.items()}


def _table(table: Stored) -> Table:
    """The rows of a table, of which nothing else is known."""
    places = {column.name: (at, column.type) for at, column in enumerate(table.columns)}
    return Table(places, [Group(_rows(block, table.columns), ()) for block in table.blocks if block])


def _rows(block: Sequence[Sequence[Json]], columns: Sequence[Column]) -> list[tuple[Value, ...]]:
    """A block's rows; what is there many times is read once."""
    read = []
    for column, cells in zip(columns, zip(*block, strict=True), strict=True):
        known = {cell: from_json(cell, column.type) for cell in set(cells)}
        read.append([known[cell] for cell in cells])
    return list(zip(*read, strict=True))
