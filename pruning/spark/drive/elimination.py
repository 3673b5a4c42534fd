"""Parts of a plan that Spark drops because what they need has become empty ([P] 2.1)."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from pruning.spark.drive.analyzed_plans import number_of, optimized_plan
from pruning.spark.drive.queries import Query
from pruning.spark.jvm.gateway import Java, elements


def note_eliminated(spark: SparkSession, numbered: Java, queries: Sequence[Query]) -> None:
    """Say of each scan that is not in the optimized plan any more that nothing of it is read.

    Spark's optimizer drops a join, and all below it, where one side that it needs has no row.

    Args:
        numbered: The pruned plan, with a number at each leaf.
    """
    plan = optimized_plan(spark, numbered)
    remaining = {
        number_of(leaf)
        for root in (plan, *elements(plan.subqueriesAll()))
        for leaf in elements(root.collectLeaves())
    }
    for query in queries:
        for scan in query.scans.values():
            if scan.file_count and number_of(scan.leaf.node) not in remaining:
                scan.choose(
                    "elimination", [], because="another scan is empty, and so is what both are needed for"
                )


def is_emptied(query: Query) -> bool:
    """Return whether a scan of the query has no file left, or a part of it was run and gave no row."""
    return any(scan.removals and not scan.file_count for scan in query.scans.values())
