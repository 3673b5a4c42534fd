"""The source of predicates of text and time: a table's columns and cells, and a time zone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.trees import (
    And,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    Literal,
    Not,
)
from pruning.expressions.types import STRING, Kind, Type, Value
from strategies.base.tables import Table, sort_key
from strategies.base.values import neighbours
from strategies.choices import choose

_ORDERED = (Comparison.LESS, Comparison.AT_MOST, Comparison.GREATER, Comparison.AT_LEAST)


@dataclass(frozen=True, slots=True)
class Source:
    """Columns, the distinct cells of each, and the zone that casts and functions use."""

    columns: tuple[Column, ...]
    cells: dict[str, tuple[Value, ...]]
    zone: str

    @classmethod
    def of(cls, table: Table, zone: str) -> "Source":
        """Return the source of a table."""
        cells = {
            column.name: tuple(dict.fromkeys(cell for cell in table.values(column.name) if cell is not None))
            for column in table.columns
        }
        return cls(table.columns, cells, zone)

    def of_kind(self, *kinds: Kind) -> tuple[Column, ...]:
        """Return the columns whose types are of the given kinds."""
        return tuple(column for column in self.columns if column.type.kind in kinds)

    def zone_of(self, *kinds: Kind) -> str:
        """Return the zone if one of the kinds is that of an instant; only then it matters."""
        return self.zone if Kind.TIMESTAMP in kinds else ""


Leaf: TypeAlias = Callable[[DrawFn, Source], Expression]


def drawn_column(draw: DrawFn, source: Source, *kinds: Kind) -> Column:
    """Draw a column of one of the kinds; there must be one."""
    return choose(draw, source.of_kind(*kinds))


def cell(draw: DrawFn, source: Source, column: Column, other: Value) -> Value:
    """Draw one of the column's values; `other` if it has none."""
    return choose(draw, source.cells[column.name] or (other,))


def text_in(draw: DrawFn, source: Source, column: Column) -> str:
    """Draw one of a string column's texts."""
    text = cell(draw, source, column, b"ab")
    assert isinstance(text, bytes)
    return text.decode("utf-8", "ignore")


def comparison(draw: DrawFn, operand: Expression, type_: Type, values: Sequence[Value]) -> Expression:
    """Draw a comparison with one of the values, a range of two, or a list of all."""
    literals = [Literal(value, type_) for value in values]
    shape = choose(draw, ("equal", "ordered", "ordered", "between", "list", "differs"))
    first, second = choose(draw, literals), choose(draw, literals)
    if shape == "equal":
        operator = choose(draw, (Comparison.EQUAL, Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL))
        return Compare(operator, operand, first)
    if shape == "ordered":
        return Compare(choose(draw, _ORDERED), operand, first)
    if shape == "between":
        low, high = sorted((first, second), key=_place)
        return And((Compare(Comparison.AT_LEAST, operand, low), Compare(Comparison.AT_MOST, operand, high)))
    if shape == "list":
        members = literals if draw(st.booleans()) else [*literals, Literal(None, type_)]
        return In(operand, tuple(members))
    return Not(Compare(Comparison.EQUAL, operand, first))


def plain_comparison(draw: DrawFn, source: Source, column: Column) -> Expression:
    """Draw a comparison of a column with a few of its values and their neighbours."""
    value = cell(draw, source, column, _usual(column.type))
    near = [neighbour for neighbour in neighbours(value, column.type) if not isinstance(neighbour, bool)]
    return comparison(draw, column, column.type, [value, *near, cell(draw, source, column, value)])


def _place(literal: Literal) -> tuple[bool, Value]:
    assert literal.value is not None
    return sort_key(literal.value)


def _usual(type_: Type) -> Value:
    if type_ == STRING:
        return b"ab"
    return 0.0 if type_.floating else 0
