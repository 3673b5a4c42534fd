"""Unions that replace joins of the analyzed plan: one join for each range of keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pruning.expressions.trees import Expression
from pruning.spark.drive.analyzed_plans import dataset_id_tag, with_broadcast_hint
from pruning.spark.drive.narrowed_leaves import narrowed_leaf
from pruning.spark.drive.pushdown import doubted_columns, safe_condition, with_condition, with_shield
from pruning.spark.drive.scans import TableScan
from pruning.spark.jvm.compiling import optional_instance
from pruning.spark.jvm.gateway import (
    Java,
    attribute_ids,
    elements,
    jvm,
    sequence,
    simple_name,
    singleton,
    with_element,
    with_leaf,
)
from pruning.spark.lake.tables import Unprunable
from pruning.techniques.join.range_cuts import JoinRanges, SideBlocks

_COPIES, _COPIES_PACKAGE = "PlanCopies", "pruning.spark.jvm"
_PROJECT = "org.apache.spark.sql.catalyst.plans.logical.Project"
_PATTERNS = "org.apache.spark.sql.catalyst.trees.TreePattern"
# Nodes of which a side may consist: each row that they give is made of one row of the leaf.
_ROWWISE = frozenset({"Filter", "Project", "SubqueryAlias", "View"})
# What a join that is copied may not contain, with the reason.
_UNCOPIED = {
    "PLAN_EXPRESSION": "the join has a subquery",
    "PYTHON_UDF": "the join has a function in Python, which may do more than return a value",
    "OUTER_REFERENCE": "the join names columns of the query around it",
}


@dataclass(frozen=True, slots=True)
class RangeReads:
    """The files that the join of a range reads, and the row groups of those that are not read as a whole."""

    files: frozenset[str]
    named_groups: Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SideSlices:
    """The slices of one side of a join, a slice for each range.

    Attributes:
        scan: The scan of the side's table.
        ranges: The ranges.
        blocks: The blocks of the table.
        key: The key, over the table's columns.
    """

    scan: TableScan
    ranges: JoinRanges
    blocks: SideBlocks
    key: Expression
    _masks: list[np.ndarray] = field(default_factory=list)
    _reads: list[RangeReads] = field(default_factory=list)

    def masks(self) -> list[np.ndarray]:
        """Return, of each range, the mask of the blocks that may hold a row of it; shape (blocks,)."""
        if not self._masks:
            self._masks.extend(self.ranges.blocks(self.blocks))
        return self._masks

    def may_have_rows(self, place: int) -> bool:
        """Tell whether a range may have rows of this side."""
        return bool(self.blocks.others.files) or bool(self.masks()[place].any())

    def subtree(self, place: int, leaf: Java) -> Java:
        """Return what replaces a leaf in the join of a range.

        Args:
            place: The place of the range.
            leaf: The table's leaf in the analyzed plan, perhaps with hidden columns.
        Raises:
            Unprunable: Spark would read other files, or cannot resolve the key.
        """
        scan, spark = self.scan, self.scan.spark
        before = scan.scan_set, scan.range_filters, scan.named_groups
        try:
            scan.scan_set = scan.read_scan_set().with_blocks(self.masks()[place])
            narrowed = narrowed_leaf(scan, leaf=leaf)
            self._reads.append(RangeReads(frozenset(scan.files()), scan.named_groups))
        finally:
            scan.scan_set, scan.range_filters, scan.named_groups = before
        narrowed = leaf if narrowed is None else narrowed
        condition = self.ranges.condition(place, self.key, keeps_null=self.blocks.keeps_null)
        filtered = with_condition(spark, narrowed, [condition])
        if filtered is narrowed:
            raise Unprunable("Spark cannot resolve the key at the table")
        pushable = safe_condition(spark, filtered.condition())
        if pushable is not None:
            filtered = with_element(spark, filtered, 0, pushable)
        doubted = doubted_columns(scan.leaf)
        return with_shield(spark, leaf, filtered, doubted) if doubted else filtered

    def note_reads(self) -> None:
        """Note in the scan, for its report, what all ranges read of the table.

        Of a file only some row groups are read if each range that reads the file names its row groups.
        """
        whole = {file for reads in self._reads for file in reads.files - reads.named_groups.keys()}
        named: dict[str, frozenset[int]] = {}
        for reads in self._reads:
            for file in reads.named_groups.keys() - whole:
                named[file] = named.get(file, frozenset()) | reads.named_groups[file]
        self.scan.named_groups = named
        # Those that were made for the table as a whole are in no plan.
        self.scan.range_filters = ()


def why_not_copied(spark: SparkSession, join: Java) -> str | None:
    """Return why a join of the analyzed plan cannot be copied; None if it can be."""
    if optional_instance(spark, _COPIES, package=_COPIES_PACKAGE) is None:
        return "this Java process cannot copy plans"
    for pattern, reason in _UNCOPIED.items():
        if join.containsPattern(getattr(singleton(spark, _PATTERNS), pattern)()):
            return reason
    for side in (join.left(), join.right()):
        while True:
            children = list(elements(side.children()))
            if not children:
                break
            if len(children) > 1 or simple_name(side) not in _ROWWISE:
                return "a side of the join is more than filters and projections of one table"
            (side,) = children
    return None


def union_of_ranges(
    spark: SparkSession,
    join: Java,
    slices: Sequence[SideSlices],
    places: Sequence[int],
    *,
    build_is_left: bool,
) -> Java:
    """Return the union of the joins of ranges, with the attributes of the join.

    The first join keeps the ids of attributes, which a union takes from its first child.

    Args:
        spark: The session.
        join: A join of the analyzed plan that `why_not_copied` has no reason against.
        slices: Of its left and its right side.
        places: The ranges that may have rows, at least one.
        build_is_left: True if slices of the left side are broadcast, False if those of the right.
    Raises:
        Unprunable: Spark would read other files.
    """
    copies = optional_instance(spark, _COPIES, package=_COPIES_PACKAGE)
    assert copies is not None
    with_hidden = _with_hidden_columns(spark, join)
    branches: list[Java] = []
    for place in places:
        right, left = (
            with_leaf(spark, java, leaf, side.subtree(place, leaf))
            for side, java in zip(slices[::-1], (with_hidden.right(), with_hidden.left()), strict=True)
            for leaf in elements(java.collectLeaves())
        )
        if build_is_left:
            left = with_broadcast_hint(spark, left)
        else:
            right = with_broadcast_hint(spark, right)
        branch = with_hidden.withNewChildren(sequence(spark, [left, right]))
        if branches:
            branch = copies.of(branch, dataset_id_tag(spark))
            for side, java in zip(slices, (branch.left(), branch.right()), strict=True):
                side.scan.copied_ids |= {
                    id_ for leaf in elements(java.collectLeaves()) for id_ in attribute_ids(leaf.output())
                }
        branches.append(branch)
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    union = logical.Union(sequence(spark, branches), False, False)
    return union if with_hidden is join else _with_columns_of(spark, union, join)


def _with_hidden_columns(spark: SparkSession, join: Java) -> Java:
    """Return a join that gives its hidden columns, such as `_metadata`, too: a union has no hidden ones.

    The optimizer drops them where nothing above names them.
    """
    hidden = join.metadataOutput()
    if hidden.isEmpty():
        return join
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    # The rule adds the columns to all that is below a node that names them.
    naming = logical.Project(_attributes_of_both(spark, join.output(), hidden), join)
    try:
        return spark._jsparkSession.sessionState().analyzer().AddMetadataColumns().apply(naming).child()
    except Py4JError as error:
        raise Unprunable("this release of Spark hides columns in another way") from error


def _with_columns_of(spark: SparkSession, union: Java, join: Java) -> Java:
    """Return a union of the columns of a join, whose hidden columns stay hidden."""
    own = set(attribute_ids(join.output()))
    hidden = [column for column in elements(union.output()) if int(column.exprId().id()) not in own]
    projection = jvm(spark).org.apache.spark.sql.catalyst.plans.logical.Project(join.output(), union)
    projection.setTagValue(singleton(spark, _PROJECT).hiddenOutputTag(), sequence(spark, hidden))
    return projection


def _attributes_of_both(spark: SparkSession, first: Java, second: Java) -> Java:
    """Return two Scala Seqs of attributes as one."""
    return sequence(spark, [*elements(first), *elements(second)])
