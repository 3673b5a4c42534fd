"""Scans of very large tables that were opened from the store of their metadata (`pruning.table`).

Spark is not told of all of their files. The store is searched with the scan's own filter before anything
else, and what is left is a table like any other.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression
from pruning.metadata.files.listing import Listing
from pruning.metadata.files.table_files import TableFiles
from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.store.collecting import BlocksRead, with_data_facts
from pruning.metadata.store.packs import Damaged
from pruning.metadata.store.searching import Question
from pruning.metadata.store.snapshots import FilesLeft, Snapshot
from pruning.metadata.table.blocks import rename, unite
from pruning.metadata.table.partial import with_columns_read
from pruning.metadata.table.schema import block_schema
from pruning.metadata.table.structs import make_typed_struct
from pruning.rules.sets.truths import Match
from pruning.spark.catalyst.leaves import PlanLeaf
from pruning.spark.drive.block_reading import NeededBlocks
from pruning.spark.jvm.gateway import Java
from pruning.spark.lake.leaf_copies import with_relation
from pruning.spark.lake.nested import leaf_types
from pruning.spark.lake.stored_tables import StoredTable, check_unchanged, stored_table
from pruning.spark.lake.tables import (
    ParquetTable,
    Unprunable,
    parquet_table,
    with_partition_values,
)
from pruning.verdicts.classification import classify_blocks

# Of a table with more files, Spark lists only those that a search has left; and of no more.
FILES_LISTED_MAX = 100_000


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files that a search has excluded, and that Spark is not told of.

    Attributes:
        files: Their number.
        blocks: The number of the blocks of those that were searched.
        summaries: Summaries of groups of these blocks, as block metadata.
    """

    files: int = 0
    blocks: int = 0
    summaries: tuple[pa.Table, ...] = ()


NOTHING_LEFT_OUT = LeftOut()


@dataclass(slots=True, kw_only=True)
class StoredPart:
    """The files of a stored table that a search has left.

    Attributes:
        table: The table of these files.
        left_out: The other files.
    """

    table: ParquetTable
    left_out: LeftOut
    _snapshot: Snapshot
    _listing: Listing
    _columns: frozenset[str]
    _blocks: BlocksRead
    _spark: SparkSession = field(repr=False)

    def read(
        self,
        files: TableFiles,
        columns: frozenset[str],
        question: NeededBlocks | None,
    ) -> BlocksRead:
        """Return the block metadata of the files, as `BlockReader.read` does."""
        if not columns <= self._columns:
            left = _search(self._snapshot, columns, _every_block, None, self._spark)
            self._columns, self._blocks = columns, _read(left, self._listing, columns)
        return self._blocks


def very_large_table(leaf: Java) -> StoredTable | None:
    """Return the table of a leaf of a plan if it was opened from the store and has too many files to list."""
    stored = stored_table(leaf)
    return stored if stored is not None and stored.snapshot.file_count > FILES_LISTED_MAX else None


def examples_of(spark: SparkSession, leaf: PlanLeaf, stored: StoredTable) -> ParquetTable:
    """Return the table of a leaf with a file for each of its directories instead; there is no such file.

    Raises:
        Unprunable: the leaf must be read as it is.
    """
    return parquet_table(spark, with_relation(spark, leaf.node, stored.examples), leaf.attributes)


def open_part(
    spark: SparkSession,
    leaf: PlanLeaf,
    stored: StoredTable,
    predicate: Expression,
    names: Collection[str],
) -> StoredPart:
    """Return the part of a very large stored table that a scan's own filter needs.

    Args:
        spark: The session.
        leaf: The leaf of the plan that reads the table.
        stored: The table.
        predicate: The filter.
        names: The top-level columns that the query's techniques need.
    Raises:
        InputError: a file that is needed has been written or removed since the table was listed.
        Unprunable: too many files are needed, or what is kept is damaged.
    """
    examples = examples_of(spark, leaf, stored)
    columns_needed = frozenset(names) - examples.partition_columns.keys()
    question = NeededBlocks(predicate, leaf_types(examples.data_columns))
    directories = _directories_left(stored, examples, predicate)
    left = _search(stored.snapshot, columns_needed, question, directories, spark)
    if len(left.files) > FILES_LISTED_MAX:
        raise Unprunable(f"{len(left.files):,} of its files may hold a needed row, too many to tell Spark of")
    index = stored.index_of(left.files)
    table = parquet_table(spark, with_relation(spark, leaf.node, index), leaf.attributes)
    listing = stored.listing_of(index, left.files)
    check_unchanged(spark, listing)
    return StoredPart(
        table=replace(table, is_part=True),
        left_out=LeftOut(
            left.unsearched + sum(len(part.files) for part in left.excluded),
            sum(part.blocks for part in left.excluded),
            tuple(part.summary for part in left.excluded),
        ),
        _snapshot=left.snapshot,
        _listing=listing,
        _columns=columns_needed,
        _blocks=_read(left, listing, columns_needed),
        _spark=spark,
    )


def _directories_left(
    stored: StoredTable, examples: ParquetTable, predicate: Expression
) -> frozenset[str] | None:
    """Return the directories whose partitions may hold a needed row; None if these are all.

    Args:
        stored: The table.
        examples: The table of its examples, one file in each directory.
        predicate: The condition on needed rows.
    """
    if columns(predicate).keys().isdisjoint(examples.partition_columns):
        return None
    count = len(examples.files)
    # Of a row in each directory, nothing but the values of the partition is known.
    schema = block_schema({})
    lanes = {"file": pa.array(stored.names_of_examples(), pa.string()), "row_count": pa.repeat(1, count)}
    arrays = [
        lanes[field.name].cast(field.type)
        if field.name in lanes
        else make_typed_struct([], field.type, count)
        if field.name == "columns"
        else pa.repeat(pa.scalar(0, field.type), count)
        for field in schema
    ]
    metadata = with_partition_values(pa.Table.from_arrays(arrays, schema=schema), predicate, examples)
    needed = classify_blocks(predicate, metadata).to_numpy() != Match.NONE
    directories = zip(stored.snapshot.directories, needed.tolist(), strict=True)
    return frozenset(directory for directory, is_needed in directories if is_needed)


def _search(
    snapshot: Snapshot,
    names: frozenset[str],
    question: Question,
    directories: frozenset[str] | None,
    spark: SparkSession,
) -> FilesLeft:
    """Search a snapshot.

    Raises:
        Unprunable: what is kept is damaged.
    """
    try:
        return snapshot.search(names, question, directories=directories, spark=spark)
    except Damaged as damage:
        raise Unprunable(f"{damage}; `pruning.collect` of its directory makes it anew") from damage


def _every_block(metadata: pa.Table) -> Mask:
    return np.ones(len(metadata), bool)


def _read(left: FilesLeft, listing: Listing, names: frozenset[str]) -> BlocksRead:
    """Return the block metadata that a search has left, under the names that Spark gives the files."""
    spelled = {str(place): listed.file for place, listed in enumerate(listing.files)}
    shards = [rename(shard, spelled) for shard in left.shards]
    metadata = with_columns_read(unite(shards, [listed.file for listed in listing.files]), names)
    return BlocksRead(with_data_facts(metadata, listing, names), {})
