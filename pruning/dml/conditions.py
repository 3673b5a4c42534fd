"""Conditions of statements over the block metadata of a table's files."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from pruning.metadata.footers.other_columns import with_other_columns
from pruning.metadata.versioned.table_version import TableVersion
from pruning.rules.sets.truths import Match
from pruning.spark.drive.named_columns import named_columns
from pruning.spark.drive.predicates import classify
from pruning.spark.versioned.schemas import fields_of


def blocks_for(spark: SparkSession, version: TableVersion, conditions: Sequence[str]) -> pa.Table:
    """Return the block metadata of a version's files, of the columns that conditions may name.

    Args:
        spark: The session.
        version: The version.
        conditions: Conditions in Spark SQL.
    """
    fields = fields_of(version.schema)
    needed: set[str] = set()
    for condition in conditions:
        names = named_columns(spark, condition)
        needed.update(name for name in fields if names is None or name in names)
    blocks = version.blocks(frozenset(needed))
    # A predicate may name columns of which nothing is known.
    types = {name: field["type"] for name, field in fields.items()}
    return blocks.cast(with_other_columns(blocks.schema, types))


def may_match(spark: SparkSession, version: TableVersion, places: Sequence[int], condition: str) -> bool:
    """Tell whether some of a version's files may have a row on which a condition is TRUE.

    Args:
        spark: The session.
        version: The version.
        places: The places of the files among the version's.
        condition: The condition in Spark SQL.
    """
    blocks = blocks_for(spark, version, [condition]).take(pa.array(places))
    return bool((classify(condition, blocks).to_numpy() != Match.NONE).any())
