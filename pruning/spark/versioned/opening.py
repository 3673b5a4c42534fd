"""Opening of tables by their directories: of a version of Delta Lake or Iceberg, or of Parquet files."""

import os
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pruning.arguments import describe_value
from pruning.errors import InputError, MissingPackage
from pruning.metadata.files.listing import texts_of_paths
from pruning.metadata.files.locations import is_on_local_disk
from pruning.metadata.files.table_formats import DELTA, ICEBERG, table_format
from pruning.metadata.store.past import microseconds
from pruning.metadata.versioned.table_version import TableVersion
from pruning.spark.lake.hadoop_files import HadoopFiles
from pruning.spark.lake.stored_tables import stored_frame
from pruning.spark.versioned.frames import version_frame

_METADATA_FILE = ".metadata.json"
_TIME_ZONE = "spark.sql.session.timeZone"


def table(
    spark: SparkSession,
    path: str | os.PathLike[str],
    *,
    version: int | str | None = None,
    timestamp: Any = None,
) -> DataFrame:
    """Open a table without listing its files: a version of Delta Lake or Apache Iceberg, or Parquet files.

    Of a table of Delta Lake (its directory has `_delta_log`) or of Iceberg (it has `metadata`), the DataFrame
    has the live rows of one version, read by Spark's own reader of Parquet: Spark needs no package of the
    format. `prune` narrows its queries by the version's own metadata, and opens no footer to decide about
    files.

    Of any other directory, the DataFrame has the rows of the Parquet files that the table had when
    `pruning.collect` or `skipproof index` last listed it. Of a table of very many files, `prune` searches the
    kept metadata with the query's own filter, and Spark is told of the files that are left only.

    Args:
        spark: The session.
        path: The table's directory, a local path or a URI; of Iceberg also one of its metadata files.
        version: A version of Delta Lake; or the id of a snapshot of Iceberg, or the name of a branch or a
            tag. None is the newest.
        timestamp: A time, as `pruning.collect` takes it for `as_of`: the newest version until then.
    Returns:
        The table; of Parquet files with the schema of the first file and the columns of the partitions.
    Raises:
        InputError: an argument is of another type; there is no such version, or it is damaged or uses a
            feature of its format that is not known; or, of Parquet files, the directory was never listed, or
            not as a whole when it was listed last, or what is kept of it is damaged, or a version is named.
        MissingPackage: the extra `delta` or `iceberg` is not installed.
    Warns:
        UserWarning: the directory is a Hudi table, whose removed files are read too.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> for x in range(3):
        ...     pq.write_table(pa.table({"x": [x]}), f"{folder.name}/{x}.parquet")
        >>> blocks = pruning.collect(folder.name)
        >>> pruning.prune(pruning.table(spark, folder.name).where("x > 1")).collect()
        [Row(x=2)]
    """
    if not isinstance(spark, SparkSession) or not hasattr(spark, "_jsparkSession"):
        raise InputError(
            f"A {type(spark).__name__} was given where a Spark session of this process is needed."
        )
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"The path is {describe_value(path)}; name the directory of a table")
    (path,) = texts_of_paths(path)
    if version is not None and timestamp is not None:
        raise InputError(f"{path}: version and timestamp are both given; give one of them")
    _check_version(version)
    timestamp_us = None if timestamp is None else microseconds(timestamp, "timestamp")
    match _format_of(spark, path):
        case format_ if format_ == DELTA:
            return version_frame(spark, _delta_version(spark, path, version, timestamp_us))
        case format_ if format_ == ICEBERG:
            return version_frame(spark, _iceberg_version(path, version, timestamp_us))
    if version is not None or timestamp is not None:
        raise InputError(
            f"{path}: is no table of Delta Lake or Iceberg, so it has no versions; leave version and "
            "timestamp out, and give `prune` a time as as_of"
        )
    return stored_frame(spark, path)


def _check_version(version: Any) -> None:
    is_number = isinstance(version, int) and not isinstance(version, bool) and version >= 0
    if not (version is None or is_number or (isinstance(version, str) and version)):
        raise InputError(
            f"version is {describe_value(version)}; give the number of a version, or of Iceberg a snapshot's "
            "id or the name of a branch or a tag"
        )


def _format_of(spark: SparkSession, path: str) -> str | None:
    if path.endswith(_METADATA_FILE):
        return ICEBERG
    has_markers = None if is_on_local_disk(path) else HadoopFiles(spark).has_markers
    return table_format(path, has_markers=has_markers)


def _delta_version(
    spark: SparkSession, path: str, version: int | str | None, timestamp_us: int | None
) -> TableVersion:
    if isinstance(version, str):
        raise InputError(f"{path}: version is {version!r}; the versions of Delta Lake are numbers")
    try:
        from pruning.metadata.delta.opening import open_delta_version
    except ImportError as error:
        raise _missing(error, "delta") from error
    zone = spark.conf.get(_TIME_ZONE)
    return open_delta_version(path, version=version, timestamp_us=timestamp_us, zone=zone)


def _iceberg_version(path: str, version: int | str | None, timestamp_us: int | None) -> TableVersion:
    try:
        from pruning.metadata.iceberg.opening import open_iceberg_version
    except ImportError as error:
        raise _missing(error, "iceberg") from error
    return open_iceberg_version(path, version=version, timestamp_us=timestamp_us)


def _missing(error: ImportError, extra: str) -> MissingPackage:
    return MissingPackage(
        f"Versions of tables need the package {error.name}, which is not installed for this Python: run "
        f"`pip install 'skipproof[{extra}]'`."
    )
