"""Plans with some of their nodes replaced, by place: two equal nodes in two places are two nodes."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import SparkSession

from pruning.expressions.plans import Plan, inputs
from pruning.spark.jvm import Java, replaced, sequence


def rebuilt(
    spark: SparkSession,
    plan: Plan,
    javas: Mapping[Plan, Java],
    new: Mapping[Plan, Java],
    *,
    revise: Callable[[Plan, Java], Java] | None = None,
) -> Java:
    """The Catalyst plan of a tree.

    Args:
        plan: The tree's root.
        javas: The Catalyst node of each node of the tree.
        new: What takes the place of some of them, with all that is below.
        revise: Has the last word on each node that is left.
    """
    if plan in new:
        return new[plan]
    below = inputs(plan)
    made = [rebuilt(spark, child, javas, new, revise=revise) for child in below]
    found = javas[plan]
    if any(one is not javas[child] for one, child in zip(made, below, strict=True)):
        found = found.withNewChildren(sequence(spark, made))
    return found if revise is None else revise(plan, found)


def with_subqueries(spark: SparkSession, before: Sequence[Java], after: Sequence[Java]) -> Java:
    """The first plan, its subqueries replaced; equal subqueries give the same rows, so one stands for all.

    Args:
        before: The plan, and the plans of all subqueries in it.
        after: What each has become; the first one still holds its subqueries as they were.
    """
    changed = [(old, new) for old, new in zip(before[1:], after[1:], strict=True) if old is not new]
    return replaced(spark, after[0], changed) if changed else after[0]
