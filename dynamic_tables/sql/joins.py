"""The keys of joins in FROM."""

from dataclasses import replace

from dynamic_tables.maintenance.algebra import Join
from dynamic_tables.values.expressions import Call, Expression, columns_of, remap_columns
from dynamic_tables.values.functions import call


def conjuncts(condition: Expression) -> list[Expression]:
    """Return the conditions that an AND joins."""
    if not isinstance(condition, Call) or condition.function != "and":
        return [condition]
    return [part for argument in condition.arguments for part in conjuncts(argument)]


def with_keys(pair: Join, tests: list[Expression]) -> Join:
    """Return a join with its equalities between the sides as keys and other conditions as residual."""
    width = len(pair.left.fields)
    keys: list[tuple[Expression, Expression]] = []
    rest: list[Expression] = []
    for test in tests:
        sides = key_sides(test, width)
        if sides is None:
            rest.append(test)
        else:
            keys.append(sides)
    residual = None if not rest else rest[0] if len(rest) == 1 else call("and", *rest)
    left_keys, right_keys = tuple(left_key for left_key, _ in keys), tuple(right_key for _, right_key in keys)
    return replace(pair, left_keys=left_keys, right_keys=right_keys, residual=residual)


def key_sides(test: Expression, width: int) -> tuple[Expression, Expression] | None:
    """Return the left and right key of an equality between the sides; None for other conditions."""
    if not isinstance(test, Call) or test.function != "=":
        return None
    left_key, right_key = test.arguments
    if not columns_of(left_key) or not columns_of(right_key):
        return None
    if min(columns_of(left_key)) >= width:
        left_key, right_key = right_key, left_key
    if max(columns_of(left_key)) >= width or min(columns_of(right_key)) < width:
        return None
    return left_key, remap_columns(right_key, {place: place - width for place in columns_of(right_key)})
