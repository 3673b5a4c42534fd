"""Prunes one scan: which files it must read, and which ranges of values it may leave out of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Expression, Literal
from pruning.rules.truths import Match
from pruning.spark.derived import Asked, ask, judge
from pruning.spark.jvm import Java, frame, simple_name, with_leaf
from pruning.spark.lake import Lake, Unprunable, lake, reading
from pruning.spark.matching import matching
from pruning.spark.nested import leaf_types
from pruning.spark.partitions import with_partition_values
from pruning.spark.plans import Leaf
from pruning.spark.ranges import range_filters
from pruning.spark.report import Removal, ScanReport

# Block metadata of files, and a sentence about each file whose footer could not be read.
Reader = Callable[[tuple[str, ...]], tuple[pa.Table, dict[str, str]]]


class AboutFiles(Exception):
    """A scan gives a column that tells of files; the text names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """A leaf's fate: its report, and the subtree that takes its place, None where it stays."""

    report: ScanReport
    subtree: Java = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocks:
    """What is known of a table's row groups: as Spark reads them, and which may hold a needed row.

    `keep` has shape (blocks,); `failures` says why of each file whose footer could not be read, and
    `notes` what Spark evaluated to tell.
    """

    metadata: pa.Table
    keep: pa.BooleanArray
    failures: dict[str, str]
    notes: tuple[str, ...] = ()

    def files(self, table: Lake) -> list[str]:
        """The files to read, in Spark's order: also those of which nothing is known."""
        locators = self.metadata.column("file")
        needed = set(locators.filter(self.keep).to_pylist()) | set(self.failures)
        spoken_for = set(locators.unique().to_pylist())
        return [file for file in table.files if file in needed or file not in spoken_for]


def prune_leaf(spark: SparkSession, leaf: Leaf, read: Reader) -> Pruned:
    """Decide what one leaf of a plan must read.

    Raises:
        AboutFiles: the query asks which files its rows come from, so no scan of it may change.
    """
    try:
        table = lake(spark, leaf.node)
    except Unprunable as reason:
        note = f"left as it is: {reason}"
        return Pruned(report=ScanReport(paths=(simple_name(leaf.node),), notes=(note,)))
    for attribute in table.attributes:
        if attribute.about_files:
            raise AboutFiles(attribute.name)
    report = ScanReport(paths=table.roots, files_total=len(table.files), files_kept=len(table.files))
    asked = _asked(spark, leaf, table)
    predicate = asked.predicate
    if isinstance(predicate, Literal) or not table.files:
        nothing = "there is no file" if not table.files else "no filter applies to its rows"
        return Pruned(report=replace(report, notes=(nothing,)))
    blocks = _blocks(spark, asked, table, read)
    report = _with_blocks(report, predicate, table, blocks)
    try:
        return _rewritten(spark, leaf, table, predicate, blocks, report)
    except Unprunable as reason:
        return Pruned(report=_untouched(report, f"left as it is: {reason}"))


def _asked(spark: SparkSession, leaf: Leaf, table: Lake) -> Asked:
    names = leaf.chain.names({attribute.id: attribute.name for attribute in table.attributes})
    return ask(spark, leaf.chain.conditions, names)


def _blocks(spark: SparkSession, asked: Asked, table: Lake, read: Reader) -> _Blocks:
    metadata, failures = read(table.files)
    known = with_partition_values(matching(metadata, leaf_types(table.data_columns)), asked.predicate, table)
    try:
        judged = judge(spark, asked, known)
    except RecursionError:
        # Deeper than Python can follow; nothing is concluded.
        everything = pa.array([True] * known.num_rows, pa.bool_())
        return _Blocks(metadata=known, keep=everything, failures=failures)
    keep = pc.not_equal(judged.verdicts, int(Match.NONE))
    return _Blocks(metadata=known, keep=keep, failures=failures, notes=judged.notes)


def _with_blocks(report: ScanReport, predicate: Expression, table: Lake, blocks: _Blocks) -> ScanReport:
    files = blocks.files(table)
    sizes = blocks.metadata.column("byte_count")
    kept = pc.sum(blocks.keep).as_py() or 0
    removal = Removal(
        technique="filter",
        predicate=to_sql(predicate),
        files=len(table.files) - len(files),
        blocks=len(blocks.keep) - kept,
    )
    return replace(
        report,
        files_kept=len(files),
        blocks_total=len(blocks.keep),
        blocks_kept=kept,
        bytes_total=pc.sum(sizes).as_py() or 0,
        bytes_kept=pc.sum(sizes.filter(blocks.keep)).as_py() or 0,
        removals=(removal,) if removal.blocks or removal.files else (),
        notes=(
            *(f"read in full: {sentence}" for sentence in blocks.failures.values()),
            *blocks.notes,
        ),
    )


def _untouched(report: ScanReport, note: str) -> ScanReport:
    return replace(
        report,
        files_kept=report.files_total,
        blocks_kept=report.blocks_total,
        bytes_kept=report.bytes_total,
        removals=(),
        notes=(*report.notes, note),
    )


def _rewritten(
    spark: SparkSession,
    leaf: Leaf,
    table: Lake,
    predicate: Expression,
    blocks: _Blocks,
    report: ScanReport,
) -> Pruned:
    """The leaf's filters over fewer files, with the ranges of what is left in them as a filter."""
    files = blocks.files(table)
    ranges = _range_sql(predicate, table, blocks, files)
    below = leaf.node if len(files) == len(table.files) else reading(spark, table, files)
    if ranges:
        below, ranges = _filtered(spark, below, ranges)
    report = replace(report, range_filters=tuple(ranges))
    if len(files) == len(table.files) and not ranges:
        return Pruned(report=report)
    return Pruned(report=report, subtree=with_leaf(spark, leaf.chain.top, leaf.node, below))


def _range_sql(predicate: Expression, table: Lake, blocks: _Blocks, files: list[str]) -> list[str]:
    in_kept_files = pc.is_in(blocks.metadata.column("file"), value_set=pa.array(files, pa.string()))
    metadata = blocks.metadata.filter(in_kept_files)
    # A file without lanes may hold anything, so no range is known to cover it.
    if blocks.failures or len(metadata.column("file").unique()) < len(files):
        return []
    keep = blocks.keep.filter(in_kept_files.combine_chunks())
    return [found.sql for found in range_filters(predicate, metadata, keep, table.data_columns)]


def _filtered(spark: SparkSession, leaf: Java, ranges: list[str]) -> tuple[Java, list[str]]:
    """The leaf under the range filters, whose names Spark resolves against the leaf itself."""
    try:
        filtered = frame(spark, leaf).filter(" AND ".join(ranges))
        return filtered._jdf.queryExecution().analyzed(), ranges
    except PySparkException:
        # Names that differ only in case cannot be told apart in SQL; the query itself does without.
        return leaf, []
