"""Comparisons and the three-valued connectives: NaN equals itself and is the greatest number."""

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from dynamic_tables.values.cells import key
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.signatures import Resolver, Signature, Types
from dynamic_tables.values.types import BOOLEAN, EXACT_NUMBERS, FLOAT, PLAIN, Kind, Type, common_type
from pruning.errors import InputError


def float_equal(left: float, right: float) -> bool:
    """Tell whether two floats are equal in SQL, where NaN equals NaN."""
    return left == right or (left != left and right != right)


def float_less(left: float, right: float) -> bool:
    """Tell whether a float is less than another in SQL, where NaN is the greatest."""
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


def same_key(left: Cell, right: Cell) -> bool:
    """Tell whether SQL groups two cells together: NaN equals itself, as it does inside a tuple alone."""
    return (key(left),) == (key(right),)


NESTED_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": same_key,
    "<>": lambda left, right: not same_key(left, right),
}


def comparisons_of(kind: Kind) -> Mapping[str, Callable[[Any, Any], bool]]:
    """Return the comparison functions for values of a kind, by symbol."""
    if kind is Kind.FLOAT:
        return FLOAT_TESTS
    return PLAIN_TESTS if kind in PLAIN else NESTED_TESTS


def comparison_types(types: Types, wanted: Type) -> Types:
    """Return the types in which two cells are compared.

    Exact numbers keep their own types: at the other one's scale a number could have too many digits.
    """
    return types if all(type_.kind in EXACT_NUMBERS for type_ in types) else (wanted, wanted)


def comparison_resolver(symbol: str) -> Resolver:
    """Return the resolver of one comparison, which casts both cells to their common type."""

    def resolve(types: Types) -> Signature:
        wanted = common_type(*types)
        apply = comparisons_of(wanted.kind).get(symbol)
        if apply is None:
            raise InputError(f"{wanted} has no order: cast it before comparing by {symbol}")
        return Signature(BOOLEAN, comparison_types(types, wanted), apply)

    return resolve


def null_safe_equal(types: Types) -> Signature:
    """Resolve IS NOT DISTINCT FROM."""
    arguments = comparison_types(types, common_type(*types))
    return Signature(BOOLEAN, arguments, same_key, null_aware=True)


def is_null(types: Types) -> Signature:
    """Resolve IS NULL."""
    return Signature(BOOLEAN, types, lambda cell: cell is None, null_aware=True)


def negation(types: Types) -> Signature:
    """Resolve NOT, which is NULL of NULL."""
    return Signature(BOOLEAN, (BOOLEAN,), operator.not_)


def extreme_resolver(symbol: str) -> Resolver:
    """Return the resolver of GREATEST or LEAST; the result is NULL if any argument is."""

    def resolve(types: Types) -> Signature:
        wanted = reduce(common_type, types)
        better = comparisons_of(wanted.kind).get(symbol)
        if better is None:
            raise InputError(f"{wanted} has no order: cast it first")
        return Signature(wanted, (wanted,) * len(types), lambda *cells: best(cells, better))

    return resolve


def best(cells: tuple[Cell, ...], better: Callable[[Any, Any], bool]) -> Cell:
    """Return the first cell that no other cell is better than."""
    return reduce(lambda kept, cell: cell if better(cell, kept) else kept, cells)


def is_nan(types: Types) -> Signature:
    """Resolve IS_NAN, which tells whether a float is NaN."""
    return Signature(BOOLEAN, (FLOAT,), lambda cell: cell != cell)


COMPARISONS: Mapping[str, Resolver] = {
    **{symbol: comparison_resolver(symbol) for symbol in PLAIN_TESTS},
    "is_not_distinct": null_safe_equal,
    "is_null": is_null,
    "not": negation,
    "greatest": extreme_resolver(">"),
    "least": extreme_resolver("<"),
    "is_nan": is_nan,
}
