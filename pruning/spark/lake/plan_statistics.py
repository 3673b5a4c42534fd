"""Statistics of a narrowed table for Spark's optimizer, which believes those of the catalog if there are any.

Spark estimates a table by the sizes of its files, so that what is left of a narrowed one is small. But where
ANALYZE TABLE has stored statistics in the catalog, it takes these, which are of the whole table. Spark itself
replaces them when it leaves out partitions.
"""

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pruning.spark.jvm.compiling import java_instance
from pruning.spark.jvm.gateway import Java

_STATISTICS = "NarrowedStatistics"
# Where the number of rows is not known.
_UNKNOWN = -1


def with_own_statistics(spark: SparkSession, leaf: Java, rows: int | None) -> Java:
    """Return a Parquet leaf whose catalog's statistics, if it has some, are those of what it reads.

    Args:
        spark: The session.
        leaf: A `LogicalRelation` of a narrowed table.
        rows: The rows that it reads, about; None is unknown.
    """
    if not leaf.catalogTable().isDefined():
        return leaf
    try:
        return java_instance(spark, _STATISTICS).of(leaf, _UNKNOWN if rows is None else rows)
    except Py4JError:
        # This release of Spark keeps its statistics in another way, so that those of the whole table stay.
        return leaf
