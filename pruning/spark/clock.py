"""Expressions whose value is that of the moment when a query runs, such as `current_timestamp()`.

Spark's optimizer writes the present moment into a plan. A pruned query runs later, so what the moment of
pruning would exclude may be needed: to the rules such an expression is a value of which nothing is known.
"""

import re
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pruning.spark.jvm import Java, elements, machine, mapping, simple_name, singleton, subtrees

_CLOCK_CLASSES = frozenset({"CurrentDate", "CurrentTime", "CurrentTimestamp", "LocalTimestamp", "Now"})
# The optimizer takes such texts for dates and timestamps.
_MOMENTS = re.compile(r"\s*(now|today|tomorrow|yesterday)\b.*", re.IGNORECASE | re.DOTALL)
_DATETIMES = ("date", "timestamp")


@dataclass(frozen=True, slots=True)
class Timeless:
    """An analyzed plan that does not depend on when it is optimized, and whether it did."""

    plan: Java
    clock_is_read: bool


def without_clock(spark: SparkSession, plan: Java) -> Timeless:
    """Return the plan with an unknown value in the place of each expression that reads the clock.

    The plan is there to be optimized and looked at. It cannot be run.
    """
    patterns = singleton(spark, "org.apache.spark.sql.catalyst.trees.TreePattern")
    wanted = [
        pattern for pattern in (patterns.CURRENT_LIKE(), patterns.CAST()) if plan.containsPattern(pattern)
    ]
    if not wanted:
        return Timeless(plan, clock_is_read=False)
    unknown = machine(spark).org.apache.spark.sql.catalyst.expressions.BoundReference
    changes = [
        (part, unknown(0, part.dataType(), True))
        for root in (plan, *elements(plan.subqueriesAll()))
        for node in elements(subtrees(spark, root))
        for expression in elements(node.expressions())
        if any(expression.containsPattern(pattern) for pattern in wanted)
        for part in elements(subtrees(spark, expression))
        if _reads_clock(part)
    ]
    if not changes:
        return Timeless(plan, clock_is_read=False)
    timeless = plan.transformAllExpressionsWithSubqueries(mapping(spark, changes))
    timeless.setAnalyzed()
    return Timeless(timeless, clock_is_read=True)


def _reads_clock(expression: Java) -> bool:
    kind = simple_name(expression)
    if kind != "Cast":
        return kind in _CLOCK_CLASSES
    return (
        str(expression.dataType().typeName()).startswith(_DATETIMES)
        and simple_name(expression.child()) == "Literal"
        and bool(_MOMENTS.fullmatch(str(expression.child().toString())))
    )
