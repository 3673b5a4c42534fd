"""The leaves of plans that read Parquet files that Spark lists: whole files, or some row groups of them."""

from pruning.spark.jvm.gateway import Java, class_name, simple_name

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
FILE_RELATION = f"{_DATASOURCES}.HadoopFsRelation"
PARQUET_FORMAT = f"{_DATASOURCES}.parquet.ParquetFileFormat"
# The class of indexes of some row groups of files; see `pruning.spark.lake.row_groups`.
ROW_GROUP_INDEX = "RowGroupFileIndex"
_SEPARATOR = "\0"


def is_parquet_leaf(leaf: Java) -> bool:
    """Tell whether a node of a plan reads Parquet files that Spark lists and reads itself."""
    if simple_name(leaf) != "LogicalRelation" or leaf.isStreaming():
        return False
    relation = leaf.relation()
    if class_name(relation) != FILE_RELATION:
        return False
    # The format of some row groups of files is a subclass of Spark's own.
    return class_name(relation.fileFormat()) == PARQUET_FORMAT or has_named_row_groups(leaf)


def has_named_row_groups(leaf: Java) -> bool:
    """Tell whether a Parquet leaf reads only some row groups of files."""
    return simple_name(leaf.relation().location()) == ROW_GROUP_INDEX


def named_row_groups(leaf: Java) -> dict[str, frozenset[int]] | None:
    """Return the ordinals of the row groups that a leaf reads, of each file of which it reads only some.

    Returns:
        None where some rows of these row groups are left out, too.
    """
    index = leaf.relation().location()
    if index.hasFilters():
        return None
    texts = iter(index.groups().split(_SEPARATOR))
    return {
        file: frozenset(map(int, ordinals.split(","))) if ordinals else frozenset()
        for file, ordinals in zip(texts, texts, strict=False)
        if file
    }


def over_files(leaf: Java, files: Java) -> Java:
    """Return an index of the row groups that a leaf reads, in the files of another index."""
    return leaf.relation().location().over(files)
