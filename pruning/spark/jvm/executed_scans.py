"""The rows that the scans of an executed plan gave, by Spark's own counts."""

from collections.abc import Iterator
from dataclasses import dataclass

from pruning.spark.jvm.gateway import Java, attribute_ids, elements, simple_name

_SCANS = frozenset({"BatchScanExec", "FileSourceScanExec"})


@dataclass(frozen=True, slots=True)
class ExecutedScan:
    """A scan that has run.

    Attributes:
        attributes: Catalyst's expression ids of the columns that it gave.
        rows: The rows that it gave: those that the reader did not skip by row groups or pages.
    """

    attributes: frozenset[int]
    rows: int


def executed_scans(query: Java) -> list[ExecutedScan]:
    """Return the scans of a query that have run in it, by an action on it, such as `collect`.

    Args:
        query: A QueryExecution. It is planned if it was not.
    """
    return list(_scans(query.executedPlan()))


def _scans(plan: Java) -> Iterator[ExecutedScan]:
    """Yield the scans in a physical plan that have run, those of its subqueries too."""
    kind = simple_name(plan)
    if kind in _SCANS:
        rows, files = _metric(plan, "numOutputRows"), _metric(plan, "numFiles")
        if rows or files:
            yield ExecutedScan(frozenset(attribute_ids(plan.output())), rows)
    if kind == "AdaptiveSparkPlanExec":
        yield from _scans(plan.executedPlan())
    elif kind.endswith("QueryStageExec"):
        yield from _scans(plan.plan())
    for inner in (*elements(plan.children()), *elements(plan.subqueries())):
        yield from _scans(inner)


def _metric(plan: Java, name: str) -> int:
    """Return the value of an operator's metric; 0 where it has none of this name."""
    metric = plan.metrics().get(name)
    return int(metric.get().value()) if metric.isDefined() else 0
