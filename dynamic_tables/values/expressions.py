"""Expressions over the columns of one row, which they address by position; `evaluation` compiles them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dynamic_tables.values.changes import Cell
from dynamic_tables.values.types import Type


@dataclass(frozen=True, slots=True)
class Column:
    """A reference to the column at a position of the row."""

    index: int
    type: Type


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Cell
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function or operator that `functions` lists."""

    function: str
    arguments: tuple["Expression", ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Case:
    """A CASE: the value of the first branch whose condition is TRUE; no other value is computed."""

    branches: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast of a value to another type.

    Attributes:
        lenient: True for TRY_CAST: a value without counterpart becomes NULL instead of an error.
    """

    operand: "Expression"
    type: Type
    lenient: bool = False


Expression: TypeAlias = Column | Literal | Call | Case | Cast


def parts(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct operands of an expression."""
    match expression:
        case Call():
            return expression.arguments
        case Case():
            branches = (part for branch in expression.branches for part in branch)
            return (*branches, expression.otherwise)
        case Cast():
            return (expression.operand,)
    return ()


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions inside it."""
    yield expression
    for part in parts(expression):
        yield from subexpressions(part)


def columns_of(*expressions: Expression) -> frozenset[int]:
    """Return the positions of the columns that expressions read."""
    nodes = (part for expression in expressions for part in subexpressions(expression))
    return frozenset(part.index for part in nodes if isinstance(part, Column))


def with_parts(expression: Expression, made_of: tuple[Expression, ...]) -> Expression:
    """Return the expression with its operands replaced, in the order of `parts`."""
    match expression:
        case Call():
            return replace(expression, arguments=made_of)
        case Case():
            branches = tuple(zip(made_of[:-1:2], made_of[1:-1:2], strict=True))
            return replace(expression, branches=branches, otherwise=made_of[-1])
        case Cast():
            return replace(expression, operand=made_of[0])
    return expression


def remap_columns(expression: Expression, places: Mapping[int, int]) -> Expression:
    """Return the expression for rows whose columns moved: `places` maps old positions to new ones."""
    if isinstance(expression, Column):
        return replace(expression, index=places[expression.index])
    return with_parts(expression, tuple(remap_columns(part, places) for part in parts(expression)))


def substitute_columns(expression: Expression, columns: Sequence[Expression]) -> Expression:
    """Return the expression over what other expressions are computed from: each takes its column's place."""
    if isinstance(expression, Column):
        return columns[expression.index]
    return with_parts(expression, tuple(substitute_columns(part, columns) for part in parts(expression)))
