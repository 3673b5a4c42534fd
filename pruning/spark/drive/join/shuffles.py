"""The shuffles of joins: which of them Spark does, and what else they serve."""

from collections.abc import Iterator, Mapping

from pruning.expressions.plans import Join, Plan, Project, Window, inputs
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Column, Expression
from pruning.spark.drive.queries import Query
from pruning.spark.jvm.gateway import dataframe

_SHUFFLE = "Exchange hashpartitioning("


def is_shuffled(query: Query, join: Join) -> bool:
    """Tell whether Spark shuffles both sides of a join, by its own planner.

    It does not where a side is broadcast, or where tables are bucketed, or partitioned alike.
    """
    java = query.narrowed_nodes()[join]
    # An optimized plan is resolved, and analyzing it again may change its meaning.
    java.setAnalyzed()
    printed: str = dataframe(query.spark, java)._jdf.queryExecution().executedPlan().toString()
    return printed.count(_SHUFFLE) == len(inputs(join))


def serves_others(root: Plan, join: Join) -> bool:
    """Tell whether an operator above a join may use the same shuffle: another join or a window by its keys.

    An aggregation by the keys is none: where tables are clustered by them, little is left to be shuffled
    once each task has aggregated its rows.

    Args:
        root: The plan that the join is in.
        join: The join.
    """
    names = {
        name
        for equality in join.equalities
        for side in (equality.left, equality.right)
        for name in columns(side)
    }
    below: Plan = join
    for node in reversed(list(_ancestors(root, join))):
        if isinstance(node, Project):
            names = set(_new_names(names, node.definitions))
        elif isinstance(node, Window):
            if names & node.partition_by:
                return True
        elif isinstance(node, Join):
            keys = [e.left if below is node.left else e.right for e in node.equalities]
            if any(names & columns(key).keys() for key in keys):
                return True
        below = node
    return False


def _ancestors(root: Plan, node: Plan) -> Iterator[Plan]:
    """Yield the nodes above a node, from the root down."""
    paths: list[tuple[Plan, ...]] = [(root,)]
    while paths:
        path = paths.pop()
        if path[-1] is node:
            yield from path[:-1]
            return
        paths += [(*path, below) for below in inputs(path[-1])]


def _new_names(names: set[str], definitions: Mapping[str, Expression]) -> Iterator[str]:
    """Yield the names that a projection gives to some attributes."""
    for name in definitions:
        definition = definitions[name]
        if isinstance(definition, Column) and definition.name in names:
            yield name
