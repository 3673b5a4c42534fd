"""Plans with some of their nodes replaced, by place: two equal nodes in two places are two nodes."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from pruning.expressions.plans import Plan, inputs
from pruning.spark.jvm.gateway import Java, sequence


def rebuilt(
    spark: SparkSession,
    plan: Plan,
    javas: Mapping[Plan, Java],
    new: Mapping[Plan, Java],
) -> Java:
    """The Catalyst plan of a tree.

    Args:
        plan: The tree's root.
        javas: The Catalyst node of each node of the tree.
        new: The Catalyst nodes that take the place of some of them, with all that is below.
    """
    if plan in new:
        return new[plan]
    below = inputs(plan)
    children = [rebuilt(spark, child, javas, new) for child in below]
    java = javas[plan]
    if any(new_child is not javas[child] for new_child, child in zip(children, below, strict=True)):
        java = java.withNewChildren(sequence(spark, children))
    return java
