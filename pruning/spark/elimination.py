"""Parts of a plan that Spark drops because what they need has become empty ([P] 2.1)."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from pruning.spark.jvm import elements
from pruning.spark.plan_trees import output
from pruning.spark.queries import Query


def note_eliminated(result: DataFrame, queries: Sequence[Query]) -> None:
    """Say of each scan that is not in the optimized plan any more that nothing of it is read.

    Spark's optimizer drops a join, and all below it, where one side that it needs has no row.
    """
    if not any(_emptied(query) for query in queries):
        return
    plan = result._jdf.queryExecution().optimizedPlan()
    left: set[str] = set()
    for root in (plan, *elements(plan.subqueriesAll())):
        for leaf in elements(root.collectLeaves()):
            left.update(output(leaf))
    for query in queries:
        for node, scan in query.scans.items():
            if query.is_live(node) and scan.file_count and not left & set(node.columns):
                scan.choose(
                    "elimination", [], because="another scan is empty, and so is what both are needed for"
                )


def _emptied(query: Query) -> bool:
    """Whether a scan or a material of the query has no row."""
    empty_scan = any(scan.removals and not scan.file_count for scan in query.scans.values())
    return empty_scan or 0 in query.row_counts.values()
