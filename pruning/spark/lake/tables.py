"""Parquet tables in a plan: their files, columns and partition values, and how to read fewer files."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pruning.errors import InputError
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression
from pruning.expressions.types import Type, Value
from pruning.metadata.files.locations import is_on_local_disk, to_uri
from pruning.metadata.files.table_files import TableFiles
from pruning.metadata.files.table_formats import table_format_notes
from pruning.metadata.table.schema import is_nested
from pruning.metadata.views.constant_columns import with_constants
from pruning.spark.jvm.datatypes import type_of_field
from pruning.spark.jvm.gateway import (
    Java,
    attribute_ids,
    class_name,
    elements,
    hadoop_paths,
    simple_name,
)
from pruning.spark.jvm.literals import internal_value
from pruning.spark.lake.hadoop_files import HadoopFiles
from pruning.spark.lake.listings import is_marker, listed_files
from pruning.spark.lake.parquet_leaves import (
    FILE_RELATION,
    ROW_GROUP_INDEX,
    has_named_row_groups,
    is_parquet_leaf,
    named_row_groups,
)

# Reading a partition's values takes a few calls; a table with more partitions is pruned by footers alone.
PARTITIONS_MAX = 20_000

# The class of indexes of tables that were listed before; see `pruning.spark.lake.stored_tables`.
STORED_INDEX = "StoredFileIndex"
_FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled"
_NO_HOST = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):///")
_METADATA_KEYS = frozenset({"__metadata_col", "__file_source_metadata_col"})


class Unprunable(Exception):
    """Raised for a leaf of a plan that must be read as it is; the text says why."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that a leaf gives: its expression id, its name and type, and Spark's notes on it."""

    id: int
    name: str
    type: Type
    notes: frozenset[str]

    @property
    def describes_files(self) -> bool:
        """True if its values describe files instead of the table's rows."""
        return bool(_METADATA_KEYS & self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetTable:
    """A leaf of a plan that reads Parquet files which Spark has listed."""

    leaf: Java
    location: Java
    listed: TableFiles
    attributes: tuple[Attribute, ...]
    partition_columns: Mapping[str, Type]
    # Of each file of which the leaf reads only some row groups, their ordinals.
    row_groups: Mapping[str, frozenset[int]] = field(default_factory=dict)
    # True if the leaf in the plan has more files than these.
    is_part: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The files in the order of Spark's listing."""
        return self.listed.files

    @property
    def roots(self) -> tuple[str, ...]:
        """The directories and files that the user has named."""
        return tuple(root for root in self.listed.roots if not is_marker(root))

    @property
    def data_columns(self) -> dict[str, Type]:
        """The columns whose values are in the files, by name."""
        return {a.name: a.type for a in self.attributes if a.name not in self.partition_columns}


def parquet_table(
    spark: SparkSession, leaf: Java, attributes: tuple[Attribute, ...], *, may_name_groups: bool = False
) -> ParquetTable:
    """Return the Parquet table that a leaf of a plan reads.

    Args:
        spark: The session.
        leaf: The leaf.
        attributes: Its columns, if it is a `LogicalRelation`.
        may_name_groups: True for a caller that knows what to do with a leaf of some row groups.
    Raises:
        Unprunable: the leaf is not a plain Parquet table whose rows are those of the listed files.
    """
    location = _location(spark, leaf)
    row_groups = named_row_groups(leaf) if has_named_row_groups(leaf) else {}
    if row_groups is None or (row_groups and not may_name_groups):
        raise Unprunable("rows of its files are left out already")
    partition_columns = _field_types(location.partitionSchema())
    if list(partition_columns) != list(_field_types(leaf.relation().partitionSchema())):
        raise Unprunable("the table and its files disagree on the partition columns")
    listed = listed_files(spark, location)
    if not listed.are_distinct:
        raise Unprunable("a file is listed twice")
    return ParquetTable(
        leaf=leaf,
        location=location,
        listed=listed,
        attributes=attributes,
        partition_columns=partition_columns,
        row_groups=row_groups,
    )


def format_notes(spark: SparkSession, table: ParquetTable) -> tuple[str, ...]:
    """Return a warning for each of the table's directories that is a table of another format."""
    roots = list(map(to_uri, table.roots))
    local = table.listed.are_local and all(map(is_on_local_disk, roots))
    return table_format_notes(
        roots,
        table.listed.one_of_each_directory,
        has_markers=None if local else HadoopFiles(spark).has_markers,
    )


def leaf_attributes(leaf: Java) -> tuple[Attribute, ...]:
    """Return the columns of a `LogicalRelation`, in five calls."""
    # The plan's own JSON is far longer, and does not have the metadata of attributes.
    fields = json.loads(leaf.schema().json())["fields"]
    ids = attribute_ids(leaf.output())
    return tuple(
        Attribute(id_, field["name"], type_of_field(field), frozenset(field["metadata"]))
        for id_, field in zip(ids, fields, strict=True)
    )


def _location(spark: SparkSession, leaf: Java) -> Java:
    kind = simple_name(leaf)
    if kind == "InMemoryRelation":
        raise Unprunable("the rows are cached")
    relation = leaf.relation() if kind == "LogicalRelation" else None
    if relation is None or class_name(relation) != FILE_RELATION:
        raise Unprunable(f"{kind} is not a Parquet table that Spark lists the files of")
    if not is_parquet_leaf(leaf):
        raise Unprunable(
            f"{relation.fileFormat().toString()} files are not Parquet files that Spark reads itself"
        )
    if spark.conf.get(_FIELD_IDS, "false") == "true":
        raise Unprunable(f"{_FIELD_IDS} is set, so column names do not tell which columns are read")
    location = relation.location()
    index = simple_name(location)
    if index == ROW_GROUP_INDEX:
        location = location.listed()
        index = simple_name(location)
    if index == "CatalogFileIndex":
        location = location.filterPartitions(hadoop_paths(spark, []))
        index = simple_name(location)
    elif index == STORED_INDEX:
        location = location.listed()
        index = simple_name(location)
    if index != "InMemoryFileIndex":
        raise Unprunable(f"{index} decides itself which files are read")
    return location


def _field_types(struct: Java) -> dict[str, Type]:
    return {field["name"]: type_of_field(field) for field in json.loads(struct.json())["fields"]}


def partition_values(table: ParquetTable, names: Sequence[str]) -> dict[str, list[Value | None]]:
    """Return the values of partition columns, one for each file, as Spark reads them.

    Columns of unknown type are left out, and all columns if a file is in no partition.
    """
    # A column whose name looks like that of a struct's field is left out, because it would hide the field.
    known_names = [name for name in names if table.partition_columns[name].has_bounds and not is_nested(name)]
    partitions = table.location.partitionSpec().partitions()
    if not known_names or partitions.size() > PARTITIONS_MAX:
        return {}
    order = list(table.partition_columns)
    by_directory: dict[str, list[Value | None]] = {}
    for partition in elements(partitions.toIndexedSeq()):
        row = partition.values()
        by_directory[one_slash(partition.path().toUri().toString())] = [
            _partition_value(row, order.index(name), table.partition_columns[name], table.location)
            for name in known_names
        ]
    rows = [by_directory.get(one_slash(file.rpartition("/")[0])) for file in table.files]
    complete = [row for row in rows if row is not None]
    if len(complete) < len(rows):
        return {}
    return {name: [row[i] for row in complete] for i, name in enumerate(known_names)}


def with_partition_values(metadata: pa.Table, predicate: Expression, table: ParquetTable) -> pa.Table:
    """Return the metadata with the partition columns that a predicate names, one value in all of a file.

    A column whose values are unknown is not added.
    """
    named = [name for name in columns(predicate) if name in table.partition_columns]
    if not named:
        return metadata
    file = pc.index_in(metadata.column("file"), value_set=pa.array(table.files, pa.string()))
    positions = file.to_pylist()
    for name, values in partition_values(table, named).items():
        of_blocks = [values[position] for position in positions]
        try:
            metadata = with_constants(metadata, name, table.partition_columns[name], of_blocks)
        except InputError:
            # Arrow cannot hold a value, such as a string that is not UTF-8, so the column stays unknown.
            continue
    return metadata


def one_slash(uri: str) -> str:
    """Return a URI without a host in the form with one slash; Hadoop writes it with one or three."""
    return _NO_HOST.sub(r"\1:/", uri)


def _partition_value(row: Java, index: int, type_: Type, location: Java) -> Value | None:
    if row.isNullAt(index):
        return None
    return internal_value(row.get(index, location.partitionSchema().apply(index).dataType()), type_)
