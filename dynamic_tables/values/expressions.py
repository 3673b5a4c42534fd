"""Expressions over the columns of one row, bound by position; `evaluation` runs them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from dynamic_tables.values.changes import Cell
from dynamic_tables.values.types import Type


@dataclass(frozen=True, slots=True)
class Column:
    """The column at a position of the row."""

    index: int
    type: Type


@dataclass(frozen=True, slots=True)
class Literal:
    """The same value in each row."""

    value: Cell
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `functions`, an operator of SQL among them, of its arguments."""

    function: str
    arguments: tuple["Expression", ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is TRUE; no other value is computed."""

    branches: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    """A value in another type.

    Attributes:
        lenient: Whether a value without counterpart becomes NULL (TRY_CAST) instead of an error.
    """

    operand: "Expression"
    type: Type
    lenient: bool = False


Expression: TypeAlias = Column | Literal | Call | Case | Cast


def parts(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that one is directly made of."""
    match expression:
        case Call():
            return expression.arguments
        case Case():
            branches = (part for branch in expression.branches for part in branch)
            return (*branches, expression.otherwise)
        case Cast():
            return (expression.operand,)
    return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of."""
    yield expression
    for part in parts(expression):
        yield from walk(part)


def columns_of(*expressions: Expression) -> frozenset[int]:
    """The positions that expressions read."""
    found = (part for expression in expressions for part in walk(expression))
    return frozenset(part.index for part in found if isinstance(part, Column))


def with_parts(expression: Expression, made_of: tuple[Expression, ...]) -> Expression:
    """The same expression made of others, as many as `parts` gives."""
    match expression:
        case Call():
            return replace(expression, arguments=made_of)
        case Case():
            branches = tuple(zip(made_of[:-1:2], made_of[1:-1:2], strict=True))
            return replace(expression, branches=branches, otherwise=made_of[-1])
        case Cast():
            return replace(expression, operand=made_of[0])
    return expression


def moved(expression: Expression, places: Mapping[int, int]) -> Expression:
    """An expression over rows whose columns stand at other positions: `places` has old to new."""
    if isinstance(expression, Column):
        return replace(expression, index=places[expression.index])
    return with_parts(expression, tuple(moved(part, places) for part in parts(expression)))
