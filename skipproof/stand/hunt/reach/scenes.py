"""Scenes: one question over the opened tables of a world, and what the small engine decides in it.

A decision is recorded for each row, so that it can be compared when row groups are split or left out: a row
is evaluated, or accepted without evaluation, or never read.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.ranges import FALSE, NULL, TRUE, Lookup
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.tables import AvailableStatistics, Chunk, Group, Table, from_files
from skipproof.stand.reference.values import Row, Value
from strategies.engines.engine_tables import StoredTable
from strategies.engines.questions import ROW_NUMBER, Json

# Returns other cells of a column for those of a row group.
ChangeCells: TypeAlias = Callable[[Sequence[Value]], Sequence[Value]]
ChangeChunk: TypeAlias = Callable[[Chunk], Chunk]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One question, and the tables as they were opened.

    Attributes:
        question: In JSON.
        stored: The tables as they were drawn, by name.
        tables: The same tables in the small engine, before the settings apply.
    """

    question: Json
    stored: Mapping[str, StoredTable]
    tables: Mapping[str, Table]
    settings: Mapping[str, str]

    def table_of(self, column: str) -> str:
        """Return the name of the table that has a column."""
        return next(name for name, table in self.tables.items() if column in table.schema)

    def type_of(self, column: str) -> str:
        """Return the type of a column."""
        return self.tables[self.table_of(column)].schema[column][1]

    def chunks(self, column: str) -> Iterator[tuple[Group, Chunk | None]]:
        """Yield the row groups with rows of a column's table, with the column's chunk if they hold one."""
        for group in self.tables[self.table_of(column)].groups:
            if group.rows:
                yield group, chunk_of(group, column)

    def cells(self, column: str) -> list[list[Value]]:
        """Return the cells of a column in each row group."""
        table = self.tables[self.table_of(column)]
        position = table.schema[column][0]
        return [[row[position] for row in group.rows] for group in table.groups]

    def with_table(self, name: str, groups: Sequence[Group]) -> "Scene":
        """Return the scene with other row groups of a table."""
        return replace(self, tables={**self.tables, name: Table(self.tables[name].schema, groups)})

    def with_cells(self, column: str, change: ChangeCells) -> "Scene":
        """Return the scene with other cells in a column; a row group that lacks the column then has it."""
        name = self.table_of(column)
        table = self.tables[name]
        position, type_ = table.schema[column]
        return self.with_table(
            name, [_with_cells(group, column, position, type_, change) for group in table.groups]
        )

    def with_chunks(self, column: str, change: ChangeChunk) -> "Scene":
        """Return the scene with the chunks of a column changed, but not their cells."""
        name = self.table_of(column)
        groups = []
        for group in self.tables[name].groups:
            chunk = chunk_of(group, column)
            groups.append(group if chunk is None else _with_chunk(group, change(chunk)))
        return self.with_table(name, groups)


def chunk_of(group: Group, column: str) -> Chunk | None:
    """Return the chunk of a column, or None if the row group does not hold the column."""
    return next((chunk for chunk in group.chunks if chunk.column == column), None)


def _with_cells(group: Group, column: str, position: int, type_: str, change: ChangeCells) -> Group:
    """Return a row group with other cells in a column; the group itself if none differs."""
    cells = [row[position] for row in group.rows]
    changed = change(cells)
    if all(old is new for old, new in zip(cells, changed, strict=True)):
        return group
    rows = [
        (*row[:position], cell, *row[position + 1 :]) for row, cell in zip(group.rows, changed, strict=True)
    ]
    chunk = chunk_of(group, column)
    if chunk is None:
        ordinal = max((held.ordinal for held in group.chunks), default=-1) + 1
        stated = AvailableStatistics(bloom=False, pages=False)
        chunk = Chunk(path=column, column=column, type=type_, cells=changed, stated=stated, ordinal=ordinal)
        return Group(rows, [*group.chunks, chunk], dict(group.facts))
    # A partition's value is not that of other cells.
    return replace(_with_chunk(group, replace(chunk, cells=changed, partition=None)), rows=rows)


def _with_chunk(group: Group, changed: Chunk) -> Group:
    """Return a row group with one chunk replaced; the facts about the others stay."""
    if any(chunk is changed for chunk in group.chunks):
        return group
    chunks = [changed if chunk.ordinal == changed.ordinal else chunk for chunk in group.chunks]
    facts = {ordinal: facts for ordinal, facts in group.facts.items() if ordinal != changed.ordinal}
    return Group(group.rows, chunks, facts)


def open_table(form: Json, stored: StoredTable) -> Table:
    """Open the files of a table, with bloom filters and pages only where the layout has them."""
    table = from_files(form)
    layout = stored.layout
    has_pages = (
        layout.page_index and layout.rows_per_page is not None and "column_index" not in layout.forgotten
    )

    def as_stored(chunk: Chunk, rows: int) -> Chunk:
        several = has_pages and rows > (layout.rows_per_page or 0)
        stated = replace(
            chunk.stated, bloom=chunk.stated.bloom and chunk.column in layout.filters, pages=several
        )
        return replace(chunk, stated=stated)

    groups = [
        Group(group.rows, [as_stored(chunk, len(group.rows)) for chunk in group.chunks])
        for group in table.groups
    ]
    return Table(table.schema, groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """The decisions and the answer of the small engine.

    Attributes:
        evaluated, accepted: The rows for which the condition was evaluated, and those that were read without.
        empty: How many decisions were about row groups without rows.
        rows: The answer, by the names of its columns.
    """

    evaluated: frozenset[tuple[str, int]]
    accepted: frozenset[tuple[str, int]]
    empty: int
    names: tuple[str, ...]
    rows: Sequence[Sequence[Value]]
    is_ordered: bool

    def differ(self, other: "Decisions") -> bool:
        """Tell whether other rows are read, or the answers differ.

        Two answers are compared by the row numbers that both have, since the values of a row may be changed
        without a change of the answer; answers without row numbers are compared by all values.
        """
        if (self.evaluated, self.accepted, self.empty) != (other.evaluated, other.accepted, other.empty):
            return True
        common = [name for name in self.names if name.endswith(ROW_NUMBER) and name in other.names]
        answers = self._answer(common), other._answer(common)
        if self.is_ordered and other.is_ordered:
            return answers[0] != answers[1]
        return Counter(answers[0]) != Counter(answers[1])

    def _answer(self, names: Sequence[str]) -> list[tuple[Value, ...]]:
        """Return the rows of the answer, of the columns alone if there are any."""
        if not names:
            return [tuple(row) for row in self.rows]
        positions = [self.names.index(name) for name in names]
        return [tuple(row[position] for position in positions) for row in self.rows]


@dataclass(frozen=True, slots=True)
class GroupLookup:
    """The facts about the columns of a row group."""

    group: Group
    lookup: Lookup

    def __call__(self, name: str) -> Facts:
        return self.lookup(name)


class TruthMemory:
    """The truth values of conditions on row groups, which many scenes of a question have in common."""

    def __init__(self) -> None:
        # The condition and the row group are kept, so that no other object has their addresses.
        self._truths: dict[tuple[int, int], tuple[Json, Group, int]] = {}

    def truths(self, where: Json, lookup: GroupLookup, evaluate: Callable[[Json, Lookup], int]) -> int:
        """Return the truth values, evaluated once."""
        key = id(where), id(lookup.group)
        if key not in self._truths:
            self._truths[key] = where, lookup.group, evaluate(where, lookup)
        return self._truths[key][2]


class RecordingRules(Rules):
    """The correct rules, which record what they decide of each row."""

    def __init__(self, memory: TruthMemory) -> None:
        super().__init__()
        self._memory = memory
        self.evaluated: set[tuple[str, int]] = set()
        self.accepted: set[tuple[str, int]] = set()
        self.empty = 0
        self._selected: Sequence[Row] | None = None

    def read(self, table: Table, group: Group, where: Json) -> list[Row]:
        """Read a row group, and record its rows."""
        self._selected = None
        rows = super().read(table, group, where)
        # The row number is the last column of every table.
        name = list(table.schema)[-1]
        if self._selected is None:
            self.accepted.update((name, row[-1]) for row in rows)
        else:
            self.evaluated.update((name, row[-1]) for row in self._selected)
        return rows

    def rows_selected(self, group: Group, where: Json, lookup: Lookup) -> Sequence[Row]:
        """Return the rows of the pages that may match, and keep them for the record."""
        self._selected = super().rows_selected(group, where, lookup)
        return self._selected

    def may_match(self, where: Json, lookup: Lookup, rows: int) -> bool:
        """Tell whether some row may match, and count the row groups without rows."""
        self.empty += rows == 0
        return rows > 0 and (where is None or bool(self._remembered_truths(where, lookup) & TRUE))

    def matches_fully(self, where: Json, lookup: Lookup) -> bool:
        """Tell whether every row matches."""
        return where is None or not self._remembered_truths(where, lookup) & (FALSE | NULL)

    def lookup(self, table: Table, group: Group) -> Lookup:
        """Return the facts about a row group, with the row group."""
        return GroupLookup(group, super().lookup(table, group))

    def _remembered_truths(self, where: Json, lookup: Lookup) -> int:
        """Return the truth values of a condition."""
        assert isinstance(lookup, GroupLookup)
        return self._memory.truths(where, lookup, self.truths)


def prepare(scene: Scene) -> Mapping[str, Table]:
    """Return the tables of a scene with its settings."""
    engine = SmallEngine()
    return {name: engine.with_settings(table, scene.settings) for name, table in scene.tables.items()}


def decide(question: Json, tables: Mapping[str, Table], memory: TruthMemory | None = None) -> Decisions:
    """Answer a question over prepared tables, and return the decisions.

    Args:
        memory: Shared by the scenes of a question, which have most row groups in common.

    Raises:
        Unsupported, TypeError: the question is none that the small engine can answer.
    """
    rules = RecordingRules(memory or TruthMemory())
    # What a table remembers of another question is left out.
    rows = rules.answer(question, {name: Table(table.schema, table.groups) for name, table in tables.items()})
    return Decisions(
        evaluated=frozenset(rules.evaluated),
        accepted=frozenset(rules.accepted),
        empty=rules.empty,
        # Answers with aggregates have no row numbers.
        names=() if question["aggregates"] else tuple(question["select"]),
        rows=rows,
        is_ordered=bool(question["order"]),
    )
