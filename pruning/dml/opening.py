"""Opening of the tables that statements change."""

import os
from typing import Any

from pyspark.sql import SparkSession

from pruning.arguments import describe_value
from pruning.dml.targets import Target
from pruning.errors import InputError
from pruning.metadata.files.listing import texts_of_paths
from pruning.metadata.files.locations import path_below
from pruning.metadata.files.table_formats import arrow_has_markers
from pruning.metadata.iceberg.manifests import require_pyiceberg


def open_target(spark: SparkSession, table: Any) -> Target:
    """Return the newest version of a table that a statement changes.

    Args:
        spark: The session.
        table: The directory of a table of Delta Lake, or of one of Iceberg without a catalog; or the table
            that PyIceberg loads from a catalog.
    Raises:
        InputError: there is none, or it cannot be read.
        MissingPackage: PyIceberg is needed and not installed.
    """
    if not isinstance(table, str | os.PathLike) and not hasattr(table, "metadata_location"):
        raise InputError(
            f"The table is {describe_value(table)}; name its directory, or give a table that PyIceberg loads"
        )
    # Each of the two needs packages that the other does not.
    if isinstance(table, str | os.PathLike):
        (table,) = texts_of_paths(table)
        (is_delta,) = arrow_has_markers([(path_below(table, "_delta_log"), "")])
        if is_delta:
            from pruning.dml.delta_targets import DeltaTarget

            return DeltaTarget.open(spark, table)
    require_pyiceberg()
    from pruning.dml.iceberg_targets import IcebergTarget

    return IcebergTarget.open(table)
