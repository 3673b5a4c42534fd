"""Compilation of expressions into functions of a row, once for each query."""

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


def compile_expression(expression: Expression) -> Evaluator:
    """Return a function that computes an expression for a row."""
    match expression:
        case Column():
            return itemgetter(expression.index)
        case Literal():
            value = expression.value
            return lambda row: value
        case Call():
            if expression.function in CONNECTIVES:
                return CONNECTIVES[expression.function](
                    [compile_expression(part) for part in expression.arguments]
                )
            return compile_call(expression)
        case Case():
            return compile_case(expression)
        case Cast():
            return compile_cast(expression)


def compile_call(expression: Call) -> Evaluator:
    """Compile a function call; a function that is not aware of NULL gives NULL for a NULL argument."""
    signature = FUNCTIONS[expression.function](tuple(part.type for part in expression.arguments))
    apply = signature.apply
    arguments = [compile_expression(part) for part in expression.arguments]
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
    """Return an evaluator that applies a function to one cell and gives NULL for NULL."""

    def run(row: Row) -> Cell:
        cell = argument(row)
        return None if cell is None else apply(cell)

    return run


def strict_of_two(apply: Callable[[Any, Any], Cell], left: Evaluator, right: Evaluator) -> Evaluator:
    """Return an evaluator that applies a function to two cells and gives NULL if either is NULL."""

    def run(row: Row) -> Cell:
        left_cell = left(row)
        if left_cell is None:
            return None
        other = right(row)
        return None if other is None else apply(left_cell, other)

    return run


def conjunction(arguments: Sequence[Evaluator]) -> Evaluator:
    """Return an evaluator of AND: FALSE wins over NULL; arguments after a FALSE are not computed."""

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
    """Return an evaluator of OR: TRUE wins over NULL; arguments after a TRUE are not computed."""

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


def coalesce(arguments: Sequence[Evaluator]) -> Evaluator:
    """Return an evaluator of COALESCE: arguments after the first that is not NULL are not computed."""

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
    "coalesce": coalesce,
}


def compile_case(expression: Case) -> Evaluator:
    """Compile a CASE."""
    branches = [(compile_expression(when), compile_expression(then)) for when, then in expression.branches]
    otherwise = compile_expression(expression.otherwise)

    def run(row: Row) -> Any:
        for when, then in branches:
            if when(row) is True:
                return then(row)
        return otherwise(row)

    return run


def compile_cast(expression: Cast) -> Evaluator:
    """Compile a CAST or a TRY_CAST."""
    operand, wanted = compile_expression(expression.operand), expression.type
    source_type = expression.operand.type
    if source_type.kind is Kind.DECIMAL and wanted.kind is Kind.TEXT:
        # Cast to the decimal type first, so that the text has all digits of the scale.
        return lambda row: cast(cast(operand(row), source_type), wanted)
    if not expression.lenient:
        return lambda row: cast(operand(row), wanted)

    def run(row: Row) -> Cell:
        cell = operand(row)
        try:
            return cast(cell, wanted)
        except CastFailed:
            return None

    return run


def compile_row(expressions: Sequence[Expression]) -> Callable[[Row], Row]:
    """Return a function that computes several expressions for a row and gives their values as a row."""
    if all(isinstance(expression, Column) for expression in expressions):
        places = [expression.index for expression in expressions if isinstance(expression, Column)]
        return cell_picker(places)
    evaluators = [compile_expression(expression) for expression in expressions]
    if len(evaluators) == 1:
        (only,) = evaluators
        return lambda row: (only(row),)
    if len(evaluators) == 2:
        first, second = evaluators
        return lambda row: (first(row), second(row))
    return lambda row: tuple([evaluator(row) for evaluator in evaluators])


def cell_picker(places: Sequence[int]) -> Callable[[Row], Row]:
    """Return a function that gives the cells of a row at these positions."""
    if not places:
        return lambda row: ()
    if len(places) == 1:
        (place,) = places
        return lambda row: (row[place],)
    return itemgetter(*places)
