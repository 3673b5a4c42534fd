"""Arrays of ints and strings in blocks of rows, and quantified predicates over their elements.

A `Table` holds no arrays: here a block is a tuple of arrays, one for each row, and its metadata bounds the
elements of all of them.

"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.names import leaf_name
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
    Quantified,
    Quantifier,
    StartsWith,
)
from pruning.expressions.types import INTEGER, STRING, Type, Value
from strategies.base.metadata import BlockFacts, ColumnFacts, exact_facts, to_metadata
from strategies.base.tables import Table
from strategies.choices import choose

Array: TypeAlias = tuple[Value | None, ...] | None

NAME = "xs"
_INTS: tuple[Value, ...] = (-3, 0, 1, 2, 3, 7)
_TEXTS: tuple[Value, ...] = (b"", b"a", b"ab", b"abc", b"b", b"\xed\x9f\xbf")


@dataclass(frozen=True, slots=True)
class ArrayTable:
    """One array column: the arrays of the rows of each block, None for NULL."""

    type: Type
    blocks: tuple[tuple[Array, ...], ...]

    @property
    def metadata(self) -> pa.Table:
        """Block metadata that bounds the elements; it does not count NULL elements."""
        leaf = Column(leaf_name(NAME, ()), self.type)
        rows = tuple(tuple((cell,) for array in block for cell in array or ()) for block in self.blocks)
        elements = Table((leaf,), rows)
        facts = tuple(
            BlockFacts(len(block), tuple(map(_without_counts, block_facts.columns)))
            for block, block_facts in zip(self.blocks, exact_facts(elements), strict=True)
        )
        return to_metadata(elements, facts)


@st.composite
def array_tables(draw: DrawFn) -> ArrayTable:
    """Blocks of 0 to 4 arrays of 0 to 3 elements of few values.

    Shrinks to: one empty block of ints.
    """
    type_ = choose(draw, (INTEGER, STRING))
    values = _INTS if type_ == INTEGER else _TEXTS
    blocks = []
    for _ in range(draw(st.integers(1, 4))):
        few = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
        cells = st.sampled_from(few) | (st.none() if draw(st.booleans()) else st.nothing())
        arrays = st.lists(cells, max_size=3).map(tuple) | (st.none() if draw(st.booleans()) else st.nothing())
        blocks.append(tuple(draw(st.lists(arrays, max_size=4))))
    return ArrayTable(type_, tuple(blocks))


@st.composite
def array_predicates(draw: DrawFn, table: ArrayTable) -> Expression:
    """`exists`, `forall`, the written form of `array_contains`, and single elements; alone or two combined.

    Shrinks to: `exists` of an element that equals a constant.
    """
    first = _condition(draw, table.type)
    shape = choose(draw, ("one", "one", "not", "and", "or"))
    if shape == "one":
        return first
    if shape == "not":
        return Not(first)
    both = (first, _condition(draw, table.type))
    return And(both) if shape == "and" else Or(both)


def _condition(draw: DrawFn, type_: Type) -> Expression:
    """Draw a quantifier, or a condition on one element."""
    if draw(st.integers(0, 2)):
        return _quantifier(draw, type_)
    element, values = Element(NAME, (), type_), _INTS if type_ == INTEGER else _TEXTS
    function = choose(
        draw, (Function.ELEMENT_AT, Function.ELEMENT_AT, Function.ARRAY_MAX, Function.ARRAY_MIN)
    )
    place = (Literal(choose(draw, (1, 2, -1, 4)), INTEGER),) if function is Function.ELEMENT_AT else ()
    item = Call(function, (element, *place), type_)
    literals = [
        Literal(value, type_) for value in draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    ]
    shape = choose(draw, ("compare", "compare", "in", "null"))
    if shape == "compare":
        return Compare(choose(draw, Comparison), item, literals[0])
    return In(item, tuple(literals)) if shape == "in" else IsNull(item)


def _quantifier(draw: DrawFn, type_: Type) -> Expression:
    return Quantified(choose(draw, Quantifier), NAME, _body(draw, type_, 2))


def _body(draw: DrawFn, type_: Type, depth: int) -> Expression:
    element = Element(NAME, (), type_)
    values: Sequence[Value] = _INTS if type_ == INTEGER else _TEXTS
    literal = st.sampled_from(values).map(lambda value: Literal(value, type_))
    shapes = ["compare", "compare", "in", "null"] + ["prefix"] * (type_ == STRING)
    shape = choose(draw, shapes + ["and", "or", "not"] * bool(depth))
    match shape:
        case "compare":
            return Compare(choose(draw, Comparison), element, draw(literal))
        case "in":
            return In(element, tuple(draw(st.lists(literal, min_size=1, max_size=3))))
        case "null":
            return IsNull(element)
        case "prefix":
            return StartsWith(element, choose(draw, (b"a", b"ab", b"c")))
        case "not":
            return Not(_body(draw, type_, depth - 1))
        case _:
            both = (_body(draw, type_, depth - 1), _body(draw, type_, depth - 1))
            return And(both) if shape == "and" else Or(both)


def _without_counts(facts: ColumnFacts) -> ColumnFacts:
    return replace(facts, null_count=None)
