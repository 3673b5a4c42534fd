"""Scalar expressions of a wanted type over a table's columns: columns, literals, casts, sums, CASE.

The conditions of CASE are drawn by `Scope.condition`, so that this module does not need predicates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pruning.expressions.trees import (
    Arithmetic,
    Case,
    Cast,
    Coalesce,
    Column,
    Expression,
    Literal,
    Mode,
    Operator,
)
from pruning.expressions.types import STRING, Kind, Type, Value
from strategies.conversions import carried, narrowings, sum_can_overflow, sum_type, widenings
from strategies.tables import Table
from strategies.values import DECIMALS, neighbours, values

Condition: TypeAlias = Callable[[DrawFn, "Scope", int], Expression]
ScalarShape: TypeAlias = Callable[[DrawFn, "Scope", Type, int], Expression]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What expressions may refer to: a table's columns and values, and the arithmetic allowed.

    `session` is ANSI or LEGACY: a node's mode where it cannot overflow. `condition` draws the
    conditions of CASE, of at most so many leaves.
    """

    columns: tuple[Column, ...]
    cells: dict[str, tuple[Value, ...]]
    modes: tuple[Mode, ...]
    session: Mode
    condition: Condition

    @classmethod
    def of(cls, table: Table, *, modes: tuple[Mode, ...], session: Mode, condition: Condition) -> "Scope":
        """The scope of a table: each column's distinct values, in order of appearance."""
        cells = {
            column.name: tuple(dict.fromkeys(cell for cell in table.values(column.name) if cell is not None))
            for column in table.columns
        }
        return cls(columns=table.columns, cells=cells, modes=modes, session=session, condition=condition)

    @property
    def overflowing(self) -> tuple[Mode, ...]:
        """The modes that a node may have whose result can be out of range."""
        return tuple(mode for mode in self.modes if mode in (Mode.TRY, self.session))

    def of_kind(self, *kinds: Kind) -> tuple[Column, ...]:
        """The columns whose types are of the given kinds."""
        return tuple(column for column in self.columns if column.type.kind in kinds)

    def values(self, type_: Type) -> tuple[Value, ...]:
        """The table's values as they are, or would be after a cast, in the given type."""
        proposals = (
            carried(cell, column.type, type_)
            for column in self.columns
            if column.type == type_ or type_ in (*widenings(column.type), *narrowings(column.type))
            for cell in self.cells[column.name]
        )
        return tuple(value for value in proposals if value is not None)


def common_types(scope: Scope) -> SearchStrategy[Type]:
    """Types to compare in: mostly a column's own, else one that it is cast or added up to."""
    own = st.sampled_from([column.type for column in scope.columns])
    cast = own.flatmap(lambda type_: st.sampled_from((type_, *widenings(type_), *narrowings(type_))))
    return st.one_of(own, own, cast, own.flatmap(_sum_of))


def scalar(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """An expression of the type with at most `leaves` leaves; a column where there is one.

    Shrinks to: a column, else a literal.
    """
    simple = [shape for shape, fits in _SIMPLE.items() if fits(scope, type_)]
    roomy = [shape for shape in _COMPOUND if leaves >= _LEAVES_MIN.get(shape, 2)]
    compound = [shape for shape in roomy if _COMPOUND[shape](scope, type_)]
    # Columns and their casts more often than the rest: an expression of literals alone tests little.
    return draw(st.sampled_from([*simple, *simple, *compound] or [literal_of]))(draw, scope, type_, leaves)


def literal(draw: DrawFn, scope: Scope, type_: Type) -> Literal:
    """A literal: most often a value of the table or its neighbour; sometimes any value, or NULL.

    Shrinks to: a value of the table, where it has one of the type.
    """
    hits = scope.values(type_)
    choices = ("hit", "hit", "near", "near", "any", "null") if hits else ("any", "any", "null")
    choice = draw(st.sampled_from(choices))
    if choice == "null":
        return Literal(None, type_)
    if choice == "any":
        return Literal(draw(values(type_)), type_)
    hit = draw(st.sampled_from(hits))
    near = neighbours(hit, type_) if choice == "near" else ()
    return Literal(draw(st.sampled_from(near)) if near else hit, type_)


def texts(scope: Scope) -> SearchStrategy[str]:
    """Texts of the table's string columns, and their neighbours; a short one where there are none."""
    known = scope.values(STRING)
    near = [other for value in known for other in neighbours(value, STRING)]
    found = [value.decode("utf-8", "ignore") for value in (*known, *near) if isinstance(value, bytes)]
    return st.sampled_from(found or ["a"])


def case_shares(draw: DrawFn, leaves: int) -> tuple[tuple[int, int], ...]:
    """The leaves of each branch's condition and value, one kept for ELSE: one part gets most of them."""
    if leaves >= 5 and draw(st.booleans()):
        return ((1, leaves - 4), (1, 1))
    return draw(st.sampled_from((((leaves - 2, 1),), ((1, leaves - 2),))))


def literal_of(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """`literal` as a shape."""
    return literal(draw, scope, type_)


def column_of(draw: DrawFn, scope: Scope, type_: Type, leaves: int = 1) -> Expression:
    """A column of exactly the type; the scope must have one."""
    return draw(st.sampled_from([column for column in scope.columns if column.type == type_]))


def _widened(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    sources = [column for column in scope.columns if type_ in widenings(column.type)]
    # No value is out of range, so which mode the cast has makes no difference.
    return Cast(draw(st.sampled_from(sources)), type_, draw(st.sampled_from((scope.session, Mode.TRY))))


def _narrowed(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    sources = [column for column in scope.columns if type_ in narrowings(column.type)]
    return Cast(draw(st.sampled_from(sources)), type_, draw(st.sampled_from(scope.overflowing)))


def _integral_sum(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    left, right = scalar(draw, scope, type_, leaves - 1), scalar(draw, scope, type_, 1)
    return _arithmetic(draw, left, right, type_, scope.overflowing)


def _floating_sum(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    left, right = scalar(draw, scope, type_, leaves - 1), scalar(draw, scope, type_, 1)
    return _arithmetic(draw, left, right, type_, (scope.session, Mode.TRY))


def _decimal_sum(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    left, right = draw(st.sampled_from(_addends(scope, type_)))
    modes = scope.overflowing if sum_can_overflow(left, right) else (scope.session, Mode.TRY)
    operands = scalar(draw, scope, left, leaves - 1), scalar(draw, scope, right, 1)
    return _arithmetic(draw, *operands, type_, modes)


def _small_sum(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """A narrower column plus a small number: no value can overflow, so any mode will do."""
    sources = [column for column in scope.columns if _integral_widening(column.type, type_)]
    left = Cast(draw(st.sampled_from(sources)), type_, scope.session)
    right = Literal(draw(st.integers(-3, 3)), type_)
    return _arithmetic(draw, left, right, type_, (scope.session, Mode.TRY))


def _arithmetic(
    draw: DrawFn, left: Expression, right: Expression, type_: Type, modes: tuple[Mode, ...]
) -> Expression:
    return Arithmetic(draw(st.sampled_from(Operator)), left, right, type_, draw(st.sampled_from(modes)))


def _case(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    shares = case_shares(draw, leaves)
    branches = [
        (scope.condition(draw, scope, condition), scalar(draw, scope, type_, value))
        for condition, value in shares
    ]
    missing = draw(st.booleans())
    return Case(tuple(branches), Literal(None, type_) if missing else scalar(draw, scope, type_, 1))


def _coalesce(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    return Coalesce((scalar(draw, scope, type_, leaves - 1), scalar(draw, scope, type_, 1)))


def _addends(scope: Scope, type_: Type) -> list[tuple[Type, Type]]:
    """The pairs of decimal types, one of them a column's, whose sum has the wanted type."""
    own = [column.type for column in scope.of_kind(Kind.DECIMAL)]
    pairs = [pair for one in own for other in (*own, *DECIMALS) for pair in ((one, other), (other, one))]
    return [pair for pair in pairs if sum_type(*pair) == type_]


def _sum_of(type_: Type) -> SearchStrategy[Type]:
    if type_.kind is not Kind.DECIMAL:
        return st.just(type_)
    return st.sampled_from((type_, *DECIMALS)).map(lambda other: sum_type(type_, other))


def _integral_widening(source: Type, target: Type) -> bool:
    return source.integral and target.integral and target in widenings(source)


# What a shape needs: columns to start from, then, for the others, a number of leaves as well.
_SIMPLE: dict[ScalarShape, Callable[[Scope, Type], bool]] = {
    column_of: lambda scope, type_: any(column.type == type_ for column in scope.columns),
    _widened: lambda scope, type_: any(type_ in widenings(column.type) for column in scope.columns),
    _narrowed: lambda scope, type_: any(type_ in narrowings(column.type) for column in scope.columns),
}
_COMPOUND: dict[ScalarShape, Callable[[Scope, Type], bool]] = {
    _integral_sum: lambda scope, type_: type_.integral,
    _small_sum: lambda scope, type_: any(_integral_widening(column.type, type_) for column in scope.columns),
    _floating_sum: lambda scope, type_: type_.floating,
    _decimal_sum: lambda scope, type_: bool(_addends(scope, type_)),
    _case: lambda scope, type_: True,
    _coalesce: lambda scope, type_: True,
}
_LEAVES_MIN: dict[ScalarShape, int] = {_case: 3}
