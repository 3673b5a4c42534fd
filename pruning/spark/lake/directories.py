"""Partition columns of files that are given by paths: a directory's name, `day=2024-01-01`, is a column.

Spark infers the columns, their types and values from the names of directories alone. So it is given a copy of
the directories with an empty file in each, and reads neither the data nor its place.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.errors import InputError
from pruning.expressions import types
from pruning.expressions.type_names import type_to_json
from pruning.expressions.types import Type, Value
from pruning.metadata.files.listing import Paths
from pruning.metadata.files.locations import relative_to
from pruning.metadata.footers.other_columns import other_columns_of, with_other_columns
from pruning.metadata.table import points
from pruning.metadata.table.memberships import without_column
from pruning.metadata.table.schema import column_types, columns_only
from pruning.metadata.views.constant_columns import with_constants
from pruning.spark.jvm.gateway import Java
from pruning.spark.lake.nested import top_name
from pruning.spark.lake.tables import Unprunable, parquet_table, partition_values

_FILE = "part-0.parquet"
# The schema that the copies' files are declared to have; none of them is read.
_SCHEMA = "`skipproof has no data here` int"

# A directory: the ordinal of the user's path that it is below, and its path relative to that one.
_Directory = tuple[int, str]
_Values = Mapping[_Directory, Value | None]


def with_directory_columns(spark: SparkSession, metadata: pa.Table, paths: Paths) -> pa.Table:
    """Return block metadata with the partition columns of its files, as Spark infers them.

    A partition column hides a column of the files with the same name. If its values are not known for sure,
    the column is declared without values.

    Args:
        metadata: What `collect` gives of the paths.
        paths: As `collect` takes them. Only the directories below a path name columns, as in Spark.
    """
    files = metadata.column("file").unique().to_pylist()
    if not any("=" in file for file in files):
        return metadata
    roots = [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    places = {file: _directory_of(file, roots) for file in files}
    sure = {file: place for file, place in places.items() if place is not None}
    if len(sure) < len(places):
        return _declare_columns(
            spark, metadata, _columns_by_spelling(file.rpartition("/")[0] for file in files)
        )
    if not any("=" in directory for _, directory in sure.values()):
        return metadata
    column_values: dict[str, _Values] = {}
    try:
        columns, column_values = _infer_partitions(spark, list(dict.fromkeys(sure.values())))
    except (OSError, Unprunable, PySparkException, Py4JError):
        # Spark would not read the directories together because they do not agree, or they cannot be copied.
        columns = _columns_by_spelling(directory for _, directory in sure.values())
    metadata = _declare_columns(spark, metadata, columns)
    for name, values in column_values.items():
        of_blocks = [values[sure[file]] for file in metadata.column("file").to_pylist()]
        try:
            metadata = with_constants(metadata, name, columns[name], of_blocks)
        except InputError:
            # Arrow cannot hold a value, such as a string that is not UTF-8, so the column stays unknown.
            continue
    return metadata


def _directory_of(file: str, roots: Sequence[str]) -> _Directory | None:
    """Return the directory of a file; None if the file is not below exactly one of the user's paths."""
    places = set()
    for ordinal, root in enumerate(roots):
        relative = "" if file == root else relative_to(root, file)
        if relative is not None:
            places.add((ordinal, relative.rpartition("/")[0]))
    return places.pop() if len(places) == 1 else None


def _columns_by_spelling(directories: Iterable[str]) -> dict[str, Type]:
    """Return the columns that the names of directories may mean, all as strings, as types are unknown."""
    parts = dict.fromkeys(part for directory in directories for part in directory.split("/") if "=" in part)
    return {unquote(part.partition("=")[0]): types.STRING for part in parts}


def _infer_partitions(
    spark: SparkSession, places: Sequence[_Directory]
) -> tuple[dict[str, Type], dict[str, _Values]]:
    """Return the partition columns with their types, and the known values of each in each directory.

    Raises:
        PySparkException, Py4JError: the directories do not agree.
        OSError: their names cannot be copied.
        Unprunable: Spark does not read the copy as a plain Parquet table.
    """
    with tempfile.TemporaryDirectory() as copy:
        home = os.path.realpath(copy)
        for ordinal, directory in places:
            Path(home, str(ordinal), directory).mkdir(parents=True, exist_ok=True)
            Path(home, str(ordinal), directory, _FILE).touch()
        used = sorted({ordinal for ordinal, _ in places})
        table = parquet_table(spark, _relation_over(spark, [f"{home}/{ordinal}" for ordinal in used]), ())
        values = partition_values(table, list(table.partition_columns))
        order = [_copied_directory(file, home) for file in table.files]
    if len(set(order) & set(places)) < len(places):
        # Spark ignores a directory, such as one without a partition beside partitions.
        values = {}
    return dict(table.partition_columns), {
        name: dict(zip(order, of_files, strict=True)) for name, of_files in values.items()
    }


def _relation_over(spark: SparkSession, directories: Sequence[str]) -> Java:
    return spark.read.schema(_SCHEMA).parquet(*directories)._jdf.queryExecution().analyzed()


def _copied_directory(uri: str, home: str) -> _Directory:
    """Return the directory of the user's that a file in the copy stands for."""
    ordinal, _, relative = unquote(uri).partition(f"{home}/")[2].partition("/")
    return int(ordinal), relative.rpartition("/")[0]


def _declare_columns(spark: SparkSession, metadata: pa.Table, columns: Mapping[str, Type]) -> pa.Table:
    """Return the metadata with columns declared by name and type alone; they hide others of the same name."""
    fold = str if spark.conf.get("spark.sql.caseSensitive") == "true" else str.lower
    hidden = {fold(name) for name in columns}
    others = {
        name: type_ for name, type_ in other_columns_of(metadata.schema).items() if fold(name) not in hidden
    }
    others |= {name: type_to_json(type_) for name, type_ in columns.items()}
    names = list(column_types(metadata))
    kept = [name for name in names if fold(top_name(name)) not in hidden]
    for name in set(names) - set(kept):
        metadata = points.without_column(without_column(metadata, name), name)
    metadata = columns_only(metadata, kept)
    return metadata.replace_schema_metadata(with_other_columns(metadata.schema, others).metadata)
