"""A query over tables as they were at an earlier time: each leaf reads the files that its table held then."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pruning.errors import InputError
from pruning.metadata.files.listing import list_files
from pruning.metadata.files.locations import is_on_local_disk, locate, to_uri
from pruning.metadata.store.collecting import changed_files
from pruning.metadata.store.past import files_as_of
from pruning.metadata.store.store import open_store
from pruning.spark.drive.analyzed_plans import AnalyzedPlan
from pruning.spark.iceberg.leaves import is_iceberg_leaf
from pruning.spark.jvm.gateway import Java, dataframe, simple_name
from pruning.spark.lake.leaf_copies import with_files
from pruning.spark.lake.tables import Unprunable, leaf_attributes, parquet_table
from pruning.spark.versioned.layouts import opened_files

# Leaves that give the same rows at any time.
_TIMELESS = frozenset({"LocalRelation", "OneRowRelation", "Range", "CTERelationRef"})


def frame_as_of(df: DataFrame, as_of: Any) -> DataFrame:
    """Return a query over the tables that it reads as they were at a time.

    Args:
        df: A query over directories of Parquet files.
        as_of: As for `pruning.collect`.
    Raises:
        InputError: as `files_as_of`; or the query reads something else, or it lists not all files of a
            directory.
    """
    if df.isStreaming:
        raise InputError("A stream has no earlier state; give a query without streams, or no as_of.")
    plan = AnalyzedPlan.of(df)
    for leaf in plan.other_leaves():
        if simple_name(leaf) not in _TIMELESS:
            raise InputError(
                f"{simple_name(leaf)} has no earlier state; as_of is for queries that read directories of "
                "Parquet files, and nothing that is cached."
            )
    leaves = {number: _leaf_as_of(df.sparkSession, leaf, as_of) for number, leaf in enumerate(plan.leaves)}
    java = plan.with_leaves({number: leaf for number, leaf in leaves.items() if leaf is not None})
    return df if java is plan.java else dataframe(df.sparkSession, java)


def _leaf_as_of(spark: SparkSession, leaf: Java, as_of: Any) -> Java | None:
    """Return the leaf that reads the files of that time; None where it reads no others already.

    Raises:
        InputError: as `frame_as_of`.
    """
    if is_iceberg_leaf(leaf):
        raise InputError(
            "as_of is about directories of Parquet files; a table of Iceberg tells its versions itself: "
            "write VERSION AS OF or TIMESTAMP AS OF in the query."
        )
    if opened_files(leaf) is not None:
        raise InputError(
            "as_of is about directories of Parquet files; `pruning.table` opens a table of Delta Lake or "
            "Iceberg at another version, by its argument version or timestamp."
        )
    try:
        table = parquet_table(spark, leaf, leaf_attributes(leaf))
        if len(table.roots) != 1:
            raise InputError("as_of is about whole tables; give a query over one directory for each table")
        root = to_uri(table.roots[0])
        if not is_on_local_disk(root):
            raise InputError(f"{root}: is not local, and as_of is about local tables; leave as_of out")
        listing = list_files(root, patterns=False)
        listing = files_as_of(listing, open_store(listing), as_of)
        by_path = dict(zip((locate(file)[1] for file in table.files), table.files, strict=True))
        stamps = dict(zip(by_path, table.listed.stamps, strict=True))
        for listed in listing.files:
            if listed.path not in by_path:
                raise InputError(f"{listed.file}: is not read by the DataFrame; make it anew")
        changed = changed_files(listing.files, [stamps[listed.path] for listed in listing.files])
        if changed:
            raise InputError(next(iter(changed.values())))
        kept = [by_path[listed.path] for listed in listing.files]
        return None if len(kept) == len(table.files) else with_files(spark, table, kept)
    except Unprunable as reason:
        raise InputError(f"A table has no earlier state that can be read: {reason}") from reason
