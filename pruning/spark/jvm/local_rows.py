"""Leaves of plans that hold their rows themselves."""

from pyspark.sql import SparkSession

from pruning.spark.jvm.gateway import Java, jvm, some

_LOCAL_RELATION = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"


def local_relation(spark: SparkSession, output: Java, rows: Java) -> Java:
    """Return a leaf that holds rows itself.

    Args:
        spark: The session.
        output: Scala's sequence of the leaf's attributes.
        rows: Scala's sequence of internal rows.
    """
    java = jvm(spark)
    constructor = java.java.lang.Class.forName(_LOCAL_RELATION).getConstructors()[0]
    optional_arguments = [output, rows, False, some(spark, None)]
    # Spark 4.1 added the last argument.
    arguments = optional_arguments[: constructor.getParameterCount()]
    return java.org.apache.spark.sql.catalyst.plans.logical.LocalRelation(*arguments)
