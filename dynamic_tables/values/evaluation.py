"""Expressions made into functions of a row, once for each query."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from dynamic_tables.values.casts import cast
from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.errors import CastFailed
from dynamic_tables.values.expressions import Call, Case, Cast, Column, Expression, Literal
from dynamic_tables.values.functions import FUNCTIONS
from dynamic_tables.values.types import Kind

Evaluator: TypeAlias = Callable[[Row], Any]


def compiled(expression: Expression) -> Evaluator:
    """A function that gives the value of an expression for a row."""
    match expression:
        case Column():
            return itemgetter(expression.index)
        case Literal():
            value = expression.value
            return lambda row: value
        case Call():
            if expression.function in CONNECTIVES:
                return CONNECTIVES[expression.function]([compiled(part) for part in expression.arguments])
            return compiled_call(expression)
        case Case():
            return compiled_case(expression)
        case Cast():
            return compiled_cast(expression)


def compiled_call(expression: Call) -> Evaluator:
    """A function of computed arguments; one that does not know NULL gives NULL for it."""
    signature = FUNCTIONS[expression.function](tuple(part.type for part in expression.arguments))
    apply = signature.apply
    arguments = [compiled(part) for part in expression.arguments]
    if signature.null_aware:
        return lambda row: apply(*[argument(row) for argument in arguments])
    if len(arguments) == 1:
        return strict_of_one(apply, arguments[0])
    if len(arguments) == 2:
        return strict_of_two(apply, *arguments)

    def run(row: Row) -> Cell:
        cells = [argument(row) for argument in arguments]
        return None if None in cells else apply(*cells)

    return run


def strict_of_one(apply: Callable[[Any], Cell], argument: Evaluator) -> Evaluator:
    """A function of one cell, or NULL."""

    def run(row: Row) -> Cell:
        cell = argument(row)
        return None if cell is None else apply(cell)

    return run


def strict_of_two(apply: Callable[[Any, Any], Cell], left: Evaluator, right: Evaluator) -> Evaluator:
    """A function of two cells, or NULL."""

    def run(row: Row) -> Cell:
        one = left(row)
        if one is None:
            return None
        other = right(row)
        return None if other is None else apply(one, other)

    return run


def conjunction(arguments: Sequence[Evaluator]) -> Evaluator:
    """AND: FALSE wins over NULL; what follows a FALSE is not computed."""

    def run(row: Row) -> Cell:
        value: bool | None = True
        for argument in arguments:
            truth = argument(row)
            if truth is False:
                return False
            if truth is None:
                value = None
        return value

    return run


def disjunction(arguments: Sequence[Evaluator]) -> Evaluator:
    """OR: TRUE wins over NULL; what follows a TRUE is not computed."""

    def run(row: Row) -> Cell:
        value: bool | None = False
        for argument in arguments:
            truth = argument(row)
            if truth is True:
                return True
            if truth is None:
                value = None
        return value

    return run


def first_present(arguments: Sequence[Evaluator]) -> Evaluator:
    """COALESCE: what follows the first cell that is not NULL is not computed."""

    def run(row: Row) -> Cell:
        for argument in arguments:
            cell: Cell = argument(row)
            if cell is not None:
                return cell
        return None

    return run


CONNECTIVES: dict[str, Callable[[Sequence[Evaluator]], Evaluator]] = {
    "and": conjunction,
    "or": disjunction,
    "coalesce": first_present,
}


def compiled_case(expression: Case) -> Evaluator:
    """A CASE."""
    branches = [(compiled(when), compiled(then)) for when, then in expression.branches]
    otherwise = compiled(expression.otherwise)

    def run(row: Row) -> Any:
        for when, then in branches:
            if when(row) is True:
                return then(row)
        return otherwise(row)

    return run


def compiled_cast(expression: Cast) -> Evaluator:
    """A CAST, or a TRY_CAST."""
    operand, wanted = compiled(expression.operand), expression.type
    given = expression.operand.type
    if given.kind is Kind.DECIMAL and wanted.kind is Kind.TEXT:
        # All digits of the scale, however the number was computed.
        return lambda row: cast(cast(operand(row), given), wanted)
    if not expression.lenient:
        return lambda row: cast(operand(row), wanted)

    def run(row: Row) -> Cell:
        cell = operand(row)
        try:
            return cast(cell, wanted)
        except CastFailed:
            return None

    return run


def compiled_row(expressions: Sequence[Expression]) -> Callable[[Row], Row]:
    """A function that gives the values of several expressions as one row."""
    if all(isinstance(expression, Column) for expression in expressions):
        places = [expression.index for expression in expressions if isinstance(expression, Column)]
        return picking(places)
    evaluators = [compiled(expression) for expression in expressions]
    if len(evaluators) == 1:
        (only,) = evaluators
        return lambda row: (only(row),)
    if len(evaluators) == 2:
        one, other = evaluators
        return lambda row: (one(row), other(row))
    return lambda row: tuple([evaluator(row) for evaluator in evaluators])


def picking(places: Sequence[int]) -> Callable[[Row], Row]:
    """A function that gives the cells at these places."""
    if not places:
        return lambda row: ()
    if len(places) == 1:
        (place,) = places
        return lambda row: (row[place],)
    return itemgetter(*places)
