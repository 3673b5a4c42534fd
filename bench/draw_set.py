"""Draws the committed sets of tables and predicates anew, the same from the same seed.

    python bench/draw_set.py [--text-and-time] [--tables N] [--seed N] [--out FILE]

A table's blocks hold rows that lie close together, most of them, so that bounds are narrow and say
something. Predicates come from `strategies.predicates.predicates`. Most of those taken tell rows apart: they
are TRUE on one row of the table at least, and not on all of them. Those of the two classes whose
tightness has a bar of its own come first, up to a share.

With `--text-and-time` it draws the other set, which `text_and_time_set.py` describes.
"""

import argparse
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy
from text_and_time_set import drawn_zoned_table, topics_of

from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.function_groups import mode_of
from pruning.expressions.traversal import columns, walk
from pruning.expressions.trees import Column, Expression, Mode
from pruning.expressions.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    Kind,
    Type,
    Value,
    decimal,
)
from strategies.base.tables import Block, Table
from strategies.base.values import DAY_MAX, DAY_MIN, decimal_of, to_float32
from strategies.base.zones import ZONES
from strategies.predicates.committed import PATH, TEXT_AND_TIME_PATH, TableCases, write
from strategies.predicates.families import is_multi_column, is_single_column
from strategies.predicates.predicates import predicates
from strategies.predicates.text_and_time import zoned_predicates

NUMBERS = (BYTE, SHORT, INTEGER, INTEGER, LONG, LONG, DOUBLE, FLOAT, decimal(9, 2), decimal(18, 6))
TYPES = (*NUMBERS, STRING, STRING, STRING, DATE, DATE, BOOLEAN, decimal(10, 0), decimal(38, 10))
NAMES = ("a", "b", "c", "d")
PREDICATES = 40  # of each table
CLASS_MAX = 14  # of these, at most so many of each class that has a bar
DULL_MAX = 6  # and at most so many that do not tell rows apart
RAISING_MAX = 1  # or that fail as a whole
DRAWN = 200  # predicates drawn for each table, to choose from
MODES = ((Mode.TRY,), (Mode.TRY,), (Mode.TRY, Mode.LEGACY), (Mode.LEGACY,), (Mode.TRY, Mode.ANSI))
FOOTERS = 4  # every so many tables, metadata is as a footer tells it
WORDS = ("a", "ab", "b", "ma", "mb", "x", "z")


def main() -> None:
    """Draw and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text-and-time", action="store_true", help="the set of text and time")
    parser.add_argument("--tables", type=int, help="tables to draw (default 520, of text and time 312)")
    parser.add_argument("--seed", type=int, default=2025, help="of everything (default %(default)s)")
    parser.add_argument("--out", type=Path, help="the file to write (default the committed one)")
    arguments = parser.parse_args()
    usual, source, path = (520, of_numbers, PATH)
    if arguments.text_and_time:
        usual, source, path = (312, of_text_and_time, TEXT_AND_TIME_PATH)
    tables, out = arguments.tables or usual, arguments.out or path
    write(drawn_cases(tables, arguments.seed, source), out)
    print(f"{tables} tables, {out.stat().st_size:,} bytes in {out}")


Drawn: TypeAlias = tuple[Table, str, list[Expression]]


def drawn_cases(
    tables: int, seed_: int, source: Callable[[int, random.Random], Drawn]
) -> Iterator[TableCases]:
    """Yield tables with predicates; no predicate of the set is like another."""
    taken: set[str] = set()  # as text, because NaN equals nothing
    for ordinal in range(tables):
        table, zone, drawn = source(ordinal, random.Random(f"{seed_}/{ordinal}"))
        chosen = _choose(table, zone, [predicate for predicate in drawn if repr(predicate) not in taken])
        taken |= set(map(repr, chosen))
        yield TableCases(table, tuple(chosen), footer=ordinal % FOOTERS == FOOTERS - 1, zone=zone)


def of_numbers(ordinal: int, chance: random.Random) -> Drawn:
    """Return a table of the first set, and predicates to choose from."""
    table, modes = drawn_table(chance), MODES[ordinal % len(MODES)]
    one = predicates(table, max_leaves=10, modes=modes)
    return table, "UTC", drawn_predicates(one, DRAWN, chance.randrange(2**32))


def of_text_and_time(ordinal: int, chance: random.Random) -> Drawn:
    """Return a table of the second set, its zone, and predicates of each topic to choose from."""
    zone = ZONES[ordinal % len(ZONES)]
    table = drawn_zoned_table(chance, zone)
    drawn: dict[str, Expression] = {}
    for topic, count in topics_of(table, zone).items():
        one = zoned_predicates(table, zone, topic)
        found = drawn_predicates(one, count, chance.randrange(2**32))
        # Plain comparisons are what the other set is made of.
        drawn |= {repr(predicate): predicate for predicate in found if not is_single_column(predicate)}
    shuffled = list(drawn.values())
    chance.shuffle(shuffled)
    return table, zone, shuffled


def drawn_predicates(one: SearchStrategy[Expression], count: int, seed_: int) -> list[Expression]:
    """Return different predicates in the order they are drawn, most of them with a column."""
    found: list[Expression] = []

    @seed(seed_)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        # Any of them would end the drawing, one by the clock: a seed must draw the same on each machine.
        suppress_health_check=list(HealthCheck),
    )
    @given(one)
    def draw(predicate: Expression) -> None:
        found.append(predicate)

    draw()
    different = {repr(predicate): predicate for predicate in found}
    return [predicate for predicate in different.values() if columns(predicate)]


def _choose(table: Table, zone: str, drawn: list[Expression]) -> list[Expression]:
    """Return the classes with a bar first, then the rest; each in the order drawn."""
    rooms = {"single": CLASS_MAX, "multi": CLASS_MAX, "dull": DULL_MAX, "raising": RAISING_MAX}
    ranked = sorted(drawn, key=lambda each: not (is_single_column(each) or is_multi_column(each)))
    chosen: list[Expression] = []
    spare: list[Expression] = []
    for predicate in ranked:
        if len(chosen) == PREDICATES:
            break
        kinds = _kinds(table, zone, predicate)
        full = [kind for kind in kinds if not rooms[kind]]
        for kind in kinds if not full else ():
            rooms[kind] -= 1
        (spare if full else chosen).append(predicate)
    return chosen + spare[: PREDICATES - len(chosen)]


def _kinds(table: Table, zone: str, predicate: Expression) -> list[str]:
    """Return the kinds that a predicate counts for, each of which has a limit."""
    kinds = ["single"] * is_single_column(predicate) + ["multi"] * is_multi_column(predicate)
    matches: set[bool] = set()
    try:
        for row in table.rows:
            matches.add(evaluate(predicate, table.as_mapping(row), zone=zone) is True)
            if len(matches) == 2 and not _may_raise(predicate):
                break
    except Overflow:
        return [*kinds, "raising"]
    except NoSecondOpinion:
        return kinds
    return kinds if len(matches) == 2 else [*kinds, "dull"]


def _may_raise(predicate: Expression) -> bool:
    return any(mode_of(node) is Mode.ANSI for node in walk(predicate))


def drawn_table(chance: random.Random) -> Table:
    """Return one to four columns, often of one type; 24 to 40 blocks of 1 to 8 rows."""
    count = chance.choices((1, 2, 3, 4), weights=(25, 45, 22, 8))[0]
    pool = NUMBERS if count > 1 and chance.random() < 0.7 else TYPES
    few = [chance.choice(pool) for _ in range(chance.choice((1, 1, 2)))]
    kinds = [chance.choice(few) if chance.random() < 0.85 else chance.choice(TYPES) for _ in range(count)]
    block_count = chance.randint(24, 40)
    sizes = [chance.choice((1, 2, 3, 4, 6, 8)) for _ in range(block_count)]
    cells = [_column(chance, type_, sizes) for type_ in kinds]
    named = tuple(Column(name, type_) for name, type_ in zip(NAMES, kinds, strict=False))
    return Table(named, tuple(_block(column[ordinal] for column in cells) for ordinal in range(block_count)))


def _block(cells: Iterator[list[Value | None]]) -> Block:
    return tuple(zip(*cells, strict=True))


def _column(chance: random.Random, type_: Type, sizes: list[int]) -> list[list[Value | None]]:
    """Return one column's cells, block by block: near a centre that moves on, or stays, or jumps."""
    step, width = chance.choice((0, 1, 3, 10)), chance.choice((0, 1, 2, 4, 20))
    start, jumping = chance.choice((-60, -10, 0, 5)), chance.random() < 0.3
    nulls = chance.choice((0.0, 0.0, 0.1, 0.3))
    blocks = []
    for ordinal, size in enumerate(sizes):
        centre = start + step * (chance.randrange(len(sizes)) if jumping else ordinal)
        if chance.random() < 0.04:
            centre = chance.choice(_ENDS)
        blocks.append(_cells(chance, type_, size, centre, width, nulls))
    return blocks


_ENDS = (2**62, -(2**62), 10**6, -(10**6))


def _cells(
    chance: random.Random, type_: Type, size: int, centre: int, width: int, nulls: float
) -> list[Value | None]:
    kind = chance.random()
    if kind < 0.03:
        return [None] * size
    nulls = nulls if kind < 0.6 else 0.0
    nans = 0.2 if type_.floating and 0.05 < kind < 0.15 else 0.0
    cells: list[Value | None] = []
    for _ in range(size):
        place = centre + chance.randint(0, width)
        cell = float("nan") if chance.random() < nans else _value(chance, type_, place)
        cells.append(None if chance.random() < nulls else cell)
    return cells


def _value(chance: random.Random, type_: Type, place: int) -> Value:
    """Return a value of the type at a place on a line of small integers, or at the line's end."""
    match type_.kind:
        case Kind.BOOLEAN:
            return place % 7 > 3
        case Kind.FLOAT:
            return to_float32(place / chance.choice((1, 4, 10)))
        case Kind.DOUBLE:
            return place / chance.choice((1, 4, 10))
        case Kind.DECIMAL:
            limit = 10**type_.precision - 1
            unit = 10 ** max(0, type_.scale - 1)
            return decimal_of(max(-limit, min(limit, place * unit)), type_.scale)
        case Kind.STRING:
            word = WORDS[place // 10 % len(WORDS)]
            return (word + str(place % 10) * chance.choice((0, 1, 1, 2))).encode()
        case Kind.DATE:
            return max(DAY_MIN, min(DAY_MAX, 19_000 + place))
        case _:
            assert type_.integer_range is not None
            return max(type_.integer_range[0], min(type_.integer_range[1], place))


if __name__ == "__main__":
    main()
