"""The tables that the leaves of a plan read: Parquet files that Spark lists, Iceberg's, or a version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import SparkSession

from pruning.expressions.plans import Scan
from pruning.expressions.trees import Expression
from pruning.expressions.types import Type
from pruning.metadata.files.listing import Stamp
from pruning.metadata.files.table_files import TableFiles
from pruning.metadata.footers.thrift_lanes import Numbers
from pruning.metadata.store.collecting import BlocksRead
from pruning.spark.catalyst.leaves import PlanLeaf
from pruning.spark.drive.analyzed_plans import leaf_number
from pruning.spark.drive.block_reading import BlockReader, MetadataReader, NeededBlocks
from pruning.spark.drive.filter_technique import catalyst_predicate
from pruning.spark.drive.pushdown import safe_condition
from pruning.spark.drive.report import Removal
from pruning.spark.drive.version_blocks import ranged_columns, version_blocks
from pruning.spark.iceberg.leaves import is_iceberg_scan, is_stand_in, reason_to_leave
from pruning.spark.iceberg.tables import IcebergTable, LeafReader, plan_iceberg_table
from pruning.spark.jvm.gateway import Java, attribute_ids
from pruning.spark.lake import leaf_copies, tables
from pruning.spark.lake.tables import ParquetTable, Unprunable, parquet_table
from pruning.spark.versioned.deleted_rows import query_conditions
from pruning.spark.versioned.layouts import opened_files
from pruning.spark.versioned.tables import VersionTable, version_table

LeafTable: TypeAlias = ParquetTable | IcebergTable | VersionTable


@dataclass(slots=True)
class LeafTables:
    """Opens the tables of the leaves of an optimized plan.

    The optimizer may copy a leaf. The copies of one leaf of Iceberg share their files, which are planned when
    the first of them is opened: those that some copy may need.
    """

    spark: SparkSession
    _blocks: BlockReader
    _readers: dict[int | None, list[LeafReader]] = field(default_factory=dict)
    _iceberg: dict[int | None, IcebergTable | Unprunable] = field(default_factory=dict)

    @classmethod
    def of(
        cls, spark: SparkSession, leaves: Mapping[Scan, PlanLeaf], keys: Mapping[Scan, frozenset[str]]
    ) -> "LeafTables":
        """Return the tables of all leaves of a plan.

        Args:
            spark: The session.
            leaves: The leaves of the plan and of its subqueries.
            keys: Of each scan, the columns that keys of joins, groups and orders are made of.
        """
        opened = cls(spark, BlockReader(spark))
        for scan, leaf in leaves.items():
            if is_stand_in(leaf.node):
                columns = keys[scan] | _columns_in_conditions(leaf)
                # A condition by which Iceberg may lose rows is replaced by one that it does not know.
                conditions = tuple(
                    safe_condition(spark, condition) or condition for condition in leaf.chain.conditions
                )
                reader = LeafReader(
                    node=leaf.node,
                    conditions=conditions,
                    columns=columns,
                    predicate=partial(_predicate, spark, leaf),
                )
                opened._readers.setdefault(leaf_number(leaf.node), []).append(reader)
        return opened

    def open(self, leaf: PlanLeaf) -> LeafTable:
        """Return the table that a leaf reads.

        Raises:
            Unprunable: the leaf must be read as it is.
        """
        if is_iceberg_scan(leaf.node):
            return self._open_iceberg(leaf)
        opened = opened_files(leaf.node)
        if opened is not None:
            return version_table(leaf.node, opened, leaf.attributes)
        return parquet_table(self.spark, leaf.node, leaf.attributes, may_name_groups=True)

    def metadata_reader(self, table: LeafTable) -> MetadataReader:
        """Return what reads the block metadata of the table's files."""
        if isinstance(table, IcebergTable):
            return lambda *_: BlocksRead(table.metadata, {})
        if isinstance(table, VersionTable):
            return lambda _, columns, question: version_blocks(self.spark, table, columns, question)
        if table.row_groups:
            return partial(self._read_named, table.row_groups)
        return self._blocks.read

    def _read_named(
        self,
        row_groups: Mapping[str, frozenset[int]],
        files: TableFiles,
        columns: frozenset[str],
        question: NeededBlocks | None,
    ) -> BlocksRead:
        """Read block metadata, and return that of the row groups that the leaf reads."""
        blocks = self._blocks.read(files, columns, question)
        places = zip(
            blocks.metadata["file"].to_pylist(), blocks.metadata["row_group"].to_pylist(), strict=True
        )
        mask = [file not in row_groups or group in row_groups[file] for file, group in places]
        return blocks._replace(metadata=blocks.metadata.filter(pa.array(mask, pa.bool_())))

    def _open_iceberg(self, leaf: PlanLeaf) -> IcebergTable:
        if not is_stand_in(leaf.node):
            raise Unprunable(reason_to_leave(self.spark, leaf.node))
        number = leaf_number(leaf.node)
        if number not in self._iceberg:
            try:
                readers = self._readers[number]
                self._iceberg[number] = plan_iceberg_table(self.spark, readers, leaf.attributes)
            except Unprunable as reason:
                self._iceberg[number] = reason
        table = self._iceberg[number]
        if isinstance(table, Unprunable):
            raise table
        return table


def _names(leaf: PlanLeaf) -> Mapping[int, str]:
    """Return the names of the leaf's columns by the ids that they have in its conditions."""
    return leaf.chain.names({attribute.id: attribute.name for attribute in leaf.attributes})


def _predicate(spark: SparkSession, leaf: PlanLeaf) -> Expression:
    """Return the conjunction of the conditions right above a leaf."""
    return catalyst_predicate(spark, leaf.chain.conditions, _names(leaf)).predicate


def _columns_in_conditions(leaf: PlanLeaf) -> frozenset[str]:
    names = _names(leaf)
    named = (
        id_
        for condition in leaf.chain.conditions
        if not condition.references().isEmpty()
        for id_ in attribute_ids(condition.references().toSeq())
    )
    return frozenset(names[id_] for id_ in named if id_ in names)


def can_run(table: LeafTable) -> bool:
    """Tell whether the leaf in the optimized plan reads the table, and neither more files nor a stand-in."""
    return isinstance(table, VersionTable) or (isinstance(table, ParquetTable) and not table.is_part)


def is_part(table: LeafTable) -> bool:
    """Tell whether the leaf in the plan has more files than the table."""
    return isinstance(table, ParquetTable) and table.is_part


def reads_by_places(table: LeafTable) -> bool:
    """Tell whether row groups and pages of the table's files can be left out by their places."""
    return isinstance(table, ParquetTable)


def columns_of_ranges(table: LeafTable, metadata: pa.Table) -> Mapping[str, Type]:
    """Return the columns that range filters over the table's leaf may name.

    Args:
        table: The table.
        metadata: Its block metadata.
    """
    if isinstance(table, VersionTable):
        return ranged_columns(table, metadata)
    return table.data_columns if isinstance(table, ParquetTable) else {}


def may_have_lost_files(table: LeafTable) -> bool:
    """Tell whether each row of a file may be deleted, so that the file is not needed."""
    return isinstance(table, VersionTable) and table.has_deletes


def own_conditions(leaf: PlanLeaf, table: LeafTable) -> Sequence[Java]:
    """Return the conditions right above a leaf that the query has, and not the table itself."""
    if isinstance(table, VersionTable):
        return query_conditions(leaf.chain.conditions, table.deleted_ids)
    return leaf.chain.conditions


def with_files(
    spark: SparkSession, table: LeafTable, files: Sequence[str], *, leaf: Java | None = None
) -> Java:
    """Return a copy of the table's leaf that reads only `files`; of Iceberg, the leaf itself for none.

    Args:
        leaf: Another leaf over the same table, to be copied instead.
    Raises:
        Unprunable: other files would be read than those.
    """
    if not isinstance(table, ParquetTable):
        return table.with_files(spark, files, leaf)
    return leaf_copies.with_files(spark, table, files, leaf=leaf)


def with_partition_values(metadata: pa.Table, predicate: Expression, table: LeafTable) -> pa.Table:
    """Return the metadata with the partition columns that a predicate names; other formats' has all."""
    if not isinstance(table, ParquetTable):
        return metadata
    return tables.with_partition_values(metadata, predicate, table)


def table_files(table: LeafTable) -> TableFiles:
    """Return the table's files with their sizes, and the times of those that Spark has listed."""
    if isinstance(table, ParquetTable):
        return table.listed
    # The others never change.
    return TableFiles((), tuple(table.files), tuple(Stamp(size, 0) for size in _byte_counts(table).tolist()))


def listed_bytes(table: LeafTable) -> int:
    """Return the bytes of all of the table's files."""
    if not isinstance(table, ParquetTable):
        return int(_byte_counts(table).sum())
    return int(table.location.sizeInBytes())


def _byte_counts(table: IcebergTable | VersionTable) -> Numbers:
    return table.planned.byte_counts if isinstance(table, IcebergTable) else table.byte_counts


def notes_on(spark: SparkSession, table: LeafTable) -> tuple[str, ...]:
    """Return what a user should know of a table: its snapshot, or that it is a table of another format."""
    if isinstance(table, IcebergTable):
        at = "has no snapshot" if table.snapshot_id is None else f"is read at snapshot {table.snapshot_id}"
        return (f"the table {at}",)
    if isinstance(table, VersionTable):
        return table.notes
    return tables.format_notes(spark, table)


def removals_before(table: LeafTable) -> tuple[Removal, ...]:
    """Return what was excluded before any technique: in Spark's tasks, and by Iceberg's own planning.

    Blocks are files there.
    """
    if not isinstance(table, IcebergTable):
        return ()
    total, planned, left = table.planned.total_files, len(table.planned.files), table.left
    before = total if left is None else left.count
    removals = [("iceberg", table.filter, before - planned)]
    if left is not None:
        removals.insert(0, ("filter", left.predicate, total - left.count))
    return tuple(
        Removal(technique=technique, predicate=predicate, files=count, blocks=count)
        for technique, predicate, count in removals
        if count > 0
    )
