"""The keys of joins in FROM, and FLATTEN."""

from dataclasses import replace
from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.algebra import Explode, Join
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.names import fold_name
from dynamic_tables.sql.scopes import Scope, scope_of
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Call, Expression, columns_of, remap_columns
from dynamic_tables.values.functions import call
from dynamic_tables.values.types import Kind
from pruning.errors import InputError

FLATTENED = frozenset({Kind.ARRAY, Kind.OBJECT, Kind.VARIANT, Kind.NULL})


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


def bind_flatten(left: Scope, node: Any) -> Scope:
    """Bind LATERAL FLATTEN or TABLE(FLATTEN) of a list or object from the left.

    Raises:
        Refused: It is another function, or has an argument that is not supported.
        InputError: The values of its input are neither lists nor objects.
    """
    item = node.this
    function = item.this
    if not isinstance(function, exp.Explode):
        raise Refused("a LATERAL subquery", "is not supported: write a join")
    if node.args.get("on") is not None or node.args.get("side"):
        raise Refused("FLATTEN with ON or in an outer join", "is not supported: write OUTER => TRUE")
    arguments = {
        part.name.lower(): part.expression
        for part in (function.this, *function.expressions)
        if is_named_argument(part)
    }
    elements = arguments.pop("input", None) if is_named_argument(function.this) else function.this
    outer = arguments.pop("outer", None)
    if elements is None or arguments:
        raise Refused(f"FLATTEN({', '.join(arguments).upper() or 'without INPUT'})", "is not supported")
    alias = item.args.get("alias")
    name = "" if alias is None or alias.this is None else fold_name(alias.this)
    value = Binder(left, {}).bind(elements)
    if value.type.kind not in FLATTENED:
        raise InputError(f"FLATTEN takes an ARRAY, an OBJECT or a VARIANT, not {value.type}: PARSE_JSON it")
    relation = Explode(left.relation, value, bool(outer is not None and outer.this), keyed=True)
    added = scope_of(relation, name).visible[len(left.relation.fields) :]
    return Scope(relation, (*left.visible, *added))


def is_named_argument(node: Any) -> bool:
    """Tell whether an argument is written as NAME => VALUE."""
    return isinstance(node, exp.Kwarg)
