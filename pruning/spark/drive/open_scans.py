"""Opening the scans of a query: the leaves of its plan that read tables."""

from pyspark.sql import SparkSession

from pruning.spark.catalyst.leaves import PlanLeaf, Unsettled
from pruning.spark.drive.filter_technique import catalyst_predicate
from pruning.spark.drive.leaf_tables import LeafTable, LeafTables, notes_on, own_conditions
from pruning.spark.drive.report import ScanReport
from pruning.spark.drive.scans import TableScan
from pruning.spark.drive.stored_scans import NOTHING_LEFT_OUT, examples_of, open_part, very_large_table
from pruning.spark.jvm.gateway import simple_name
from pruning.spark.lake.columns_read import columns_needed
from pruning.spark.lake.tables import Unprunable


def open_scan(
    spark: SparkSession,
    leaf: PlanLeaf,
    tables: LeafTables,
    *,
    columns_read: frozenset[str] | None,
    keys: frozenset[str],
) -> TableScan | ScanReport:
    """Return a leaf of a plan as a scan, or the report that says why the leaf stays as it is.

    Args:
        spark: The session.
        leaf: The leaf.
        tables: Opens the table that it reads.
        columns_read: The table's columns that the query reads; None is all of them.
        keys: The table's columns that keys of joins, groups and orders are made of.
    Raises:
        Unsettled: the query asks which files its rows come from, so no scan of it may change.
    """
    try:
        stored = very_large_table(leaf.node)
        table: LeafTable = tables.open(leaf) if stored is None else examples_of(spark, leaf, stored)
        for attribute in table.attributes:
            if attribute.describes_files:
                raise Unsettled(f"the query reads {attribute.name}, which tells of files")
        names = leaf.chain.names({attribute.id: attribute.name for attribute in table.attributes})
        own_filter = catalyst_predicate(spark, own_conditions(leaf, table), names)
        notes = list(notes_on(spark, table))
        read_metadata = tables.metadata_reader(table)
        left_out = NOTHING_LEFT_OUT
        if stored:
            needed = columns_needed(own_filter.predicate, keys, columns_read)
            part = open_part(spark, leaf, stored, own_filter.predicate, needed)
            table, left_out, read_metadata = part.table, part.left_out, part.read
    except Unprunable as reason:
        return ScanReport(paths=(simple_name(leaf.node),), notes=(f"left as it is: {reason}",))
    return TableScan(
        spark=spark,
        leaf=leaf,
        table=table,
        own_filter=own_filter,
        read_metadata=read_metadata,
        left_out=left_out,
        columns_read=columns_read,
        keys=keys,
        notes=notes,
    )
