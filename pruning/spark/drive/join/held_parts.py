"""Parts of a query whose few rows are read once, now, and held in its plan.

A join's build side may prune the other side only if the query then uses the very rows that it was pruned by.
Files of Parquet do not change while a DataFrame lives, and are read again. The rows of other sources (CSV,
JDBC, Python, cached parts) may change until the query runs, and some operators (LIMIT, `first`, windows) may
give other rows when they run again. So such a part is read before the query, and its rows take its place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.expressions.plans import Scan
from pruning.spark.drive.analyzed_plans import AnalyzedPlan, optimized_plan
from pruning.spark.drive.join.run_costs import BUILD_ROWS_MAX, JoinGraph, reads_of, reads_of_source
from pruning.spark.drive.limits import limited_shares
from pruning.spark.drive.materials import Rows, run_plan, with_limit
from pruning.spark.drive.pushdown import with_safe_pushdown
from pruning.spark.drive.queries import Query, complete_scan_sets
from pruning.spark.drive.repeating import is_function_of_files, is_repeatable
from pruning.spark.drive.report import Job
from pruning.spark.jvm.gateway import Java, attribute_ids, elements, first_line, jvm, simple_name
from pruning.spark.jvm.local_rows import local_relation
from pruning.spark.lake.row_groups import open_cost
from pruning.techniques.join.costs import Reads, pays
from pruning.techniques.plan.sites import JoinSite

# The most bytes that held rows take, as Spark estimates them: it broadcasts no more by itself.
HELD_BYTES_MAX = 10_485_760
# Longer names of relations are names of objects in Java.
_NAME_LENGTH_MAX = 60
_SOURCES = {"InMemoryRelation": "a cached part", "LogicalRDD": "an RDD"}
# Parts of a plan that refer to other parts of it, and so cannot be run alone.
_REFERENCES = frozenset({"CTERelationRef"})


@dataclass(slots=True)
class HeldParts:
    """The parts of a query that were read.

    Attributes:
        parts: Pairs of a part of the analyzed plan and of a leaf with its rows, or of a constant.
        jobs: The jobs that read them, in order.
        notes: Notes for the report.
    """

    parts: list[tuple[Java, Java]] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: "HeldParts") -> None:
        """Add parts that were read after these."""
        self.parts += other.parts
        self.jobs += other.jobs
        self.notes += other.notes

    def in_vain(self) -> "HeldParts":
        """Return what is reported where the rows have excluded no block, and so are not held."""
        return HeldParts(jobs=self.jobs, notes=[] if self.parts else self.notes)


def read_held_parts(analyzed: AnalyzedPlan, queries: Sequence[Query]) -> HeldParts:
    """Read the parts that keep build sides of joins from being run first, where that is likely to pay.

    Args:
        analyzed: The analyzed plan.
        queries: The query and its subqueries, from the optimized plan, with the filters of scans applied.
    """
    held = HeldParts()
    examined: set[int] = set()
    for query in queries:
        graph = JoinGraph.of(query)
        for site in graph.sites:
            for part in _parts_of_build(analyzed, graph, site, queries):
                if id(part.java) not in examined:
                    examined.add(id(part.java))
                    _hold(analyzed.spark, part, held)
    return held


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the analyzed plan.

    Attributes:
        java: Its root.
        name: Its name for people.
        file_count: The number of Parquet files that it reads.
        conditions: Conditions over its attributes that are TRUE on each of its rows that the query uses.
    """

    java: Java
    name: str
    file_count: int = 0
    conditions: tuple[Java, ...] = ()


def _parts_of_build(
    analyzed: AnalyzedPlan, graph: JoinGraph, site: JoinSite, queries: Sequence[Query]
) -> Iterator[_Part]:
    """Yield the parts that have to be held before a build side can be run first, if that is to pay."""
    query = graph.query
    sources = [
        node for node in query.live_nodes(site.build) if isinstance(node, Scan) and node not in query.scans
    ]
    if not sources and is_repeatable(query, site.build):
        return
    stakes = graph.stakes(site)
    if not stakes:
        return
    spared, open_bytes = sum((stake.reads for stake in stakes), Reads()), open_cost(query.spark)
    # Of a source whose size is not known, only the first rows are read.
    sizes = [reads_of_source(query.trees.leaves[source].node) or Reads(1) for source in sources]
    if is_repeatable(query, site.build, fixed=sources):
        parts = [_part_of_source(analyzed, query, source, queries) for source in sources]
    else:
        tables = [scan for scan in query.live_scans(site.build) if scan is not None]
        scan_sets = complete_scan_sets(tables)
        if scan_sets is None:
            return
        shares = limited_shares(query, site.build)
        sizes += (
            reads_of(scan_set).part(shares.get(table, 1.0))
            for table, scan_set in zip(tables, scan_sets, strict=True)
        )
        parts = [_side_of_build(analyzed, query, site)]
    if None not in parts and pays(sum(sizes, Reads()), spared, 1.0, open_bytes):
        yield from (part for part in parts if part is not None)


def _part_of_source(
    analyzed: AnalyzedPlan, query: Query, source: Scan, queries: Sequence[Query]
) -> _Part | None:
    """Return the leaf of the analyzed plan that a leaf of the optimized plan comes from, if there is one.

    Conditions right above the leaf are met by all rows that the query uses, where nothing else reads it.
    """
    leaf = query.trees.leaves[source]
    ids = frozenset(attribute_ids(leaf.node.output()))
    same = [java for java in analyzed.other_leaves() if ids <= set(attribute_ids(java.output()))]
    if not ids or len(same) != 1 or not _may_run(same[0]):
        return None
    readers = [
        other
        for trees in {id(reader.trees): reader.trees for reader in queries}.values()
        for other in trees.leaves.values()
        if ids & set(attribute_ids(other.node.output()))
    ]
    name, output = _name_of_source(leaf.node), same[0].outputSet()
    if len(readers) != 1 or analyzed.has_common_parts():
        return _Part(same[0], name)
    conditions = tuple(
        condition
        for condition in leaf.chain.conditions
        if condition.references().subsetOf(output) and not _has_subquery(query.spark, condition)
    )
    return _Part(same[0], name, conditions=conditions)


def _name_of_source(leaf: Java) -> str:
    """Return what a leaf reads, for people."""
    kind = simple_name(leaf)
    if kind == "LogicalRelation":
        relation = str(leaf.relation().toString())
        return relation if len(relation) <= _NAME_LENGTH_MAX else simple_name(leaf.relation())
    if kind == "DataSourceV2ScanRelation":
        return str(leaf.relation().name())
    return _SOURCES.get(kind, kind)


def _side_of_build(analyzed: AnalyzedPlan, query: Query, site: JoinSite) -> _Part | None:
    """Return the smallest side of a join in the analyzed plan that gives all attributes of a build side.

    Where the optimizer has reordered joins, it may read more tables than the build side: then there is none.
    There is none either where the side itself gives the same rows each time, and only what is above it does
    not: to hold its rows changes nothing.
    """
    build = query.trees.javas[site.build]
    ids = frozenset(attribute_ids(build.output()))
    sides = [java for java in analyzed.join_sides() if ids <= set(attribute_ids(java.output()))]
    # Sides inside other sides come later.
    if not ids or not sides or not _may_run(sides[-1]):
        return None
    if sides[-1].collectLeaves().length() > build.collectLeaves().length() or is_function_of_files(sides[-1]):
        return None
    file_count = sum(scan.file_count for scan in query.live_scans(site.build) if scan is not None)
    return _Part(sides[-1], "one side of a join", file_count)


def _may_run(java: Java) -> bool:
    """Tell whether a part of the analyzed plan can be run alone."""
    leaves = elements(java.collectLeaves())
    return not java.isStreaming() and not any(simple_name(leaf) in _REFERENCES for leaf in leaves)


def _has_subquery(spark: SparkSession, condition: Java) -> bool:
    subqueries = jvm(spark).org.apache.spark.sql.catalyst.expressions.SubqueryExpression
    return bool(subqueries.hasSubquery(condition))


def _hold(spark: SparkSession, part: _Part, held: HeldParts) -> None:
    """Read a part, and note why where its rows cannot be held."""
    try:
        rows = _first_rows(spark, part)
    except (Py4JError, PySparkException, pa.ArrowException) as error:
        held.notes.append(f"{part.name} could not be read before the query: {first_line(error)}")
        return
    job = Job(
        purpose=f"rows of {part.name}", files=part.file_count, rows=rows.row_count, seconds=rows.seconds
    )
    held.jobs.append(job)
    leaf = local_relation(spark, part.java.output(), rows.leaf.data())
    size = int(str(leaf.stats().sizeInBytes()))
    if rows.row_count > BUILD_ROWS_MAX or size > HELD_BYTES_MAX:
        held.notes.append(f"{part.name} prunes no other table: it has too many rows to be held in the plan")
        return
    held.parts.append((part.java, leaf))
    held.notes.append(f"rows of {part.name} were read now and are held in the query: {rows.row_count:,}")


def _first_rows(spark: SparkSession, part: _Part) -> Rows:
    """Read a part of the analyzed plan up to the first row that is too many."""
    java = jvm(spark)
    logical = java.org.apache.spark.sql.catalyst.plans.logical
    plan = part.java
    for condition in part.conditions:
        plan = logical.Filter(condition, plan)
    plan = with_limit(spark, plan, BUILD_ROWS_MAX + 1)
    plan.setAnalyzed()
    return run_plan(spark, with_safe_pushdown(spark, optimized_plan(spark, plan)))
