"""A query while it is pruned: its plan as a tree, its scans, and what was run meanwhile."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from pruning.expressions.plans import Plan, Scan, inputs, nodes
from pruning.spark.catalyst.plan_trees import PlanTrees
from pruning.spark.drive.materials import Rows, run_plan
from pruning.spark.drive.pushdown import with_safe_pushdown
from pruning.spark.drive.report import Job
from pruning.spark.drive.scans import TableScan
from pruning.spark.jvm.gateway import Java, sequence
from pruning.spark.lake.tables import Unprunable
from pruning.techniques.plan.reachability import KeyPath


@dataclass(slots=True, kw_only=True, eq=False)
class Query:
    """One plan, of a query or of a subquery in it.

    Attributes:
        tree: The plan.
        trees: The Catalyst node of each of its nodes.
        scans: Its scans of Parquet tables; others are read as they are.
        materials: The rows of parts of the plan that were run: what is decided next uses them. The query
            itself runs these parts again.
        row_counts: How many rows each of the materials has.
        jobs: What was run, in order.
        notes: What else there is to say of the query.
    """

    spark: SparkSession
    tree: Plan
    trees: PlanTrees
    scans: Mapping[Scan, TableScan]
    materials: dict[Plan, Java] = field(default_factory=dict)
    row_counts: dict[Plan, int] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def java(
        self,
        plan: Plan,
        *,
        only: Mapping[Scan, Sequence[str]] | None = None,
        with_materials: bool = True,
    ) -> Java:
        """A part of the optimized plan as it would be run now: scans narrowed, materials in their places.

        Args:
            plan: The part.
            only: Of some scans, the files to read.
            with_materials: Whether rows that were run take the place of the parts that gave them.
        """
        new = dict(self.materials) if with_materials else {}
        for node in self.live_nodes(plan) if with_materials else nodes(plan):
            if isinstance(node, Scan) and node in self.scans:
                scan = self.scans[node]
                try:
                    subtree = scan.subtree((only or {}).get(node))
                except Unprunable as reason:
                    scan.reset(f"left as it is: {reason}")
                    subtree = None
                if subtree is not None:
                    new[node] = subtree
        java = _with_replaced_nodes(self.spark, plan, self.trees.javas, new)
        # An optimized plan is resolved, and analyzing it once more may change what it means.
        java.setAnalyzed()
        return java

    def run(self, purpose: str, plan: Java, reads: Mapping[TableScan, Sequence[str]]) -> Rows:
        """Run a plan, and tell of it in the report.

        Args:
            reads: The files that are read for it, of each scan.
        Raises:
            Py4JError, PySparkException: the plan fails, as it may in the query itself.
        """
        rows = run_plan(self.spark, with_safe_pushdown(self.spark, plan))
        for scan, files in reads.items():
            scan.files_read_ahead += files
        count = sum(map(len, reads.values()))
        self.jobs.append(Job(purpose=purpose, files=count, rows=rows.row_count, seconds=rows.seconds))
        return rows

    def settle(self, plan: Plan, leaf: Java, *, row_count: int) -> None:
        """Let rows stand for a part of the plan in what is still to be decided."""
        self.materials[plan] = leaf
        self.row_counts[plan] = row_count

    def live_scans(self, plan: Plan) -> list[TableScan | None]:
        """The scans that running a part of the plan would read; None for each that is no Parquet table."""
        return [self.scans.get(node) for node in self.live_nodes(plan) if isinstance(node, Scan)]

    def is_live(self, plan: Plan) -> bool:
        """Return whether no material stands for a node."""
        return plan in self.live_nodes(self.tree)

    def narrowable_paths(self, found: Iterable[KeyPath]) -> list[KeyPath]:
        """Those ways that lead to a scan of a Parquet table that is still to be read."""
        return [way for way in found if way.scan in self.scans and self.is_live(way.scan)]

    def live_nodes(self, plan: Plan) -> list[Plan]:
        """The nodes of a part of the plan that no material stands for."""
        return list(nodes(plan, without=self.materials))


def _with_replaced_nodes(
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
    children = [_with_replaced_nodes(spark, child, javas, new) for child in below]
    java = javas[plan]
    if any(new_child is not javas[child] for new_child, child in zip(children, below, strict=True)):
        java = java.withNewChildren(sequence(spark, children))
    return java
