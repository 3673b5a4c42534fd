"""The files of one version that have one layout, as a relation of Spark."""

import uuid
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from pruning.errors import InputError
from pruning.expressions.types import Type
from pruning.metadata.footers.thrift_lanes import Mask, Numbers
from pruning.metadata.versioned.layout_blocks import layout_blocks
from pruning.metadata.versioned.table_version import PARTITION, SEQUENCE, TableVersion
from pruning.spark.jvm.compiling import java_instance
from pruning.spark.jvm.datatypes import type_of_field
from pruning.spark.jvm.gateway import (
    Java,
    java_interface,
    jvm,
    mapping,
    sequence,
    simple_name,
    singleton,
    some,
)
from pruning.spark.versioned.deletion_bits import deletion_bits
from pruning.spark.versioned.encoding import encode_bytes, encode_columns, encode_longs
from pruning.spark.versioned.schemas import FieldJson, Schema, field_json, fields_of, struct_type

# The class of the indexes of files.
VERSION_INDEX = "VersionFileIndex"
# The partition column that holds the positions of a file's deleted rows; no column of a table is called so.
DELETED = "`deleted"
# The name under which Spark's reader of Parquet gives the position of a row in its file.
ROW_POSITION = "_tmp_metadata_row_index"
# Both formats count days and times by one calendar, so that Spark must neither shift nor refuse old ones.
_OPTIONS = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
# The types of the partition columns by which rows that are deleted by their values are matched.
HIDDEN_NUMBERS = {SEQUENCE: "long", PARTITION: "integer"}
PACKAGE = "pruning.spark.versioned"
# The first major release of Spark whose reader of Parquet widens integers, decimals and dates.
_WIDENING = 4
_PARQUET_FORMAT = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"


@dataclass(frozen=True, kw_only=True, eq=False)
class LayoutFiles:
    """The data files of a version that have one layout.

    Attributes:
        version: The version.
        places: The places of the files among the version's; shape (files,).
        columns: The fields that Spark reads, by the table's names of their columns: those in the files, and
            then the partition columns.
    """

    version: TableVersion
    places: Numbers
    columns: Mapping[str, FieldJson]
    # The block metadata of these files that was read last, with its columns.
    _blocks_read: list[tuple[frozenset[str], pa.Table]] = field(default_factory=list)

    @classmethod
    def of(cls, version: TableVersion, layout: int | None, places: Numbers) -> "LayoutFiles":
        """Return the files at these places, which have a layout; None is the table's own columns."""
        table, partitions = fields_of(version.schema), version.partition_columns
        in_files = [name for name in table if name not in partitions]
        data = [table[name] for name in in_files]
        if layout is not None:
            data = list(fields_of(version.layouts[layout]).values())
        names = _partition_names(partitions, [field["name"] for field in data])
        columns = dict(zip(in_files, data, strict=True))
        columns |= {
            column: table[column] | {"name": name} for column, name in zip(partitions, names, strict=True)
        }
        return cls(version=version, places=places, columns=columns)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The files' paths, as the version names them."""
        paths = self.version.files.paths
        return tuple(paths[place] for place in self.places.tolist())

    @cached_property
    def deleted(self) -> Mask:
        """True for the files of which rows may be deleted by position; shape (files,)."""
        return self.version.deleted_rows.mask[self.places]

    def blocks(self, names: frozenset[str]) -> pa.Table:
        """Return the block metadata of the files, of some of the table's top-level columns or more.

        A partition column has its file's value; a column that is narrower in the files has its bounds in the
        narrower type.
        """
        if self._blocks_read:
            before, blocks = self._blocks_read[0]
            if names <= before:
                return blocks
            names |= before
        blocks = layout_blocks(self.version, self.places, names, self._types())
        self._blocks_read[:] = [(names, blocks)]
        return blocks

    def _types(self) -> dict[str, Type]:
        """Return the types as which Spark reads the columns, by the table's names."""
        return {name: type_of_field(column) for name, column in self.columns.items()}


def layout_leaf(spark: SparkSession, files: LayoutFiles) -> Java:
    """Return a leaf of a plan that reads the files of a layout, with their deleted rows.

    Its columns are those in the files, the partition columns, and hidden ones: where rows are deleted by
    their values, `SEQUENCE` and `PARTITION`; and where some are deleted by their positions, `ROW_POSITION`
    and `DELETED`.

    Raises:
        InputError: a column of the table has the name of a hidden one; Spark's reader does not widen the type
            of one; or it gives the positions of rows under another name.
    """
    _check_names(files)
    _check_types(spark, files)
    partition_columns = files.version.partition_columns
    fields = {field["name"]: field for field in files.columns.values()}
    partitions = {field["name"]: field for field in map(files.columns.__getitem__, partition_columns)}
    data = {name: field for name, field in fields.items() if name not in partitions}
    if files.version.equality_deletes:
        partitions |= {name: field_json(name, type_) for name, type_ in HIDDEN_NUMBERS.items()}
    if files.deleted.any():
        _check_row_positions(spark)
        data[ROW_POSITION] = field_json(ROW_POSITION, "long")
        partitions[DELETED] = field_json(DELETED, "binary")
    relation = _relation(spark, files, data, partitions)
    return spark._jsparkSession.baseRelationToDataFrame(relation).queryExecution().analyzed()


def _check_names(files: LayoutFiles) -> None:
    hidden = {ROW_POSITION, DELETED, *HIDDEN_NUMBERS}
    for name, field_ in files.columns.items():
        if not hidden.isdisjoint((name, field_["name"])):
            raise InputError(
                f"{files.version.location}: the column {name!r} has a name that is needed to leave out "
                "deleted rows; rename the column"
            )


def _check_types(spark: SparkSession, files: LayoutFiles) -> None:
    widened = files.version.widened
    if widened and int(spark.version.split(".")[0]) < _WIDENING:
        raise InputError(
            f"{files.version.location}: the type of the column {widened[0]!r} was widened, and Spark "
            f"{spark.version} does not read files with the narrower type; use Spark {_WIDENING}"
        )


def _check_row_positions(spark: SparkSession) -> None:
    name = singleton(spark, _PARQUET_FORMAT).ROW_INDEX_TEMPORARY_COLUMN_NAME()
    if name != ROW_POSITION:
        raise InputError(
            f"Spark {spark.version} gives the positions of rows under the name {name}, not {ROW_POSITION}, "
            "so deleted rows cannot be left out; use a release that is known"
        )


def version_index(spark: SparkSession) -> Java:
    """Return an instance of the class of indexes of files."""
    return java_instance(spark, VERSION_INDEX, package=PACKAGE)


def _partition_names(columns: Sequence[str], data: Sequence[str]) -> list[str]:
    """Return names for partition columns that no column in the files has in any letter case."""
    taken = {name.lower() for name in data}
    names = []
    for name in columns:
        while name.lower() in taken:
            name = f"`{name}"
        names.append(name)
        taken.add(name.lower())
    return names


def _relation(spark: SparkSession, files: LayoutFiles, data: Schema, partitions: Schema) -> Java:
    java = jvm(spark)
    java_partitions = struct_type(spark, partitions)
    return java.org.apache.spark.sql.execution.datasources.HadoopFsRelation(
        _index(spark, files, java_partitions, has_deletions=DELETED in partitions),
        java_partitions,
        struct_type(spark, data),
        some(spark, None),
        java.org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat(),
        mapping(spark, list(_OPTIONS.items())),
        spark._jsparkSession,
    )


def _index(spark: SparkSession, files: LayoutFiles, partitions: Java, *, has_deletions: bool) -> Java:
    version, places = files.version, files.places
    name = uuid.uuid4().hex
    ensure_callback_server_started(spark.sparkContext._gateway)
    source = _Deletions(files)
    values: list[pa.ChunkedArray] = [
        version.files.partition_values[column].take(pa.array(places)) for column in version.partition_columns
    ]
    if version.equality_deletes:
        values += [
            pa.chunked_array([pa.array(numbers[places].astype(np.int64))])
            for numbers in (version.files.sequence_numbers, version.files.partition_ids)
        ]
    index = version_index(spark).of(
        name,
        source,
        has_deletions,
        sequence(spark, [jvm(spark).org.apache.hadoop.fs.Path(hadoop_path(version.location))]),
        partitions,
        "\0".join(map(hadoop_path, files.paths)),
        encode_longs(version.files.byte_counts[places]) + encode_longs(version.files.modified_ms[places]),
        encode_columns(values),
    )
    _OPENED[name] = files
    return index


def hadoop_path(path: str) -> str:
    """Return a path as Hadoop reads it; without a scheme, it is of the local disk."""
    return f"file:{path}" if path.startswith("/") else path


class _Deletions:
    """Gives the deleted rows of files to the Java side, when a plan first reads the files.

    py4j holds the object, and so the files, while Java has an index of them.
    """

    Java = java_interface("java.util.function.Function")

    def __init__(self, files: LayoutFiles) -> None:
        """Remember the files."""
        self._files = files

    def apply(self, joined: str) -> bytes:
        """Return the deleted rows of files at places: of each a length, and bits; nothing where none is.

        Args:
            joined: The places among the layout's files, separated by commas.
        """
        files = self._files
        places = [int(text) for text in joined.split(",")]
        deleted = [place for place in places if files.deleted[place]]
        positions = files.version.deleted_rows.positions(files.places[deleted].tolist())
        bits = {
            place: deletion_bits(bitmap) for place, bitmap in zip(deleted, positions, strict=True) if bitmap
        }
        return b"".join(encode_bytes(bits.get(place, b"")) for place in places)


# The files whose indexes Java still has, by the names of these.
_OPENED: weakref.WeakValueDictionary[str, LayoutFiles] = weakref.WeakValueDictionary()


def opened_files(leaf: Java) -> LayoutFiles | None:
    """Return the files of a leaf of a plan, if it reads a version of a table."""
    if simple_name(leaf) != "LogicalRelation":
        return None
    relation = leaf.relation()
    if simple_name(relation) != "HadoopFsRelation" or simple_name(relation.location()) != VERSION_INDEX:
        return None
    return _OPENED.get(relation.location().name())
