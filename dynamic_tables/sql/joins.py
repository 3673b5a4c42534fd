"""The keys of joins, and lists made into rows, in FROM."""

from dataclasses import replace
from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.algebra import Explode, Join
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.names import folded
from dynamic_tables.sql.scopes import Scope, scope_of
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Call, Expression, columns_of, moved
from dynamic_tables.values.functions import call
from dynamic_tables.values.types import Kind
from pruning.errors import InputError

FLATTENED = frozenset({Kind.ARRAY, Kind.OBJECT, Kind.VARIANT, Kind.NULL})


def conjuncts(condition: Expression) -> list[Expression]:
    """The conditions that all have to hold."""
    if not isinstance(condition, Call) or condition.function != "and":
        return [condition]
    return [part for one in condition.arguments for part in conjuncts(one)]


def keyed(pair: Join, tests: list[Expression]) -> Join:
    """A join with equalities between the sides as keys, and the other conditions as the rest."""
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
    left_keys, right_keys = tuple(one for one, _ in keys), tuple(other for _, other in keys)
    return replace(pair, left_keys=left_keys, right_keys=right_keys, residual=residual)


def key_sides(test: Expression, width: int) -> tuple[Expression, Expression] | None:
    """The left and the right key of an equality of one side with the other."""
    if not isinstance(test, Call) or test.function != "=":
        return None
    one, other = test.arguments
    if not columns_of(one) or not columns_of(other):
        return None
    if min(columns_of(one)) >= width:
        one, other = other, one
    if max(columns_of(one)) >= width or min(columns_of(other)) < width:
        return None
    return one, moved(other, {place: place - width for place in columns_of(other)})


def flattened(left: Scope, node: Any) -> Scope:
    """LATERAL FLATTEN and TABLE(FLATTEN) of a list or object that stands to the left.

    Raises:
        Refused: It is another function, or has an argument that is not supported.
        InputError: Its input is of a type whose values are neither lists nor objects.
    """
    item = node.this
    function = item.this
    if not isinstance(function, exp.Explode):
        raise Refused("a LATERAL subquery", "is not supported: write a join")
    if node.args.get("on") is not None or node.args.get("side"):
        raise Refused("FLATTEN with ON or in an outer join", "is not supported: write OUTER => TRUE")
    given = {
        part.name.lower(): part.expression
        for part in (function.this, *function.expressions)
        if is_named(part)
    }
    elements = given.pop("input", None) if is_named(function.this) else function.this
    outer = given.pop("outer", None)
    if elements is None or given:
        raise Refused(f"FLATTEN({', '.join(given).upper() or 'without INPUT'})", "is not supported")
    alias = item.args.get("alias")
    name = "" if alias is None or alias.this is None else folded(alias.this)
    value = Binder(left, {}).bind(elements)
    if value.type.kind not in FLATTENED:
        raise InputError(f"FLATTEN takes an ARRAY, an OBJECT or a VARIANT, not {value.type}: PARSE_JSON it")
    relation = Explode(left.relation, value, bool(outer is not None and outer.this), keyed=True)
    added = scope_of(relation, name).visible[len(left.relation.fields) :]
    return Scope(relation, (*left.visible, *added))


def is_named(node: Any) -> bool:
    """Whether an argument is written as NAME => VALUE."""
    return isinstance(node, exp.Kwarg)
