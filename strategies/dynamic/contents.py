"""Tables that dynamic tables read, and random changes to them: NULLs, NaN, -0.0, duplicates, reinsertions.

Values are drawn from a `random.Random`; Hypothesis gives one whose draws it shrinks.

"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from random import Random

from dynamic_tables.storage.netting import difference
from dynamic_tables.values.changes import Cell, Contents, Delta, Row
from dynamic_tables.values.types import ARRAY, BOOLEAN, FLOAT, INTEGER, TEXT, Field, decimal

FIELDS: tuple[Field, ...] = (
    Field("k", INTEGER),
    Field("t", TEXT),
    Field("n", INTEGER),
    Field("f", FLOAT),
    Field("d", decimal(2)),
    Field("b", BOOLEAN),
    Field("a", ARRAY),
)
# Few values, so that keys meet and rows repeat.
CELLS: Mapping[str, tuple[Cell, ...]] = {
    "k": (None, None, 0, 1, 1, 2, 3),
    "t": (
        None,
        "",
        "a",
        "a",
        "b|",
        "|b",
        "ab",
        "a rather long text, of which an id has room for a prefix",
    ),
    "n": (None, -1, 0, 1, 2, 5),
    "f": (None, float("nan"), 0.0, -0.0, 1.5, -2.0, 0.1, 1e300, float("inf")),
    "d": (None, Decimal("0.00"), Decimal("1.10"), Decimal("1.10"), Decimal("-2.25")),
    "b": (None, True, False),
    "a": (None, (), (1,), (1, 1), (2, None, 1), (0.0, -0.0), ("x", 3)),
}
ROWS_MAX = 5
CHANGES_MAX = 3
# There are few ids, so that a deleted row may come again under its id.
IDS = tuple(f"r{number}" for number in range(8))


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A source: its identity and columns."""

    identity: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class IntervalChanges:
    """The contents of one table before and after an interval, and the changes between."""

    before: Contents
    after: Contents
    changes: Delta


def drawn_tables(random: Random) -> tuple[SourceTable, ...]:
    """Draw one to three tables of two to four columns; all have the first column."""
    return tuple(
        SourceTable(f"t{number}", (FIELDS[0], *sorted_sample(random, random.randint(1, 3))))
        for number in range(random.randint(1, 3))
    )


def sorted_sample(random: Random, count: int) -> list[Field]:
    """Draw some of the other columns, in their order."""
    places = random.sample(range(1, len(FIELDS)), count)
    return [FIELDS[place] for place in sorted(places)]


def drawn_row(random: Random, table: SourceTable) -> Row:
    """Draw one row."""
    return tuple(random.choice(CELLS[field.name]) for field in table.fields)


def drawn_contents(random: Random, table: SourceTable) -> Contents:
    """Draw a few rows, some of them equal."""
    ids = random.sample(IDS, random.randint(0, ROWS_MAX))
    return {row_id: drawn_row(random, table) for row_id in ids}


def drawn_step(random: Random, table: SourceTable, before: Contents) -> IntervalChanges:
    """Draw some insertions, deletions and updates, or none; rows that end as they began are no change."""
    after = dict(before)
    for _ in range(random.randint(0, CHANGES_MAX)):
        row_id = random.choice(IDS)
        if row_id in after and random.random() < 0.5:
            del after[row_id]
        else:
            after[row_id] = drawn_row(random, table)
    if random.random() < 0.3:  # a bag has no order
        ids = list(after)
        random.shuffle(ids)
        after = {row_id: after[row_id] for row_id in ids}
    return IntervalChanges(before, after, difference(before, after))
