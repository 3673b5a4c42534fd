"""Maps in blocks of rows, and predicates over the values of keys.

A `Table` holds no maps: here a block is a tuple of maps, one for each row, and its metadata bounds the keys
and the values of all of them. As in files of other writers, a map may have a key more than once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.names import Inside, leaf_name
from pruning.expressions.trees import (
    And,
    Call,
    Column,
    Compare,
    Comparison,
    Element,
    Expression,
    Function,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    StartsWith,
)
from pruning.expressions.types import INTEGER, STRING, Type, Value
from strategies.base.metadata import BlockFacts, exact_facts, to_metadata
from strategies.base.tables import Table
from strategies.choices import choose

Entries: TypeAlias = tuple[tuple[Value, Value | None], ...] | None

MAP_NAME = "m"
_WHOLE: tuple[Value, ...] = (-3, 0, 1, 2, 3, 7)
_TEXTS: tuple[Value, ...] = (b"", b"a", b"ab", b"abc", b"b", b"\xed\x9f\xbf")


@dataclass(frozen=True, slots=True)
class MapTable:
    """One map column: the entries of the rows of each block, None for NULL."""

    key: Type
    value: Type
    blocks: tuple[tuple[Entries, ...], ...]

    @property
    def metadata(self) -> pa.Table:
        """Block metadata that bounds keys and values; it does not count NULL values."""
        leaves = (
            Column(leaf_name(MAP_NAME, (), Inside.KEYS), self.key),
            Column(leaf_name(MAP_NAME, (), Inside.VALUES), self.value),
        )
        entries = Table(
            leaves, tuple(tuple(e for cell in block for e in cell or ()) for block in self.blocks)
        )
        facts = tuple(
            BlockFacts(len(block), tuple(replace(column, null_count=None) for column in block_facts.columns))
            for block, block_facts in zip(self.blocks, exact_facts(entries), strict=True)
        )
        return to_metadata(entries, facts)


@st.composite
def map_tables(draw: DrawFn) -> MapTable:
    """Blocks of 0 to 4 maps of 0 to 3 entries of few keys and values.

    Shrinks to: one empty block of ints by ints.
    """
    key, value = choose(draw, (INTEGER, STRING)), choose(draw, (INTEGER, STRING))
    blocks = []
    for _ in range(draw(st.integers(1, 4))):
        keys, values = (
            draw(st.lists(st.sampled_from(values_of(type_)), min_size=1, max_size=3))
            for type_ in (key, value)
        )
        cells = st.sampled_from(values) | (st.none() if draw(st.booleans()) else st.nothing())
        entries = st.lists(st.tuples(st.sampled_from(keys), cells), max_size=3).map(tuple)
        maps = entries | (st.none() if draw(st.booleans()) else st.nothing())
        blocks.append(tuple(draw(st.lists(maps, max_size=4))))
    return MapTable(key, value, tuple(blocks))


def values_of(type_: Type) -> Sequence[Value]:
    """Return the few values of a type that are drawn."""
    return _WHOLE if type_ == INTEGER else _TEXTS


@st.composite
def map_predicates(draw: DrawFn, table: MapTable) -> Expression:
    """Conditions on the values of keys; alone, or two of the same or of different keys combined.

    Shrinks to: the value of a key that equals a constant.
    """
    first = _condition(draw, table)
    shape = choose(draw, ("one", "one", "not", "and", "or"))
    if shape == "one":
        return first
    if shape == "not":
        return Not(first)
    both = (first, _condition(draw, table))
    return And(both) if shape == "and" else Or(both)


def _condition(draw: DrawFn, table: MapTable) -> Expression:
    sought: Expression = Literal(choose(draw, tuple(values_of(table.key))), table.key)
    value = value_at(table, sought)
    literals = [
        Literal(constant, table.value)
        for constant in draw(st.lists(st.sampled_from(values_of(table.value)), min_size=1, max_size=3))
    ]
    shape = choose(draw, ("compare", "compare", "in", "null", *["prefix"] * (table.value == STRING)))
    match shape:
        case "compare":
            return Compare(choose(draw, Comparison), value, literals[0])
        case "in":
            return In(value, tuple(literals))
        case "null":
            return IsNull(value)
        case _:
            return StartsWith(value, choose(draw, (b"a", b"ab", b"c")))


def value_at(table: MapTable, sought: Expression) -> Call:
    """Return the value of a key in the maps of a table.

    Example:
        >>> value_at(MapTable(INTEGER, STRING, ()), Literal(1, INTEGER)).type.sql
        'string'
    """
    values = Element(MAP_NAME, (), table.value, Inside.VALUES)
    keys = Element(MAP_NAME, (), table.key, Inside.KEYS)
    return Call(Function.MAP_VALUE, (values, keys, sought), table.value)
