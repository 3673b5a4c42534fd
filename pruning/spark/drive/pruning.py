"""Prunes a DataFrame: the same rows from fewer files and row groups, and a report of each removal."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pruning.arguments import check_flag
from pruning.errors import InputError
from pruning.expressions.plans import scans
from pruning.spark.catalyst.clock import without_clock
from pruning.spark.catalyst.leaves import PlanLeaf, Unsettled
from pruning.spark.catalyst.plan_trees import PlanTrees
from pruning.spark.drive.analyzed_plans import AnalyzedPlan, leaf_number, optimized_plan
from pruning.spark.drive.cache.questions import CacheQuestion
from pruning.spark.drive.cache.recording import may_be_recorded, record_completed_runs, with_metrics
from pruning.spark.drive.earlier import frame_as_of
from pruning.spark.drive.join.held_parts import HeldParts, read_held_parts
from pruning.spark.drive.join.hints import broadcast_hints
from pruning.spark.drive.join.joins import prune_by_joins
from pruning.spark.drive.join.range_joins import range_joins
from pruning.spark.drive.leaf_tables import LeafTables
from pruning.spark.drive.limits import prune_by_limit
from pruning.spark.drive.narrowed_leaves import narrowed_leaf
from pruning.spark.drive.open_scans import open_scan
from pruning.spark.drive.pushdown import doubted_columns, with_shield
from pruning.spark.drive.queries import Query, SharedRows
from pruning.spark.drive.report import Report, ScanReport
from pruning.spark.drive.scalar_subqueries import read_scalars
from pruning.spark.drive.scan_reports import scan_report
from pruning.spark.drive.scans import TableScan
from pruning.spark.drive.top_k import prune_by_top_k
from pruning.spark.jvm.executed_scans import executed_scans
from pruning.spark.jvm.gateway import Java, dataframe, elements, first_line
from pruning.spark.lake.columns_read import columns_read, key_columns
from pruning.spark.lake.tables import Unprunable
from pruning.techniques.plan.sites import LimitSite, limit_sites
from pruning.techniques.predicate_cache import PredicateCache

# The reports on pruned DataFrames that are still in use.
_REPORTS: "weakref.WeakKeyDictionary[DataFrame, Report]" = weakref.WeakKeyDictionary()


def prune(
    df: DataFrame, *, runtime: bool = True, as_of: Any = None, cache: PredicateCache | None = None
) -> DataFrame:
    """Return a DataFrame with the same rows that reads fewer files and row groups.

    Footers are read now, and the metadata is kept for the next time: in a hidden directory `.skipproof`
    beside local data, and of other data where the environment variable `SKIPPROOF_METADATA` names a
    directory or an object store. `pruning.metadata.store.store` says how far that is trusted. Of a table of
    Apache Iceberg, its own metadata is read instead, at the version that the query names. Files that are
    added later to the tables that `df` reads are not seen, as with `df` itself. A query that cannot be pruned
    safely is returned as it is.

    Args:
        df: Any query.
        runtime: True if small parts of the query may be run now to prune more: the smaller side of a join,
            and files that are likely to hold the first rows of ORDER BY ... LIMIT. The query runs them
            again. A side of a join that may then give other rows, such as rows from CSV, JDBC, Python or a
            cached part, is read once, and the pruned DataFrame holds its rows. If False, block metadata alone
            decides.
        as_of: A time in the past, as for `pruning.collect`. Each table of the query, a local directory of
            Parquet files, is then read as it was at the last time until then when it was collected.
        cache: Remembers, for the next time, the row groups in which a query of one table had rows: of a
            filter, once the pruned DataFrame has been run to its end, and of ORDER BY with LIMIT at once, if
            `runtime`. Row groups of files that are new or have changed are read again.
    Raises:
        InputError: `df` is not a DataFrame of a session in this process; the cache's directory cannot be
            written; or, with `as_of`, it reads something that has no history, the files at that time are not
            known, or one of them is gone.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> for x in range(3):
        ...     pq.write_table(pa.table({"x": [x]}), f"{folder.name}/{x}.parquet")
        >>> df = pruning.prune(spark.read.parquet(folder.name).where("x > 1"))
        >>> len(df.inputFiles()), df.collect()
        (1, [Row(x=2)])
    """
    _check_frame(df)
    if as_of is not None:
        df = frame_as_of(df, as_of)
    pruned, report = _prune_with_report(df, runtime=runtime, cache=cache)
    if pruned is not df:
        _REPORTS[pruned] = report
    return pruned


def explain(
    df: DataFrame, *, runtime: bool = True, as_of: Any = None, cache: PredicateCache | None = None
) -> Report:
    """Report what `prune` does to a DataFrame, scan by scan, and why; for a pruned one, what it did.

    Once an action such as `collect` has run the pruned DataFrame itself, and not a plan that it made of it,
    the report has the rows that the scans gave.

    Args:
        df: Any query.
        runtime: As for `prune`; the parts that `prune` would run are run.
        as_of: As for `prune`.
        cache: As for `prune`.
    Raises:
        InputError: as `prune`.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"x": [1, 2, 8, 9]}), f"{folder.name}/t.parquet", row_group_size=2)
        >>> df = spark.read.parquet(folder.name).where("x > 2")
        >>> print(pruning.explain(df))  # doctest: +ELLIPSIS
        scan 1: ...
          blocks   1 of 2 kept, 50.0 % skipped
        ...
    """
    _check_frame(df)
    if as_of is not None:
        df = frame_as_of(df, as_of)
    pruned, report = df, _REPORTS.get(df)
    if report is None:
        pruned, report = _prune_with_report(df, runtime=runtime, cache=cache)
    if pruned is not df:
        return report
    try:
        return report.after_run(executed_scans(df._jdf.queryExecution()))
    except (Py4JError, PySparkException):
        # The query cannot be planned, which its next run will say.
        return report


def _prune_with_report(
    df: DataFrame, *, runtime: bool, cache: PredicateCache | None
) -> tuple[DataFrame, Report]:
    check_flag("runtime", runtime)
    if cache is not None and not isinstance(cache, PredicateCache):
        raise InputError(f"cache is a {type(cache).__name__}; give a pruning.PredicateCache, or None.")
    if df.isStreaming:
        # Spark optimizes the plan of a stream only when it runs.
        return df, Report(notes=("left unpruned: the query is a stream",))
    try:
        if cache is not None:
            record_completed_runs(df.sparkSession)
        return _narrow_frame(df, runtime=runtime, cache=cache)
    except Unsettled as reason:
        return df, Report(notes=(f"left unpruned: {reason}",))
    except (Py4JError, PySparkException) as error:
        # The plan may be too deep for Java's stack, or settings of the session may have changed since the
        # query was analyzed. The query itself may still run.
        reason_of_spark = first_line(error)
        return df, Report(
            notes=(f"left unpruned: Spark could not tell or rewrite its plan ({reason_of_spark})",)
        )
    except RecursionError:
        return df, Report(notes=("left unpruned: the query is nested more deeply than Python can follow",))


def _narrow_frame(df: DataFrame, *, runtime: bool, cache: PredicateCache | None) -> tuple[DataFrame, Report]:
    """Prune the optimized plan, and let the leaves of the analyzed plan read what is left."""
    opened = _OpenedPlan.of(df.sparkSession, AnalyzedPlan.of(df), cache)
    runtime = runtime and not opened.reads_clock
    with_rows, held = _with_held_parts(opened) if runtime else (opened, HeldParts())
    if held.parts:
        filters_more = _blocks_kept(with_rows.queries) < _blocks_kept(opened.queries)
        for query in with_rows.queries:
            _narrow_query(query, runtime=True)
        if filters_more or any(map(_has_join_removal, with_rows.queries)):
            return _finish(df, with_rows, held)
    for query in opened.queries:
        _narrow_query(query, runtime=runtime)
    return _finish(df, opened, held.in_vain())


def _with_held_parts(opened: "_OpenedPlan") -> "tuple[_OpenedPlan, HeldParts]":
    """Read parts of the query that may prune others; return the plan that holds them, and what was read."""
    held = HeldParts()
    for read in (read_scalars, read_held_parts):
        more = read(opened.analyzed, opened.queries)
        held.add(more)
        if more.parts:
            analyzed = opened.analyzed.with_parts(more.parts)
            opened = _OpenedPlan.of(analyzed.spark, analyzed, opened.cache)
    return opened, held


def _finish(df: DataFrame, opened: "_OpenedPlan", held: HeldParts) -> tuple[DataFrame, Report]:
    """Return the DataFrame of a plan whose scans were narrowed, and the report."""
    spark, analyzed, queries = df.sparkSession, opened.analyzed, opened.queries
    leaves = _narrowed_leaves(opened)
    hints = [hint for query in queries for hint in broadcast_hints(query, analyzed)] if leaves else []
    unions = range_joins(analyzed, queries, _sole_scans(opened), hints)
    plan = analyzed.with_leaves(leaves, hints, unions)
    if any(map(_has_empty_part, queries)):
        _note_eliminated(spark, analyzed.with_numbers(leaves), queries)
    return df if not leaves and not unions else dataframe(spark, plan), Report(
        scans=tuple(occurrence.report() for occurrence in opened.occurrences),
        notes=(*held.notes, *(note for query in queries for note in query.notes)),
        jobs=(*held.jobs, *(job for query in queries for job in query.jobs)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _OpenedPlan:
    """An analyzed plan, the query and its subqueries as the optimizer makes them, and all their leaves."""

    analyzed: AnalyzedPlan
    queries: "list[Query]"
    occurrences: "list[_LeafScan]"
    reads_clock: bool
    cache: PredicateCache | None

    @classmethod
    def of(cls, spark: SparkSession, analyzed: AnalyzedPlan, cache: PredicateCache | None) -> "_OpenedPlan":
        """Open the scans of an analyzed plan, and apply their filters."""
        timeless = without_clock(spark, analyzed.with_numbers({}))
        queries, occurrences = _open_scans(spark, optimized_plan(spark, timeless.plan))
        for query in queries:
            # The clock may say something else in the next run.
            query.cache = None if timeless.clock_is_read else cache
            query.apply_filters()
        return cls(analyzed, queries, occurrences, timeless.clock_is_read, cache)

    def by_number(self) -> "dict[int | None, list[_LeafScan]]":
        """Return the leaves of the optimized plan by the numbers of those of the analyzed plan."""
        by_number: dict[int | None, list[_LeafScan]] = {}
        for occurrence in self.occurrences:
            by_number.setdefault(leaf_number(occurrence.leaf.node), []).append(occurrence)
        return by_number

    def recorded_question(self, scan: TableScan) -> CacheQuestion | None:
        """Return the question about a scan's filter that running the query answers, if it does."""
        for query in self.queries:
            question = query.questions.get(scan)
            if question is not None:
                return question if may_be_recorded(query.tree, scan) else None
        return None


@dataclass(frozen=True, slots=True)
class _LeafScan:
    """A leaf of the optimized plan and its scan, or a report where the leaf stays as it is."""

    leaf: PlanLeaf
    scan: TableScan | ScanReport

    def report(self) -> ScanReport:
        return self.scan if isinstance(self.scan, ScanReport) else scan_report(self.scan)


def _open_scans(spark: SparkSession, plan: Java) -> tuple[list[Query], list[_LeafScan]]:
    """Return the query and its subqueries, and all their leaves in plan order."""
    trees = PlanTrees(spark)
    plans = trees.all(plan)
    keys = {scan: names for tree in plans for scan, names in key_columns(tree).items()}
    leaf_tables = LeafTables.of(spark, trees.leaves, keys)
    shared = SharedRows()
    queries: list[Query] = []
    occurrences: list[_LeafScan] = []
    for tree in plans:
        named = columns_read(tree, trees.javas)
        opened = {
            scan: open_scan(spark, trees.leaves[scan], leaf_tables, columns_read=named[scan], keys=keys[scan])
            for scan in scans(tree)
        }
        occurrences += [_LeafScan(trees.leaves[node], scan) for node, scan in opened.items()]
        tables = {node: scan for node, scan in opened.items() if isinstance(scan, TableScan)}
        queries.append(Query(spark=spark, tree=tree, trees=trees, scans=tables, shared=shared))
    return queries, occurrences


def _narrowed_leaves(opened: _OpenedPlan) -> dict[int, Java]:
    """Return the subtrees that replace leaves of the analyzed plan, by the leaves' numbers."""
    analyzed, by_number = opened.analyzed, opened.by_number()
    leaves: dict[int, Java] = {}
    for number, leaf in enumerate(analyzed.leaves):
        here = by_number.get(number, [])
        scans_here = [occurrence.scan for occurrence in here]
        subtree = _narrowed_leaf(leaf, scans_here)
        doubted = frozenset[str]().union(*(doubted_columns(occurrence.leaf) for occurrence in here))
        if doubted:
            subtree = with_shield(analyzed.spark, leaf, leaf if subtree is None else subtree, doubted)
            for scan in scans_here:
                if isinstance(scan, TableScan):
                    scan.shielded_columns = doubted
        elif len(here) == 1 and isinstance(here[0].scan, TableScan):
            subtree = _with_recording(opened, here[0].scan, leaf, subtree)
        if subtree is not None:
            leaves[number] = subtree
    return leaves


def _sole_scans(opened: _OpenedPlan) -> dict[int, TableScan]:
    """Return the scans of the leaves that one part of the query reads, by the leaves' numbers."""
    return {
        number: here[0].scan
        for number, here in opened.by_number().items()
        if number is not None and len(here) == 1 and isinstance(here[0].scan, TableScan)
    }


def _with_recording(opened: _OpenedPlan, scan: TableScan, leaf: Java, subtree: Java | None) -> Java | None:
    """Return what replaces a leaf, with metrics for the predicate cache where they answer its question."""
    question = opened.recorded_question(scan)
    if question is None:
        return subtree
    with_places = with_metrics(scan, question, leaf, leaf if subtree is None else subtree)
    if with_places is None:
        return subtree
    scan.notes.append("a run to the end tells the predicate cache which row groups have rows")
    return with_places


def _narrowed_leaf(leaf: Java, opened: Sequence[TableScan | ScanReport]) -> Java | None:
    """Return the subtree that replaces a leaf, given all scans of it; None where the leaf stays.

    Each of the scans reads every file that one of them needs. Where the optimizer has dropped the leaf, or
    one scan cannot be narrowed, all files are read.
    """
    tables = [scan for scan in opened if isinstance(scan, TableScan)]
    if not tables or len(tables) < len(opened):
        for scan in tables:
            scan.reset("left as it is: another part of the query reads the table otherwise")
        return None
    if len(tables) > 1:
        needed = {file for scan in tables for file in scan.files()}
        for scan in tables:
            scan.share_files(needed)
    widest = max(tables, key=lambda scan: len(scan.table.files))
    try:
        others = [scan for scan in tables if scan is not widest]
        if others and not set(widest.files()) >= {file for scan in others for file in scan.files()}:
            raise Unprunable("parts of the query read different partitions of the table")
        return narrowed_leaf(widest, leaf=leaf)
    except Unprunable as reason:
        for scan in tables:
            scan.reset(f"left as it is: {reason}")
        return None


def _narrow_query(query: Query, *, runtime: bool) -> None:
    """Apply joins from the bottom up, then limits and top-k's from the top down."""
    prune_by_joins(query, runtime=runtime)
    for site in limit_sites(query.tree):
        if isinstance(site, LimitSite):
            prune_by_limit(query, site)
        else:
            prune_by_top_k(query, site, runtime=runtime)


def _note_eliminated(spark: SparkSession, numbered: Java, queries: Sequence[Query]) -> None:
    """Remove all files of each scan that the optimizer drops from the pruned plan ([P] 2.1).

    Spark's optimizer drops a join, and all below it, where a side that the join needs has no row.

    Args:
        spark: The session.
        numbered: The pruned plan, with a number at each leaf.
        queries: The query and its subqueries.
    """
    plan = optimized_plan(spark, numbered)
    remaining = {
        leaf_number(leaf)
        for root in (plan, *elements(plan.subqueriesAll()))
        for leaf in elements(root.collectLeaves())
    }
    for query in queries:
        for scan in query.scans.values():
            if scan.file_count and leaf_number(scan.leaf.node) not in remaining:
                scan.keep_files(
                    "elimination", [], because="another scan is empty, and so is what both are needed for"
                )


def _blocks_kept(queries: Sequence[Query]) -> int:
    """Return the number of blocks that all scans are still to read."""
    scan_sets = (scan.scan_set for query in queries for scan in query.scans.values())
    return sum(int(scan_set.keep.sum()) for scan_set in scan_sets if scan_set is not None)


def _has_join_removal(query: Query) -> bool:
    """Tell whether a join has excluded blocks of a scan of the query."""
    return any(removal.technique == "join" for scan in query.scans.values() for removal in scan.removals)


def _has_empty_part(query: Query) -> bool:
    """Tell whether pruning has left a scan of the query without files."""
    return any(scan.removals and not scan.file_count for scan in query.scans.values())


def _check_frame(df: Any) -> None:
    if not isinstance(df, DataFrame) and not type(df).__module__.startswith("pyspark.sql.connect"):
        raise InputError(f"A {type(df).__name__} was given where a Spark DataFrame is needed.")
    if not hasattr(df, "_jdf"):
        raise InputError(
            "A Spark Connect DataFrame cannot be pruned, because its plan is on the server: "
            "use a session in this process."
        )
