"""Why a query cannot be maintained incrementally: the construct, as a user names it (R-DVS-22, R-DVS-29)."""

from dynamic_tables.maintenance.algebra import (
    Aggregate,
    Distinct,
    Group,
    Join,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
    WindowFunction,
    inputs,
    walk,
)
from dynamic_tables.values.expressions import Expression, columns_of
from dynamic_tables.values.types import Kind

# Whether each column of a relation is computed from a sum of doubles.
Tainted = frozenset[int]


def obstacle(relation: Relation) -> str | None:
    """The first construct that stands in the way; None if nothing does."""
    for node in walk(relation):
        if isinstance(node, Group) and not node.keys:
            return "an aggregate without GROUP BY"
        if isinstance(node, Window) and not node.partition:
            return "a window function without PARTITION BY"
    return float_obstacle(relation)


def float_obstacle(relation: Relation) -> str | None:
    """Rows that are told apart by a sum of doubles, whose last digits another engine may give otherwise."""
    below = [summed(one) for one in inputs(relation)]
    names = {Join: "a join on", Group: "grouping by", Window: "partitioning by"}
    for expressions, tainted in zip(keys(relation), below, strict=False):
        if columns_of(*expressions) & tainted:
            return f"{names[type(relation)]} a floating-point aggregate"
    if isinstance(relation, Distinct) and below[0]:
        return "DISTINCT of a floating-point aggregate"
    return next((found for one in inputs(relation) if (found := float_obstacle(one))), None)


def keys(relation: Relation) -> tuple[tuple[Expression, ...], ...]:
    """By what rows of each input are told apart."""
    match relation:
        case Join():
            return (relation.left_keys, relation.right_keys)
        case Group():
            return (relation.keys,)
        case Window():
            return (relation.partition,)
    return ()


def summed(relation: Relation) -> Tainted:
    """The columns of a relation that are computed from a sum of doubles."""
    below = [summed(one) for one in inputs(relation)]
    match relation:
        case Group():
            whole = range(len(relation.keys), len(relation.fields))
            return frozenset(
                place
                for place, one in zip(whole, relation.aggregates, strict=True)
                if is_tainted(one, below[0])
            ) | frozenset(place for place, key in enumerate(relation.keys) if columns_of(key) & below[0])
        case Project():
            return frozenset(
                place for place, column in enumerate(relation.columns) if columns_of(column) & below[0]
            )
        case Join():
            width = len(relation.left.fields)
            return below[0] | frozenset(place + width for place in below[1])
        case UnionAll():
            return frozenset().union(*below)
        case Window():
            width = len(relation.child.fields)
            return below[0] | frozenset(
                width + place for place, one in enumerate(relation.functions) if is_tainted(one, below[0])
            )
        case Scan():
            return frozenset()
    return below[0]


def is_tainted(one: Aggregate | WindowFunction, tainted: Tainted) -> bool:
    """Whether an aggregate or a window function is a sum of doubles, or computed from one."""
    if one.function in ("sum", "avg") and one.type.kind is Kind.FLOAT:
        return True
    given = (one.argument, one.default) if isinstance(one, WindowFunction) else (one.argument,)
    read = columns_of(*(expression for expression in given if expression is not None))
    return one.function != "count" and bool(read & tainted)
