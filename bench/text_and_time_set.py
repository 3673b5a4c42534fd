"""Tables of the committed set of text and time: blocks whose rows lie close together.

Columns are strings, dates and times, some of them numbers. Strings go through a few words in order,
or begin alike for more than sixteen characters; times step on by minutes to years, and often cross a
change of the zone's clocks.
"""

import random

from pruning.expressions.trees import Column
from pruning.expressions.types import (
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Kind,
    Type,
    Value,
)
from strategies.base.tables import Table
from strategies.base.values import DAY_MAX, DAY_MIN, US_MAX, US_MIN
from strategies.base.zones import US_PER_DAY, changes
from strategies.predicates.sources import Source
from strategies.predicates.text_and_time import Topic, leaves_of

TYPES = (STRING, STRING, STRING, TIMESTAMP, TIMESTAMP, TIMESTAMP, DATE, DATE, TIMESTAMP_NTZ, INTEGER, DOUBLE)
NAMES = ("a", "b", "c")
WORDS = (
    "alpha", "Beta", "beta", "delta ", "  gamma", "order-2024-0001", "order-2024-0002/a", "omega\U0001f600",
    "x_1", "x%2", "stra\u00dfe", "z\ud7ff", "z\U0010ffff",
)  # fmt: skip
DATES = ("2023-12-30", "2023-12-31", "2024-01-01", "2024-02-29", "2024-03-01", "not a date", "2024-3-9")
TAILS = ("", "", "0", "1", "9", " ", "a", "B", "\U0010ffff", "\ud7ff")
STEPS_US = (60_000_000, 3_600_000_000, US_PER_DAY, 7 * US_PER_DAY, 31 * US_PER_DAY, 200 * US_PER_DAY)
# Predicates drawn of each topic; far more than are taken.
DRAWN = {Topic.PREFIX_LIKE: 40, Topic.DATE_TRUNC: 40, Topic.MIXED: 50}
DRAWN_OTHERS = 22


def topics_of(table: Table, zone: str) -> dict[Topic, int]:
    """Return the topics that a table has columns for, and how many predicates to draw of each."""
    source = Source.of(table, zone)
    return {topic: DRAWN.get(topic, DRAWN_OTHERS) for topic in Topic if leaves_of(source, topic)}


def drawn_zoned_table(chance: random.Random, zone: str) -> Table:
    """Return one to three columns, the first a string or a time; 16 to 32 blocks of 1 to 6 rows."""
    count = chance.choices((1, 2, 3), weights=(35, 45, 20))[0]
    kinds = [chance.choice(TYPES[:9]), *(chance.choice(TYPES) for _ in range(count - 1))]
    if count > 1 and chance.random() < 0.3:
        kinds[1] = kinds[0]
    sizes = [chance.choice((1, 2, 3, 4, 6)) for _ in range(chance.randint(16, 32))]
    cells = [_column(chance, type_, sizes, zone) for type_ in kinds]
    columns = tuple(Column(name, type_) for name, type_ in zip(NAMES, kinds, strict=False))
    blocks = (zip(*(column[ordinal] for column in cells), strict=True) for ordinal in range(len(sizes)))
    return Table(columns, tuple(map(tuple, blocks)))


def _column(chance: random.Random, type_: Type, sizes: list[int], zone: str) -> list[list[Value | None]]:
    """Return one column's cells, block by block: around a place that moves on, or jumps."""
    values = _Line(chance, type_, zone)
    width, jumping = chance.choice((0, 1, 2, 5)), chance.random() < 0.3
    nulls = chance.choice((0.0, 0.0, 0.0, 0.15))
    blocks: list[list[Value | None]] = []
    for ordinal, size in enumerate(sizes):
        place = chance.randrange(len(sizes)) if jumping else ordinal
        all_null = chance.random() < 0.02
        cells = (values.at(place + chance.randint(0, width)) for _ in range(size))
        blocks.append([None if all_null or chance.random() < nulls else cell for cell in cells])
    return blocks


class _Line:
    """Values of a type at the places of a line, in no strict order."""

    def __init__(self, chance: random.Random, type_: Type, zone: str) -> None:
        self.chance, self.type = chance, type_
        self.step_us = chance.choice(STEPS_US)
        change = chance.choice([*changes(zone), 0, -US_PER_DAY * 400, 1_700_000_000_000_000])
        self.start_us = (
            change - chance.choice((0, 3, 10)) * self.step_us + chance.choice((0, 0, 1, -1, 1_800_000_000))
        )
        words = DATES if chance.random() < 0.15 else WORDS
        self.words = sorted(words) if chance.random() < 0.7 else list(words)
        self.stem = chance.choice(("", "", "", "warehouse/north/2024/", "k"))

    def at(self, place: int) -> Value:
        """Return the value at a place, or one near it."""
        match self.type.kind:
            case Kind.STRING:
                word = self.words[place // 3 % len(self.words)]
                return (self.stem + word + self.chance.choice(TAILS)).encode()
            case Kind.DATE:
                return max(DAY_MIN, min(DAY_MAX, (self.start_us + place * self.step_us) // US_PER_DAY))
            case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
                exact = (
                    self.start_us + place * self.step_us + self.chance.choice((0, 0, 1, self.step_us // 3))
                )
                return max(US_MIN, min(US_MAX, exact))
            case Kind.DOUBLE:
                return place / 4
            case _:
                return place
