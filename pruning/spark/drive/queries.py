"""A query while it is pruned: its plan as a tree, its scans, and the parts of it that were run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from pruning.expressions.plans import Plan, Scan, inputs, nodes
from pruning.spark.catalyst.plan_trees import PlanTrees
from pruning.spark.drive.cache.questions import CacheQuestion, ask_of_filter
from pruning.spark.drive.materials import Rows, run_plan
from pruning.spark.drive.narrowed_leaves import narrowed_leaf
from pruning.spark.drive.pushdown import with_condition, with_safe_pushdown
from pruning.spark.drive.report import Job
from pruning.spark.drive.scan_sets import ScanSet
from pruning.spark.drive.scans import TableScan
from pruning.spark.jvm.gateway import Java, sequence
from pruning.spark.lake.tables import Unprunable
from pruning.techniques.plan.reachability import KeyPath
from pruning.techniques.predicate_cache import PredicateCache


@dataclass(slots=True)
class SharedRows:
    """The rows of parts of a query and its subqueries that were run, for other parts that are the same.

    Equal subqueries, and a common table that is named twice, give parts that differ only in the ids of their
    attributes.
    """

    _by_hash: dict[int, list[tuple[Java, tuple[str, ...], Rows]]] = field(default_factory=dict)

    def like(self, plan: Java, conditions: tuple[str, ...]) -> Rows | None:
        """Return the rows of a part that is the same, under the same conditions; None if there is none.

        Args:
            plan: The part, as `without_numbers` gives it.
            conditions: What rows of its scans were left out by, in their order.
        """
        for other, others, rows in self._by_hash.get(plan.semanticHash(), ()):
            if others == conditions and plan.sameResult(other):
                return rows
        return None

    def add(self, plan: Java, conditions: tuple[str, ...], rows: Rows) -> None:
        """Keep the rows of a part."""
        self._by_hash.setdefault(plan.semanticHash(), []).append((plan, conditions, rows))


@dataclass(slots=True, kw_only=True, eq=False)
class Query:
    """A plan that is being pruned, of a query or of a subquery in it.

    Attributes:
        tree: The plan.
        trees: The Catalyst node of each of its nodes.
        scans: Its scans of Parquet tables; others are read as they are.
        materials: The rows of parts of the plan that were run, which later decisions use. The query itself
            runs these parts again.
        row_counts: The number of rows of each of the materials.
        shared: The rows of parts of this query and of others that were run.
        cache: The predicate cache to be asked.
        questions: The questions about filters of scans whose answers it lacks.
        jobs: The jobs that were run, in order.
        notes: Notes on the query for the report.
    """

    spark: SparkSession
    tree: Plan
    trees: PlanTrees
    scans: Mapping[Scan, TableScan]
    materials: dict[Plan, Java] = field(default_factory=dict)
    row_counts: dict[Plan, int] = field(default_factory=dict)
    shared: SharedRows = field(default_factory=SharedRows)
    cache: PredicateCache | None = None
    questions: dict[TableScan, CacheQuestion] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # The nodes of parts of the plan that are outside of all materials, and those of the whole plan as a set.
    _live: dict[Plan, list[Plan]] = field(default_factory=dict)
    _live_in_tree: frozenset[Plan] | None = None

    def apply_filters(self) -> None:
        """Exclude, of each scan, the blocks that its own filter excludes, by metadata or by the cache."""
        for scan in self.scans.values():
            scan.apply_filter()
            question = None if self.cache is None else ask_of_filter(self.cache, scan)
            if question is not None:
                self.questions[scan] = question

    def java(
        self,
        plan: Plan,
        *,
        only: Mapping[Scan, Sequence[str]] | None = None,
        with_conditions: bool = False,
    ) -> Java:
        """Return a part of the optimized plan with narrowed scans, and materials instead of their parts.

        Args:
            plan: The part.
            only: The files to read, for scans that should read some of their files.
            with_conditions: True if rows are left out that other parts of the query do not need.
        """
        new = dict(self.materials)
        for node in self.live_nodes(plan):
            if isinstance(node, Scan) and node in self.scans:
                scan = self.scans[node]
                subtree = _narrowed_scan(scan, (only or {}).get(node))
                if with_conditions and scan.needed_conditions:
                    leaf = self.trees.javas[node] if subtree is None else subtree
                    subtree = with_condition(self.spark, leaf, scan.needed_conditions)
                if subtree is not None:
                    new[node] = subtree
        java = new[plan] if plan in new else self._rebuilt_nodes(plan, new)[plan]
        # An optimized plan is resolved, and analyzing it again may change its meaning.
        java.setAnalyzed()
        return java

    def narrowed_nodes(self) -> dict[Plan, Java]:
        """Return each node of the optimized plan over narrowed scans; materials replace nothing."""
        subtrees = {node: _narrowed_scan(scan) for node, scan in self.scans.items()}
        new: dict[Plan, Java] = {node: java for node, java in subtrees.items() if java is not None}
        new.update(self._rebuilt_nodes(self.tree, new))
        return new

    def _rebuilt_nodes(self, plan: Plan, new: Mapping[Plan, Java]) -> dict[Plan, Java]:
        """Return the Catalyst nodes of a tree over others. Equal nodes in two places are two nodes.

        Args:
            plan: The tree's root, which is not replaced itself.
            new: The Catalyst subtrees that replace some nodes with all that is below them.
        """
        javas, rebuilt = self.trees.javas, dict[Plan, Java]()
        for node in reversed(list(nodes(plan, without=new))):
            below = inputs(node)
            children = [new[child] if child in new else rebuilt[child] for child in below]
            rebuilt[node] = javas[node]
            if any(java is not javas[child] for java, child in zip(children, below, strict=True)):
                rebuilt[node] = javas[node].withNewChildren(sequence(self.spark, children))
        return rebuilt

    def run(self, purpose: str, plan: Java, reads: Mapping[TableScan, Sequence[str]]) -> Rows:
        """Run a plan, and record the job for the report.

        Args:
            purpose: The purpose of the job, for people.
            plan: The plan.
            reads: The files of each scan that the plan reads.
        Raises:
            Py4JError, PySparkException: the plan fails, as it may in the query itself.
        """
        rows = run_plan(self.spark, with_safe_pushdown(self.spark, plan))
        for scan, files in reads.items():
            scan.files_read_ahead += files
        count = sum(map(len, reads.values()))
        self.jobs.append(Job(purpose=purpose, files=count, rows=rows.row_count, seconds=rows.seconds))
        return rows

    def materialise(self, plan: Plan, leaf: Java, *, row_count: int) -> None:
        """Let collected rows replace a part of the plan in all later decisions."""
        self.materials[plan] = leaf
        self.row_counts[plan] = row_count
        self._live.clear()
        self._live_in_tree = None

    def live_scans(self, plan: Plan) -> list[TableScan | None]:
        """Return the scans that running a part of the plan would read; None for those of no Parquet table."""
        return [self.scans.get(node) for node in self.live_nodes(plan) if isinstance(node, Scan)]

    def is_live(self, plan: Plan) -> bool:
        """Tell whether a node is outside of all parts that materials replace."""
        if self._live_in_tree is None:
            self._live_in_tree = frozenset(self.live_nodes(self.tree))
        return plan in self._live_in_tree

    def narrowable_paths(self, paths: Iterable[KeyPath]) -> list[KeyPath]:
        """Return the paths that lead to a scan of a Parquet table outside of all materials."""
        return [way for way in paths if way.scan in self.scans and self.is_live(way.scan)]

    def live_nodes(self, plan: Plan) -> Sequence[Plan]:
        """Return the nodes of a part of the plan that are outside of all materials."""
        if plan not in self._live:
            self._live[plan] = list(nodes(plan, without=self.materials))
        return self._live[plan]


def _narrowed_scan(scan: TableScan, files: Sequence[str] | None = None) -> Java | None:
    """Return the plan in the place of a scan, as `narrowed_leaf`; None where its leaf stays."""
    try:
        return narrowed_leaf(scan, files)
    except Unprunable as reason:
        scan.reset(f"left as it is: {reason}")
        return None


def complete_scan_sets(scans: Iterable[TableScan | None]) -> list[ScanSet] | None:
    """Return the scan set of each scan; None if one is not of a Parquet table or lacks a footer.

    No footer is read after the first such scan.
    """
    scan_sets = []
    for scan in scans:
        if scan is None or not scan.read_scan_set().is_complete:
            return None
        scan_sets.append(scan.read_scan_set())
    return scan_sets
