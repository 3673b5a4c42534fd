"""The filter of a leaf that leaves out the rows which were deleted by their positions."""

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from pruning.spark.jvm.gateway import Java, elements, jvm, sequence, simple_name, singleton, some
from pruning.spark.versioned.layouts import DELETED, ROW_POSITION

_TYPES = "org.apache.spark.sql.types"
_STATIC_INVOKE = "org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke"


def without_deleted_positions(spark: SparkSession, leaf: Java) -> Java:
    """Return the rows of a leaf that are not deleted by their positions; the leaf itself if none is.

    The filter calls a class of RoaringBitmap, which Spark itself needs, so that no class of ours must be
    where its tasks run.
    """
    by_name = {attribute.name(): attribute for attribute in elements(leaf.output())}
    if DELETED not in by_name:
        return leaf
    deleted = by_name[DELETED]
    java = jvm(spark)
    catalyst = java.org.apache.spark.sql.catalyst.expressions
    mode = singleton(spark, "org.apache.spark.sql.catalyst.expressions.EvalMode").ANSI()
    integer = singleton(spark, f"{_TYPES}.IntegerType")
    # Beyond the first 2^31 rows of a file, the cast fails: it must not give the position of another row.
    position = catalyst.Cast(by_name[ROW_POSITION], integer, some(spark, None), mode)
    is_deleted = _call(spark, _bitmap(spark, deleted), "contains", position)
    condition = catalyst.Or(catalyst.IsNull(deleted), catalyst.Not(is_deleted))
    return java.org.apache.spark.sql.catalyst.plans.logical.Filter(condition, leaf)


def query_conditions(conditions: Sequence[Java], deleted_ids: frozenset[int]) -> list[Java]:
    """Return the conditions of a query without the filters that `without_deleted_positions` has added.

    Claim     A live row satisfies all of `conditions` if and only if it satisfies all that are returned.
    Premises  Block metadata and its counts are of live rows. Only a filter of ours can name the column of
              deleted rows, which the DataFrame does not give.
    Proof     (1) A conjunct `deleted IS NULL OR NOT f(...)`, whose first part names that column, is our
              filter: it is TRUE on each live row, and its conjunction with anything is that.
    Unsound   if a disjunction of ours with a condition of the query is left out, as some optimizer rule
              might make it: it has not that form, and so it stays, as one of which nothing is known.

    Args:
        conditions: Conditions of Catalyst, right above the leaf.
        deleted_ids: The expression ids of the column of deleted rows; empty where there is none.
    """
    if not deleted_ids:
        return list(conditions)
    parts = [part for condition in conditions for part in _conjuncts(condition)]
    return [part for part in parts if not _is_own_filter(part, deleted_ids)]


def _is_own_filter(part: Java, deleted_ids: frozenset[int]) -> bool:
    if (
        simple_name(part) != "Or"
        or simple_name(part.left()) != "IsNull"
        or simple_name(part.right()) != "Not"
    ):
        return False
    column, call = part.left().child(), part.right().child()
    return (
        simple_name(column) == "AttributeReference"
        and int(column.exprId().id()) in deleted_ids
        and simple_name(call) == "Invoke"
    )


def _conjuncts(condition: Java) -> Iterator[Java]:
    pending = [condition]
    while pending:
        part = pending.pop()
        if simple_name(part) == "And":
            pending += [part.right(), part.left()]
        else:
            yield part


def _bitmap(spark: SparkSession, deleted: Java) -> Java:
    """Return the bitmap that bytes describe."""
    java = jvm(spark)
    objects = java.org.apache.spark.sql.catalyst.expressions.objects
    buffers = java.java.lang.Class.forName("java.nio.ByteBuffer")
    bitmaps = java.java.lang.Class.forName("org.roaringbitmap.buffer.ImmutableRoaringBitmap")
    types = java.org.apache.spark.sql.types
    constructor = java.java.lang.Class.forName(_STATIC_INVOKE).getConstructors()[0]
    nothing = sequence(spark, [])
    arguments = [
        buffers, types.ObjectType(buffers), "wrap", sequence(spark, [deleted]), nothing, True, False, True,
        some(spark, None),
    ]  # fmt: skip
    # Spark 4.0 added the last argument.
    buffer = objects.StaticInvoke(*arguments[: constructor.getParameterCount()])
    new = singleton(spark, "org.apache.spark.sql.catalyst.expressions.objects.NewInstance")
    return new.apply(bitmaps, sequence(spark, [buffer]), types.ObjectType(bitmaps), False)


def _call(spark: SparkSession, target: Java, method: str, argument: Java) -> Java:
    objects = jvm(spark).org.apache.spark.sql.catalyst.expressions.objects
    boolean = singleton(spark, f"{_TYPES}.BooleanType")
    nothing = sequence(spark, [])
    return objects.Invoke(target, method, boolean, sequence(spark, [argument]), nothing, True, False, True)
