"""Comparisons and the three-valued connectives: NaN equals itself and is the greatest number."""

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from dynamic_tables.values.cells import key
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.signatures import Resolver, Signature, Types
from dynamic_tables.values.types import BOOLEAN, EXACT_NUMBERS, FLOAT, PLAIN, Kind, Type, common
from pruning.errors import InputError


def float_equal(left: float, right: float) -> bool:
    """NaN equals NaN."""
    return left == right or (left != left and right != right)


def float_less(left: float, right: float) -> bool:
    """NaN is the greatest."""
    return left < right or (left == left and right != right)


FLOAT_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": float_equal,
    "<>": lambda left, right: not float_equal(left, right),
    "<": float_less,
    "<=": lambda left, right: not float_less(right, left),
    ">": lambda left, right: float_less(right, left),
    ">=": lambda left, right: not float_less(left, right),
}
PLAIN_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NESTED_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: key(left) == key(right),
    "<>": lambda left, right: key(left) != key(right),
}


def tests(kind: Kind) -> Mapping[str, Callable[[Any, Any], bool]]:
    """The comparisons of a kind."""
    if kind is Kind.FLOAT:
        return FLOAT_TESTS
    return PLAIN_TESTS if kind in PLAIN else NESTED_TESTS


def compared(types: Types, wanted: Type) -> Types:
    """Return the types in which two cells are compared.

    Exact numbers stay as they are: with the scale of the other one a number might have too many digits.
    """
    return types if all(one.kind in EXACT_NUMBERS for one in types) else (wanted, wanted)


def comparison(symbol: str) -> Resolver:
    """One comparison, of two cells brought to a common type."""

    def resolve(types: Types) -> Signature:
        wanted = common(*types)
        apply = tests(wanted.kind).get(symbol)
        if apply is None:
            raise InputError(f"{wanted} has no order: cast it before comparing by {symbol}")
        return Signature(BOOLEAN, compared(types, wanted), apply)

    return resolve


def null_safe_equal(types: Types) -> Signature:
    """IS NOT DISTINCT FROM."""
    arguments = compared(types, common(*types))
    return Signature(BOOLEAN, arguments, lambda left, right: key(left) == key(right), null_aware=True)


def is_null(types: Types) -> Signature:
    """IS NULL."""
    return Signature(BOOLEAN, types, lambda cell: cell is None, null_aware=True)


def negation(types: Types) -> Signature:
    """NOT; of NULL it is NULL."""
    return Signature(BOOLEAN, (BOOLEAN,), operator.not_)


def extreme(symbol: str) -> Resolver:
    """GREATEST and LEAST; NULL if any argument is."""

    def resolve(types: Types) -> Signature:
        wanted = reduce(common, types)
        better = tests(wanted.kind).get(symbol)
        if better is None:
            raise InputError(f"{wanted} has no order: cast it first")
        return Signature(wanted, (wanted,) * len(types), lambda *cells: best(cells, better))

    return resolve


def best(cells: tuple[Cell, ...], better: Callable[[Any, Any], bool]) -> Cell:
    """The first cell that no other is better than."""
    return reduce(lambda kept, cell: cell if better(cell, kept) else kept, cells)


def is_nan(types: Types) -> Signature:
    """Whether a float is NaN."""
    return Signature(BOOLEAN, (FLOAT,), lambda cell: cell != cell)


COMPARISONS: Mapping[str, Resolver] = {
    **{symbol: comparison(symbol) for symbol in PLAIN_TESTS},
    "is_not_distinct": null_safe_equal,
    "is_null": is_null,
    "not": negation,
    "greatest": extreme(">"),
    "least": extreme("<"),
    "is_nan": is_nan,
}
