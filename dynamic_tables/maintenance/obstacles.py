"""The constructs that prevent incremental maintenance, in a user's words (R-DVS-22, R-DVS-29)."""

from dynamic_tables.maintenance.algebra import (
    Aggregate,
    ConstantRows,
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
    subrelations,
)
from dynamic_tables.values.expressions import Expression, columns_of
from dynamic_tables.values.types import Kind

# The positions of the columns that are computed from a sum of doubles.
Tainted = frozenset[int]
# The aggregates that add cells; of doubles, or with a double as result, they are rounded.
SUMMING = frozenset({"sum", "avg", "median", "var_samp", "var_pop", "stddev_samp", "stddev_pop"})


def obstacle(relation: Relation) -> str | None:
    """Return the first construct that prevents incremental maintenance; None if there is none."""
    for node in subrelations(relation):
        if isinstance(node, UnionAll) and any(map(is_total, node.inputs)):
            return "an aggregate without GROUP BY, such as the grand total of ROLLUP or CUBE,"
        if isinstance(node, Group) and not node.keys:
            return "an aggregate without GROUP BY"
        if isinstance(node, Window) and not node.partition:
            return "a window function without PARTITION BY"
    return float_obstacle(relation)


def is_total(relation: Relation) -> bool:
    """Tell whether a relation is a grand total, maybe with other columns."""
    below = relation.child if isinstance(relation, Project) else relation
    return isinstance(below, Group) and not below.keys


def float_obstacle(relation: Relation) -> str | None:
    """Return the first construct that compares sums of doubles: their last digits vary by engine."""
    below = [tainted_columns(child) for child in inputs(relation)]
    names = {Join: "a join on", Group: "grouping by", Window: "partitioning by"}
    for expressions, tainted in zip(distinguishing_keys(relation), below, strict=False):
        if columns_of(*expressions) & tainted:
            return f"{names[type(relation)]} a floating-point aggregate"
    if isinstance(relation, Distinct) and below[0]:
        return "DISTINCT of a floating-point aggregate"
    return next(
        (obstacle for child in inputs(relation) if (obstacle := float_obstacle(child))),
        None,
    )


def distinguishing_keys(relation: Relation) -> tuple[tuple[Expression, ...], ...]:
    """Return the expressions by which an operator tells the rows of each input apart."""
    match relation:
        case Join():
            return (relation.left_keys, relation.right_keys)
        case Group():
            return (relation.keys,)
        case Window():
            return (relation.partition,)
    return ()


def tainted_columns(relation: Relation) -> Tainted:
    """Return the columns of a relation that are computed from a sum of doubles."""
    below = [tainted_columns(child) for child in inputs(relation)]
    match relation:
        case Group():
            whole = range(len(relation.keys), len(relation.fields))
            return frozenset(
                place
                for place, aggregate in zip(whole, relation.aggregates, strict=True)
                if is_tainted(aggregate, below[0])
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
                width + place
                for place, function in enumerate(relation.functions)
                if is_tainted(function, below[0])
            )
        case Scan() | ConstantRows():
            return frozenset()
    return below[0]


def is_tainted(function: Aggregate | WindowFunction, tainted: Tainted) -> bool:
    """Tell whether a function is a sum of doubles, or computed from one."""
    if function.function in SUMMING and function.type.kind is Kind.FLOAT:
        return True
    arguments = (
        (function.argument, function.default)
        if isinstance(function, WindowFunction)
        else (function.argument,)
    )
    read = columns_of(*(expression for expression in arguments if expression is not None))
    return function.function != "count" and bool(read & tainted)
