"""Block metadata of a version of a table: of files by the log, and of the row groups of few by footers."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pruning.expressions.types import Type
from pruning.metadata.files.locations import is_on_local_disk, locate
from pruning.metadata.store.collecting import BlocksRead, read_blocks
from pruning.metadata.table.comparable import comparable_columns, with_comparable
from pruning.metadata.table.live_rows import FIELD
from pruning.metadata.table.measured import STATED
from pruning.metadata.table.structs import field_of, has_field, whole
from pruning.metadata.versioned.divided_files import divided_files
from pruning.spark.drive.block_reading import NeededBlocks
from pruning.spark.versioned.tables import VersionTable

# The most files whose footers are read, after the log has decided which are needed.
DIVIDED_FILES_MAX = 200


def version_blocks(
    spark: SparkSession, table: VersionTable, columns: frozenset[str], question: NeededBlocks | None
) -> BlocksRead:
    """Return the block metadata of a version's files, those that a filter leaves divided into row groups.

    A file is not divided if its footer has another number of rows than it has live ones, as where rows are
    deleted, or if it is not on the local disk.

    Args:
        spark: The session.
        table: The version.
        columns: The top-level columns that are needed.
        question: Marks the blocks that a filter needs; None where there is no filter.
    """
    blocks = table.blocks(columns)
    if question is None:
        return BlocksRead(blocks, {})
    is_uncounted = np.zeros(len(blocks), np.bool_)
    if FIELD in blocks.schema.names:
        is_uncounted = pc.fill_null(whole(blocks.column(FIELD)), False).to_numpy(zero_copy_only=False)
    needed = question(blocks)
    wanted = np.flatnonzero(needed & ~is_uncounted)
    if not 0 < len(wanted) <= DIVIDED_FILES_MAX:
        return BlocksRead(blocks, {})
    names = {name: own for name, own in table.names_in_files.items() if name in columns}
    paths = [table.files[place] for place in wanted.tolist()]
    row_groups = _row_groups(spark, paths, frozenset(names.values()))
    row_groups = _of_same_count(row_groups, blocks)
    if not len(row_groups):
        return BlocksRead(blocks, {})
    compared = comparable_columns(row_groups)
    is_whole = pc.count_distinct(row_groups.column("file")).as_py() == needed.sum()
    comparable = {name for name, own in names.items() if is_whole and own in compared}
    return BlocksRead(with_comparable(divided_files(blocks, row_groups, names), comparable), {})


def ranged_columns(table: VersionTable, metadata: pa.Table) -> Mapping[str, Type]:
    """Return the columns that range filters may name: of a leaf whose files were divided, by equal names."""
    structs = whole(metadata.column("columns"))
    return {
        name: type_
        for name, type_ in table.data_columns.items()
        if table.names_in_files.get(name) == name
        and has_field(structs, name)
        and has_field(field_of(structs, name), STATED)
    }


def _row_groups(spark: SparkSession, paths: list[str], columns: frozenset[str]) -> pa.Table:
    """Return the block metadata of the files among these whose footers can be read, under the same names."""
    by_local = {locate(path)[1]: path for path in paths if is_on_local_disk(path)}
    metadata = read_blocks(list(by_local), columns=columns, spark=spark).metadata
    place = metadata.schema.get_field_index("file")
    files = pa.array([by_local[file] for file in metadata.column("file").to_pylist()], pa.string())
    return metadata.set_column(place, metadata.schema.field(place), files)


def _of_same_count(row_groups: pa.Table, files: pa.Table) -> pa.Table:
    """Return the row groups of the files that have as many rows as is said of the files."""
    counts = row_groups.group_by("file").aggregate([("row_count", "sum")])
    place = pc.index_in(whole(counts.column("file")), value_set=whole(files.column("file")))
    is_same = pc.equal(counts.column("row_count_sum"), files.column("row_count").take(place))
    same = counts.column("file").filter(is_same).combine_chunks()
    return row_groups.filter(pc.is_in(row_groups.column("file"), value_set=same)).combine_chunks()
