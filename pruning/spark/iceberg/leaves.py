"""Leaves of plans that read tables of Iceberg, and the leaves that take their places.

While Spark optimizes a plan to decide, a *stand-in* takes the place of each leaf: a table of the same
columns, into which Spark pushes nothing. So all conditions of the query stay above the leaf, also those that
Iceberg would have answered alone. What runs in the end is a leaf over *staged* files, which Iceberg reads.
"""

import uuid
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from pruning.spark.iceberg.java_side import (
    FIXED_TABLES,
    JAVA_ERRORS,
    LEAVES,
    REFRESHED_TABLES,
    java_side,
    reason_of,
)
from pruning.spark.jvm.gateway import Java, class_name, jvm, simple_name, with_element
from pruning.spark.lake.tables import Unprunable, leaf_attributes

RELATION, SCANNED = "DataSourceV2Relation", "DataSourceV2ScanRelation"
_SOURCE = "org.apache.iceberg.spark.source"
_CATALOG_TABLE = f"{_SOURCE}.SparkTable"
_PINNED_TABLE = "PinnedTable"
_TASK_SET = "scan-task-set-id"
# The options that choose a snapshot; the table has only the chosen one.
_SNAPSHOT_OPTIONS = ("snapshot-id", "as-of-timestamp", "branch", "tag")
# The places of constructor arguments of a `DataSourceV2Relation`.
_TABLE, _OUTPUT, _OPTIONS = 0, 1, 4
# The first release of Spark that loads the tables of a plan anew before it runs.
_REFRESHING = (4, 1)


def is_iceberg_leaf(leaf: Java) -> bool:
    """Tell whether a leaf of an analyzed plan reads a table of Iceberg whose files can be chosen."""
    return simple_name(leaf) == RELATION and _reason_of_relation(leaf) is None


def stand_in(spark: SparkSession, leaf: Java, options: Mapping[str, str]) -> Java:
    """Return the leaf that takes the place of a leaf of the analyzed plan while Spark optimizes the plan.

    Args:
        spark: The session.
        leaf: The leaf, or one over staged files.
        options: More options, which the optimizer's copies of the leaf keep.
    Raises:
        Unprunable: Iceberg cannot tell what the leaf reads.
    """
    if simple_name(leaf.table()) == _PINNED_TABLE:
        return _relation(spark, leaf, leaf.table(), options)
    try:
        newest = _newest(spark, leaf)
        java = java_side(spark, LEAVES, newest.table())
        reads = _table_reads(spark, java)
        pinned = java.pin(reads, spark._jsparkSession, newest.table(), newest.options())
    except JAVA_ERRORS as error:
        raise Unprunable(reason_of(error)) from error
    return _relation(spark, leaf, pinned, options)


def _newest(spark: SparkSession, leaf: Java) -> Java:
    """Return a leaf of the analyzed plan over the version of its table that a query would read now."""
    if tuple(map(int, spark.version.split(".")[:2])) < _REFRESHING:
        return leaf
    refreshing = jvm(spark).org.apache.spark.sql.execution.datasources.v2.V2TableRefreshUtil
    return refreshing.refresh(spark._jsparkSession, leaf, True)


def _table_reads(spark: SparkSession, leaves: Java) -> Java:
    """Return the class that reads tables as Iceberg's module for this Spark has them."""
    try:
        return java_side(spark, REFRESHED_TABLES, leaves)
    except Unprunable:
        return java_side(spark, FIXED_TABLES, leaves)


def is_stand_in(leaf: Java) -> bool:
    """Tell whether a leaf of an optimized plan is a stand-in."""
    return is_pinned(leaf) and not leaf.relation().table().isStaged()


def is_pinned(leaf: Java) -> bool:
    """Tell whether a leaf of an optimized plan is a stand-in, or reads staged files."""
    return simple_name(leaf) == SCANNED and simple_name(leaf.relation().table()) == _PINNED_TABLE


def staged_leaf(spark: SparkSession, leaf: Java, planned: Java, places: Sequence[int]) -> Java:
    """Return a leaf with the same attributes that reads some planned files.

    Args:
        spark: The session.
        leaf: A stand-in in an optimized plan, or a leaf of the analyzed plan.
        planned: The Java side's planned files.
        places: The places of the files among them, at least one.
    """
    set_id = f"skipproof-{uuid.uuid4()}"
    staged = planned.stage(set_id, ",".join(map(str, places)))
    relation = leaf
    if simple_name(leaf) == SCANNED:
        relation = with_element(spark, leaf.relation(), _OUTPUT, leaf.output())
    return _relation(spark, relation, staged, {_TASK_SET: set_id})


def is_iceberg_scan(leaf: Java) -> bool:
    """Tell whether a leaf of an optimized plan reads a table of Iceberg in any way."""
    return is_pinned(leaf) or (
        simple_name(leaf) == SCANNED and class_name(leaf.relation().table()).startswith(_SOURCE)
    )


def reason_to_leave(spark: SparkSession, leaf: Java) -> str:
    """Return why a leaf of an optimized plan that reads a table of Iceberg is left as it is."""
    reason = _reason_of_relation(leaf.relation())
    if reason is not None:
        return reason
    try:
        stand_in(spark, leaf.relation(), {})
    except Unprunable as unprunable:
        return str(unprunable)
    return "it is read in a way that is not known"


def _reason_of_relation(relation: Java) -> str | None:
    """Return why the files of a relation, if it is one of Iceberg, cannot be chosen; None if they can."""
    table = relation.table()
    if simple_name(table) == _PINNED_TABLE:
        return "its files were chosen already"
    if class_name(table) != _CATALOG_TABLE:
        return f"{simple_name(table)} of Iceberg reads no plain table"
    if simple_name(table.table()) != "BaseTable":
        return f"{simple_name(table.table())} is one of Iceberg's metadata tables"
    for attribute in leaf_attributes(relation):
        if attribute.describes_files:
            return f"the query reads hidden columns of files, such as {attribute.name}"
    return None


def _relation(spark: SparkSession, relation: Java, table: Java, options: Mapping[str, str]) -> Java:
    """Return a copy of a relation over another table, with more options and none that chooses a snapshot."""
    java = jvm(spark)
    united = java.java.util.HashMap(relation.options().asCaseSensitiveMap())
    # To iterate over a map of Java takes a call for each step.
    if any(relation.options().containsKey(name) for name in _SNAPSHOT_OPTIONS):
        for name in [key for key in united if key.lower() in _SNAPSHOT_OPTIONS]:
            united.remove(name)
    for name, value in options.items():
        united.put(name, value)
    text_map = java.org.apache.spark.sql.util.CaseInsensitiveStringMap(united)
    # The table states no version, and so Spark does not load another one in its place.
    return with_element(spark, with_element(spark, relation, _TABLE, table), _OPTIONS, text_map)
