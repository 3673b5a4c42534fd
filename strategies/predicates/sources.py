"""What predicates of text and time are drawn over: a table's columns and cells, and a time zone."""

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

_ORDERED = (Comparison.LESS, Comparison.AT_MOST, Comparison.GREATER, Comparison.AT_LEAST)


@dataclass(frozen=True, slots=True)
class Source:
    """Columns, the distinct cells of each, and the zone that casts and functions go through."""

    columns: tuple[Column, ...]
    cells: dict[str, tuple[Value, ...]]
    zone: str

    @classmethod
    def of(cls, table: Table, zone: str) -> "Source":
        """The source of a table."""
        cells = {
            column.name: tuple(dict.fromkeys(cell for cell in table.values(column.name) if cell is not None))
            for column in table.columns
        }
        return cls(table.columns, cells, zone)

    def of_kind(self, *kinds: Kind) -> tuple[Column, ...]:
        """The columns whose types are of the given kinds."""
        return tuple(column for column in self.columns if column.type.kind in kinds)

    def zone_of(self, *kinds: Kind) -> str:
        """The zone where one of the kinds is that of an instant, as only then it matters."""
        return self.zone if Kind.TIMESTAMP in kinds else ""


Leaf: TypeAlias = Callable[[DrawFn, Source], Expression]


def drawn_column(draw: DrawFn, source: Source, *kinds: Kind) -> Column:
    """A column of one of the kinds; there must be one."""
    return draw(st.sampled_from(source.of_kind(*kinds)))


def cell(draw: DrawFn, source: Source, column: Column, other: Value) -> Value:
    """One of the column's values; `other` where it has none."""
    return draw(st.sampled_from(source.cells[column.name] or (other,)))


def text_in(draw: DrawFn, source: Source, column: Column) -> str:
    """One of a string column's texts."""
    text = cell(draw, source, column, b"ab")
    assert isinstance(text, bytes)
    return text.decode("utf-8", "ignore")


def compared(draw: DrawFn, operand: Expression, type_: Type, values: Sequence[Value]) -> Expression:
    """A comparison with one of the values, a range of two, or a list of all."""
    literals = [Literal(value, type_) for value in values]
    shape = draw(st.sampled_from(("equal", "ordered", "ordered", "between", "list", "differs")))
    one, other = draw(st.sampled_from(literals)), draw(st.sampled_from(literals))
    if shape == "equal":
        operator = draw(st.sampled_from((Comparison.EQUAL, Comparison.EQUAL, Comparison.NULL_SAFE_EQUAL)))
        return Compare(operator, operand, one)
    if shape == "ordered":
        return Compare(draw(st.sampled_from(_ORDERED)), operand, one)
    if shape == "between":
        low, high = sorted((one, other), key=_place)
        return And((Compare(Comparison.AT_LEAST, operand, low), Compare(Comparison.AT_MOST, operand, high)))
    if shape == "list":
        members = literals if draw(st.booleans()) else [*literals, Literal(None, type_)]
        return In(operand, tuple(members))
    return Not(Compare(Comparison.EQUAL, operand, one))


def plainly_compared(draw: DrawFn, source: Source, column: Column) -> Expression:
    """A column against a few of its values and their neighbours."""
    value = cell(draw, source, column, _usual(column.type))
    near = [each for each in neighbours(value, column.type) if not isinstance(each, bool)]
    return compared(draw, column, column.type, [value, *near, cell(draw, source, column, value)])


def _place(literal: Literal) -> tuple[bool, Value]:
    assert literal.value is not None
    return sort_key(literal.value)


def _usual(type_: Type) -> Value:
    if type_ == STRING:
        return b"ab"
    return 0.0 if type_.floating else 0
