"""Copies of leaves that read Parquet files: of fewer files, over another index, or with other options."""

import hashlib
from collections.abc import Sequence
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pruning.spark.jvm.compiling import optional_instance
from pruning.spark.jvm.gateway import (
    Java,
    elements,
    hadoop_paths,
    jvm,
    sequence,
    singleton,
    some,
    string_array,
    values_of_keys,
    with_element,
)
from pruning.spark.lake.listings import MARKER, is_marker
from pruning.spark.lake.parquet_leaves import has_named_row_groups, over_files
from pruning.spark.lake.tables import ParquetTable, Unprunable

_LEAVES = "RelationLeaves"
_DATASOURCES = "org.apache.spark.sql.execution.datasources"
# The limits of a cache of listings that evicts nothing; the session's own may be off, small or shared.
_LISTINGS_BYTES_MAX, _LISTINGS_SECONDS = 1 << 40, -1
# No path contains this character.
_SEPARATOR = "\0"


def with_files(
    spark: SparkSession, table: ParquetTable, files: Sequence[str], *, leaf: Java | None = None
) -> Java:
    """Return a copy of the table's leaf that reads only `files`, which may be none.

    Expression ids, options, bucketing and partition values stay as they are.

    Args:
        leaf: Another leaf over the same table, to be copied instead.
    Raises:
        Unprunable: Spark would read other files than those.
    """
    location = _index_in_java(spark, table, files) or _checked_index(spark, table, files)
    node = table.leaf if leaf is None else leaf
    return with_relation(spark, node, over_files(node, location) if has_named_row_groups(node) else location)


def with_relation(
    spark: SparkSession,
    leaf: Java,
    location: Java,
    *,
    options: Java | None = None,
    file_format: Java | None = None,
) -> Java:
    """Return a copy of a Parquet leaf over another file index, with other options or format if any."""
    leaves = optional_instance(spark, _LEAVES)
    if leaves is not None:
        return leaves.copy(leaf, location, options, file_format)
    relation = leaf.relation()
    copied = relation.copy(
        location,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat() if file_format is None else file_format,
        relation.options() if options is None else options,
        relation.sparkSession(),
    )
    return with_element(spark, leaf, 0, copied)


def without_rows(spark: SparkSession, leaf: Java) -> Java:
    """Return the leaf under a filter that no row passes, so that the optimizer drops what needs its rows.

    Unlike a relation without rows, the result still has the leaf's hidden columns.
    """
    false = singleton(spark, "org.apache.spark.sql.catalyst.expressions.Literal").FalseLiteral()
    return jvm(spark).org.apache.spark.sql.catalyst.plans.logical.Filter(false, leaf)


def with_option(spark: SparkSession, leaf: Java, name: str, value: str) -> Java:
    """Return a copy of a Parquet leaf with one more option of its relation."""
    leaves = optional_instance(spark, _LEAVES)
    if leaves is not None:
        return leaves.withOption(leaf, name, value)
    relation = leaf.relation()
    return with_relation(spark, leaf, relation.location(), options=relation.options().updated(name, value))


def _index_in_java(spark: SparkSession, table: ParquetTable, files: Sequence[str]) -> Java | None:
    """Return an index of the files from Spark's listing, in one call; None where Java cannot make it."""
    leaves = optional_instance(spark, _LEAVES)
    if leaves is None:
        return None
    names = _SEPARATOR.join(map(unquote, files))
    try:
        return leaves.some(table.leaf, table.location, names, _mark_of(files), MARKER)
    except Py4JError:
        return None


def _checked_index(spark: SparkSession, table: ParquetTable, files: Sequence[str]) -> Java:
    """Return an index of the files.

    Raises:
        Unprunable: Spark would read other files than those.
    """
    try:
        location = _file_index(spark, table, table.leaf.relation(), files)
        listed = string_array(spark, location.inputFiles())
    except Py4JError as error:
        raise Unprunable("Spark could not list the files that are left") from error
    if sorted(listed) != sorted(files):
        raise Unprunable("Spark lists other files than those that are left")
    return location


def _mark_of(files: Sequence[str]) -> str:
    """Return the name of the root that tells one choice of files from others."""
    return f"{MARKER}{hashlib.sha256(_SEPARATOR.join(files).encode()).hexdigest()}"


def _file_index(spark: SparkSession, table: ParquetTable, relation: Java, files: Sequence[str]) -> Java:
    """Return an index of the files, from Spark's listing if possible; else they are listed again."""
    try:
        return _index_from_listing(spark, table, relation, files)
    except Py4JError:
        # This release of Spark keeps its listings in another way.
        return _index_by_listing(spark, table, relation, files)


def _index_from_listing(
    spark: SparkSession, table: ParquetTable, relation: Java, files: Sequence[str]
) -> Java:
    """Return an index under the table's own roots, with a cache of listings that has only these files.

    Spark takes two indexes with the same roots for equal. So each choice of files gets one more root, which
    does not exist and whose name is a hash of the choice.
    """
    java = jvm(spark)
    statuses = values_of_keys(
        spark, hadoop_paths(spark, [unquote(file) for file in files]), table.location.leafFiles()
    )
    roots = [path for path in elements(table.location.rootPaths()) if not is_marker(path.toString())]
    mark = java.org.apache.hadoop.fs.Path(roots[0], _mark_of(files))
    tag = singleton(spark, "scala.reflect.ClassTag").apply(
        java.java.lang.Class.forName("org.apache.hadoop.fs.FileStatus")
    )
    nothing = sequence(spark, []).toArray(tag)
    by_root = [(roots[0], statuses.toArray(tag)), *((root, nothing) for root in (*roots[1:], mark))]
    return index_of_listings(spark, relation, by_root, table.location.partitionSpec())


def index_of_listings(
    spark: SparkSession, relation: Java, by_root: Sequence[tuple[Java, Java]], partitions: Java | None
) -> Java:
    """Return Spark's index of files that are listed already.

    Args:
        spark: The session.
        relation: A relation with the options and the session of the index.
        by_root: Root directories, and Java's arrays of the statuses of the files below them.
        partitions: The partitions with their values; None to infer them from the directories.
    """
    shared = jvm(spark).org.apache.spark.sql.execution.datasources.SharedInMemoryCache
    listings = shared(_LISTINGS_BYTES_MAX, _LISTINGS_SECONDS).createForNewClient()
    for root, statuses in by_root:
        listings.putLeafFiles(root, statuses)
    try:
        roots = sequence(spark, [root for root, _ in by_root])
        return _in_memory_index(spark, relation, roots, listings, partitions)
    finally:
        listings.invalidateAll()


def _index_by_listing(spark: SparkSession, table: ParquetTable, relation: Java, files: Sequence[str]) -> Java:
    paths = hadoop_paths(spark, [unquote(file) for file in files])
    listings = singleton(spark, f"{_DATASOURCES}.NoopCache")
    return _in_memory_index(spark, relation, paths, listings, table.location.partitionSpec())


def _in_memory_index(
    spark: SparkSession, relation: Java, roots: Java, listings: Java, partitions: Java | None
) -> Java:
    nothing = some(spark, None)
    return jvm(spark).org.apache.spark.sql.execution.datasources.InMemoryFileIndex(
        relation.sparkSession(),
        roots,
        relation.options(),
        nothing,
        listings,
        some(spark, partitions),
        nothing,
    )
