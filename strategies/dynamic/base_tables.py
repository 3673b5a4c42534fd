"""Base tables that many definitions read, and random writes to them over intervals.

An interval has several writes. Rows repeat, keys are skewed and NULL, a table may be empty, and some rows are
changed and changed back within one interval.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple, TypeAlias

from dynamic_tables.storage.netting import difference
from dynamic_tables.values.changes import Cell, Contents, Row
from dynamic_tables.values.types import Kind
from strategies.dynamic.contents import IntervalChanges, SourceTable

INTERVALS = 8
ROWS_FIRST = 10
WRITES_MAX = 3
# Above this number of rows, a table gets no new ones.
ROWS_MAX = 16
# The column that numbers the rows of a table; equal rows differ in it.
NUMBERED = "id"
# A value that no row has at the end of an interval.
MARK = 777
# Kinds of columns by which rows to change are chosen: their values are equal where they are alike.
CHOOSING = frozenset({Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.BOOLEAN})


class Choice(NamedTuple):
    """The rows that a write changes: those with a value in a column; NULL equals NULL."""

    place: int
    value: Cell


@dataclass(frozen=True, slots=True)
class RowInsertion:
    """New rows."""

    table: SourceTable
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class RowUpdate:
    """Another value in a column of the chosen rows."""

    table: SourceTable
    place: int
    value: Cell
    choice: Choice


@dataclass(frozen=True, slots=True)
class RowDeletion:
    """The chosen rows are deleted; all rows if there is no choice."""

    table: SourceTable
    choice: Choice | None


TableWrite: TypeAlias = RowInsertion | RowUpdate | RowDeletion
Version: TypeAlias = Mapping[str, Contents]


@dataclass(frozen=True, slots=True)
class WriteHistory:
    """Base tables, and the writes to them in each interval; the first interval fills the tables."""

    tables: tuple[SourceTable, ...]
    intervals: tuple[tuple[TableWrite, ...], ...]

    def versions(self) -> list[Version]:
        """Return the contents of all tables after each interval, by identity."""
        return [steps[-1] for steps in self.steps()]

    def steps(self) -> Iterator[list[Version]]:
        """Yield for each interval the contents before it and after each of its writes."""
        version: Version = {table.identity: {} for table in self.tables}
        count = 0
        for writes in self.intervals:
            versions = [version]
            for write in writes:
                count += 1
                identity = write.table.identity
                version = {**version, identity: contents_after(write, version[identity], count)}
                versions.append(version)
            yield versions


def contents_after(write: TableWrite, before: Contents, number: int) -> Contents:
    """Return the contents of the table after a write; `number` is part of the ids of new rows."""
    match write:
        case RowInsertion():
            return {**before, **{f"{number}.{place}": row for place, row in enumerate(write.rows)}}
        case RowDeletion(choice=None):
            return {}
        case RowDeletion(choice=choice) if choice is not None:
            return {row_id: row for row_id, row in before.items() if not is_chosen(row, choice)}
        case RowUpdate():
            return {
                row_id: with_cell(row, write.place, write.value) if is_chosen(row, write.choice) else row
                for row_id, row in before.items()
            }
    raise AssertionError(write)


def is_chosen(row: Row, choice: Choice) -> bool:
    """Tell whether a write changes a row."""
    return row[choice.place] == choice.value and (row[choice.place] is None) == (choice.value is None)


def with_cell(row: Row, place: int, value: Cell) -> Row:
    """Return a row with another value in a column."""
    return (*row[:place], value, *row[place + 1 :])


def interval_changes(before: Version, after: Version) -> dict[str, IntervalChanges]:
    """Return the changes of all tables between two versions."""
    return {
        identity: IntervalChanges(rows, after[identity], difference(rows, after[identity]))
        for identity, rows in before.items()
    }


Cells: TypeAlias = Mapping[str, Sequence[Cell]]


def drawn_history(
    random: Random, tables: tuple[SourceTable, ...], cells: Cells, intervals: int = INTERVALS
) -> WriteHistory:
    """Draw writes to tables over some intervals; the last table is empty at first.

    Args:
        random, tables: As their types say.
        cells: The values of each column, by name; those that are listed twice come twice as often.
        intervals: The number of intervals after the one that fills the tables.
    """
    now: dict[str, Contents] = {table.identity: {} for table in tables}
    count = 0
    written: list[tuple[TableWrite, ...]] = []
    for number in range(intervals + 1):
        writes: list[TableWrite] = []
        for table in random.sample(tables[:-1], len(tables) - 1) if number == 0 else tables:
            for write in drawn_writes(random, table, now[table.identity], cells):
                count += 1
                now[table.identity] = contents_after(write, now[table.identity], count)
                writes.append(write)
        written.append(tuple(writes))
    return WriteHistory(tables, tuple(written))


def drawn_writes(
    random: Random, table: SourceTable, contents: Contents, cells: Cells
) -> Iterator[TableWrite]:
    """Draw the writes to a table in one interval, or none; each follows the one before."""
    if not contents:
        yield RowInsertion(table, drawn_rows(random, table, contents, cells, ROWS_FIRST))
        return
    if random.random() < 0.3:
        yield from updates_back(random, table, contents)
    if random.random() < 0.2:
        return
    for number in range(random.randint(1, WRITES_MAX)):
        write = drawn_write(random, table, contents, cells)
        yield write
        contents = contents_after(write, contents, -number)
    if random.random() < 0.05:
        yield RowDeletion(table, None)


def drawn_write(random: Random, table: SourceTable, contents: Contents, cells: Cells) -> TableWrite:
    """Draw one write to a table."""
    chance = random.random() if contents else 0.0
    if chance < (0.5 if len(contents) < ROWS_MAX else 0.0):
        return RowInsertion(table, drawn_rows(random, table, contents, cells, random.randint(1, 3)))
    choices = [drawn_choice(random, table, contents) for _ in range(2)]
    choice = min(choices, key=lambda choice: sum(is_chosen(row, choice) for row in contents.values()))
    if chance < 0.75:
        places = [place for place, field in enumerate(table.fields) if field.name != NUMBERED]
        place = random.choice(places)
        return RowUpdate(table, place, random.choice(cells[table.fields[place].name]), choice)
    return RowDeletion(table, choice)


def drawn_rows(
    random: Random, table: SourceTable, contents: Contents, cells: Cells, count: int
) -> tuple[Row, ...]:
    """Draw new rows, some of which are like rows that exist."""
    rows = list(contents.values())
    numbered = [place for place, field in enumerate(table.fields) if field.name == NUMBERED]
    for _ in range(count):
        row = tuple(
            None if field.name == NUMBERED else random.choice(cells[field.name]) for field in table.fields
        )
        if rows and random.random() < 0.3:
            row = random.choice(rows)
        for place in numbered:
            numbers = [cell for other in rows if isinstance(cell := other[place], int)]
            row = with_cell(row, place, 1 + max(numbers, default=0))
        rows.append(row)
    return tuple(rows[-count:])


def drawn_choice(random: Random, table: SourceTable, contents: Contents) -> Choice:
    """Draw the rows that are like an existing row in one column."""
    places = [place for place, field in enumerate(table.fields) if field.type.kind in CHOOSING]
    place = random.choice(places)
    return Choice(place, random.choice(list(contents.values()))[place])


def updates_back(random: Random, table: SourceTable, contents: Contents) -> Iterator[TableWrite]:
    """Draw an update that a second one takes back."""
    places = [
        place
        for place, field in enumerate(table.fields)
        if field.type.kind is Kind.INTEGER and field.name != NUMBERED
    ]
    place = random.choice(places)
    value = random.choice(list(contents.values()))[place]
    yield RowUpdate(table, place, MARK, Choice(place, value))
    yield RowUpdate(table, place, value, Choice(place, MARK))
