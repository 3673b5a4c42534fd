"""The scope of drawn expressions: a table's columns and values, and the arithmetic that is allowed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis.strategies import DrawFn

from pruning.expressions.trees import Column, Expression, Mode, Operator
from pruning.expressions.types import Kind, Type, Value
from strategies.base.tables import Table
from strategies.predicates.carrying import RowValues
from strategies.predicates.conversions import cast_value, casts

Condition: TypeAlias = Callable[[DrawFn, "Scope", int], Expression]
ScalarShape: TypeAlias = Callable[[DrawFn, "Scope", Type, int], Expression]
Fits: TypeAlias = Callable[["Scope", Type], bool]

_ROWS_MAX = 6  # expressions are computed on so many rows to find literals that hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The columns and values that expressions may refer to, and the arithmetic that is allowed.

    `session` is ANSI or LEGACY: a node's mode where it cannot overflow. `condition` draws the
    conditions of CASE, of at most so many leaves; `scalar` the operands of everything.

    """

    columns: tuple[Column, ...]
    cells: dict[str, tuple[Value, ...]]
    rows: tuple[RowValues, ...]
    modes: tuple[Mode, ...]
    session: Mode
    try_remainders: bool
    condition: Condition
    scalar: ScalarShape

    @classmethod
    def of(
        cls,
        table: Table,
        *,
        modes: tuple[Mode, ...],
        session: Mode,
        try_remainders: bool,
        condition: Condition,
        scalar: ScalarShape,
    ) -> "Scope":
        """Return the scope of a table: each column's distinct values, in order of appearance."""
        cells = {
            column.name: tuple(dict.fromkeys(cell for cell in table.values(column.name) if cell is not None))
            for column in table.columns
        }
        rows = tuple(table.as_mapping(row) for row in dict.fromkeys(table.rows))[:_ROWS_MAX]
        return cls(
            columns=table.columns,
            cells=cells,
            rows=rows,
            modes=modes,
            session=session,
            try_remainders=try_remainders,
            condition=condition,
            scalar=scalar,
        )

    @property
    def overflowing(self) -> tuple[Mode, ...]:
        """The modes that a node may have if its result can be out of range."""
        return tuple(mode for mode in self.modes if mode in (Mode.TRY, self.session))

    @property
    def harmless(self) -> tuple[Mode, ...]:
        """The modes that a node may have if no result is out of range."""
        return (self.session, Mode.TRY)

    @property
    def may_raise(self) -> bool:
        """True if operations without a `try_` form may be drawn where they can be out of range."""
        return self.session in self.modes

    def modes_of(self, operator: Operator, modes: tuple[Mode, ...]) -> tuple[Mode, ...]:
        """Return the given modes in which Spark has the operator."""
        if operator is Operator.INTEGRAL_DIVIDE or (
            operator is Operator.REMAINDER and not self.try_remainders
        ):
            return tuple(mode for mode in modes if mode is not Mode.TRY)
        return modes

    def of_kind(self, *kinds: Kind) -> tuple[Column, ...]:
        """Return the columns whose types are of the given kinds."""
        return tuple(column for column in self.columns if column.type.kind in kinds)

    def narrower(self, type_: Type) -> tuple[Column, ...]:
        """Return the integral columns whose values are far from the limits of an integral type."""
        return tuple(
            column
            for column in self.columns
            if type_.integral and column.type.integral and _bits(column.type) < _bits(type_)
        )

    def values(self, type_: Type) -> tuple[Value, ...]:
        """Return the table's values of the given type, as they are or after a cast."""
        proposals = (
            cast_value(cell, column.type, type_)
            for column in self.columns
            if column.type == type_ or type_ in casts(column.type)
            for cell in self.cells[column.name]
        )
        return tuple(value for value in proposals if value is not None)


def is_numeric(type_: Type) -> bool:
    """Tell whether values of a type are numbers."""
    return type_.integral or type_.floating or type_.kind is Kind.DECIMAL


def _bits(type_: Type) -> int:
    limits = type_.integer_range
    assert limits is not None
    return limits[1].bit_length()
