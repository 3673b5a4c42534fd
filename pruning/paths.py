"""Block metadata of the files at paths, which Arrow or a Spark session reads."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pruning.arguments import LEVELS, check_option, check_texts, describe_value
from pruning.errors import InputError
from pruning.metadata.files.listing import Paths
from pruning.metadata.files.object_stores import listing_once
from pruning.metadata.pages.page_blocks import page_blocks
from pruning.metadata.store import collecting, system_table
from pruning.metadata.table.partial import top_columns
from pruning.metadata.table.reading import SessionFiles


def collect(
    paths: Paths,
    *,
    spark: Any = None,
    columns: Sequence[str] | None = None,
    cache: bool = True,
    verify: bool = False,
    as_of: Any = None,
    level: str = "row_group",
) -> pa.Table:
    """Collect the block metadata of Parquet files: a row per row group, in file order, then row-group order.

    By pages, it is a row per run of rows that no page boundary of the wanted columns cuts: pages of different
    columns do not align, so a run begins where a page of any of them does. A row group without page indexes
    is one run, as is one whose indexes are damaged or not believed.

    Args:
        paths: A file, a directory (searched at any depth; hidden names are skipped, as Spark does), a
            pattern as Hadoop and Spark read it (`*`, `?`, `[ab]`, `{a,b}`), or a sequence of them; local
            paths or URIs.
        spark: A session whose Hadoop file systems list and read what Arrow cannot, such as `viewfs:`, and
            that reads the footers if there are very many files.
        columns: The columns whose statistics are wanted, by their exact names in the files; None is all. A
            struct or an array stands for all that is in it. Of what is kept, only these are read.
        cache: Whether to use and update what is kept beside the data, as `pruning.metadata.store.store`
            describes.
        verify: Whether to read every footer and to compare it with what is kept.
        as_of: A time in the past: a `datetime`, its text, or seconds since 1970. The table is given as it was
            at the last time until then when the whole directory was collected; `paths` is that directory.
        level: "row_group" or "page". By pages, the page indexes of the wanted columns are read from the files
            each time; those of elements of arrays are not used. `pruning.metadata.pages.run_blocks` says what
            is known of a run. A row group without rows has none. `plan_delete` and its like take row groups.
    Returns:
        A table as `pruning.metadata.table.schema` describes, with what `pruning.index` and
        `pruning.backfill` stored beside the data, if `cache` and the files have not changed since. `file` is
        the path as it was given, or the directory as it was given followed by the relative path.
    Raises:
        InputError: an argument is of another type, a path is missing, holds no data, or is no readable
            Parquet file; one of `columns` is in no file; with `verify`, the kept metadata of a file is not
            that of its footer; or, with `as_of`, a file at that time is not known, or gone.
    Warns:
        UserWarning: a directory is a Delta Lake, Iceberg or Hudi table, whose removed files are read too.
        SkippedFileWarning: a directory holds files that are not Parquet; they are left out.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> options = {"write_page_index": True, "data_page_size": 1, "write_batch_size": 3}
        >>> pq.write_table(pa.table({"x": [1, 2, 3, 7, 8, 9]}), f"{folder.name}/t.parquet", **options)
        >>> [block["x"]["max"] for block in pruning.collect(folder.name)["columns"].to_pylist()]
        [9]
        >>> runs = pruning.collect(folder.name, level="page")
        >>> [(run["x"]["min"], run["x"]["max"]) for run in runs["columns"].to_pylist()]
        [(1, 3), (7, 9)]
    """
    check_option("level", level, LEVELS)
    if columns is not None:
        check_texts("columns", columns)
    wanted = None if columns is None else frozenset(columns)
    with listing_once():
        metadata = collecting.collect(
            paths,
            spark=spark,
            session=_session_files(spark),
            choose_columns=lambda: wanted,
            cache=cache,
            verify=verify,
            as_of=as_of,
        )
    _check_columns(wanted or frozenset(), metadata)
    return page_blocks(metadata, cache=cache) if level == "page" else metadata


def _check_columns(wanted: frozenset[str], metadata: pa.Table) -> None:
    missing = sorted(wanted - top_columns(metadata))
    if missing:
        raise InputError(
            f"The column {missing[0]!r} is in no file; give the exact names of columns in the files."
        )


def blocks(
    paths: Paths, *, spark: Any = None, columns: Sequence[str] | None = None, as_of: Any = None
) -> pa.Table:
    """Return the block metadata of Parquet files as a table with a row for each row group and column.

    Args:
        paths: As for `pruning.collect`.
        spark: As for `pruning.collect`.
        columns: The columns to show, by their exact names in block metadata; None is all of known types.
        as_of: As for `pruning.collect`.
    Returns:
        A table as `pruning.metadata.store.system_table` describes: by files, row groups and columns, in
        their orders.
    Raises:
        InputError: as `pruning.collect`; or a column is in no file.
    Warns:
        UserWarning, SkippedFileWarning: as `pruning.collect`.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"x": [1, 2, 8, 9]}), f"{folder.name}/t.parquet", row_group_size=2)
        >>> table = pruning.blocks(folder.name)
        >>> table.select(["row_group", "column", "min", "max", "null_count"]).to_pylist()[1]
        {'row_group': 1, 'column': 'x', 'min': '8', 'max': '9', 'null_count': 0}
    """
    session = _session_files(spark)
    with listing_once():
        return system_table.blocks(paths, session=session, columns=columns, as_of=as_of)


def _session_files(spark: Any) -> SessionFiles | None:
    """Return the files that a session in this process reaches; None without one.

    Raises:
        InputError: `spark` is no session.
    """
    if spark is None or type(spark).__module__.startswith("pyspark.sql.connect"):
        return None
    if not hasattr(spark, "_jsparkSession"):
        raise InputError(f"spark is {describe_value(spark)}; give a SparkSession, or leave it out")
    # Without a session, PySpark need not be installed.
    from pruning.spark.lake.hadoop_files import HadoopFiles

    return HadoopFiles(spark)
