"""The filter of a leaf that leaves out the rows which were deleted by their positions."""

import functools
from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from pruning.spark.jvm.gateway import Java, elements, jvm, sequence, simple_name, singleton, some
from pruning.spark.versioned.deletion_bits import GROUP_BITS
from pruning.spark.versioned.layouts import DELETED, ROW_POSITION

_STATIC_INVOKE = "org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke"


def without_deleted_positions(spark: SparkSession, leaf: Java) -> Java:
    """Return the rows of a leaf that are not deleted by their positions; the leaf itself if none is.

    The filter reads `deletion_bits` by a class of Java's own, so that no class of ours must be where Spark's
    tasks run.
    """
    by_name = {attribute.name(): attribute for attribute in elements(leaf.output())}
    if DELETED not in by_name:
        return leaf
    deleted = by_name[DELETED]
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    mode = singleton(spark, "org.apache.spark.sql.catalyst.expressions.EvalMode").ANSI()
    # Beyond the first 2^31 rows of a file, the cast fails: it must not give the position of another row.
    position = catalyst.Cast(by_name[ROW_POSITION], _type(spark, "Integer"), some(spark, None), mode)
    live = _live_conditions(spark, _buffer(spark, deleted), position)
    condition = functools.reduce(catalyst.Or, live, catalyst.IsNull(deleted))
    return jvm(spark).org.apache.spark.sql.catalyst.plans.logical.Filter(condition, leaf)


def _live_conditions(spark: SparkSession, buffer: Java, position: Java) -> list[Java]:
    """Return two conditions: the group of a row has no bits, and the bit of a row is not set."""
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions

    def number(value: int) -> Java:
        return catalyst.Literal.create(value, _type(spark, "Integer"))

    group = catalyst.ShiftRight(position, number(GROUP_BITS))
    count = _number_at(spark, buffer, "getInt", "Integer", number(0))
    place = catalyst.ShiftLeft(catalyst.Add(group, number(1)), number(2))
    start = _number_at(spark, buffer, "getInt", "Integer", place)
    in_group = catalyst.BitwiseAnd(position, number((1 << GROUP_BITS) - 1))
    byte = _number_at(
        spark, buffer, "get", "Byte", catalyst.Add(start, catalyst.ShiftRight(in_group, number(3)))
    )
    mode = singleton(spark, "org.apache.spark.sql.catalyst.expressions.EvalMode").ANSI()
    bits = catalyst.ShiftRight(
        catalyst.Cast(byte, _type(spark, "Integer"), some(spark, None), mode),
        catalyst.BitwiseAnd(position, number(7)),
    )
    is_unset = catalyst.EqualTo(catalyst.BitwiseAnd(bits, number(1)), number(0))
    return [catalyst.GreaterThanOrEqual(group, count), is_unset]


def query_conditions(conditions: Sequence[Java], deleted_ids: frozenset[int]) -> list[Java]:
    """Return the conditions of a query without the filters that `without_deleted_positions` has added.

    Claim     A live row satisfies all of `conditions` if and only if it satisfies all that are returned.
    Premises  Block metadata and its counts are of live rows. Only a filter of ours can name the column of
              deleted rows, which the DataFrame does not give.
    Proof     (1) A disjunction whose parts all name that column, and one of which is `deleted IS NULL`, is
              our filter: it is TRUE on each live row, and its conjunction with anything is that.
    Unsound   if a disjunction of ours with a condition of the query is left out, as some optimizer rule
              might make it: a part of it does not name the column, and so it stays, as one of which nothing
              is known.

    Args:
        conditions: Conditions of Catalyst, right above the leaf.
        deleted_ids: The expression ids of the column of deleted rows; empty where there is none.
    """
    if not deleted_ids:
        return list(conditions)
    parts = [part for condition in conditions for part in _operands(condition, "And")]
    return [part for part in parts if not _is_own_filter(part, deleted_ids)]


def _is_own_filter(part: Java, deleted_ids: frozenset[int]) -> bool:
    disjuncts = list(_operands(part, "Or"))
    return any(simple_name(disjunct) == "IsNull" for disjunct in disjuncts) and all(
        any(int(column.exprId().id()) in deleted_ids for column in elements(disjunct.references().toSeq()))
        for disjunct in disjuncts
    )


def _operands(part: Java, connective: str) -> Iterator[Java]:
    """Yield the operands of nested connectives, such as those of an AND of ANDs."""
    pending = [part]
    while pending:
        node = pending.pop()
        if simple_name(node) == connective:
            pending += [node.right(), node.left()]
        else:
            yield node


def _buffer(spark: SparkSession, content: Java) -> Java:
    """Return the `ByteBuffer` of a column's bytes."""
    java = jvm(spark)
    objects = java.org.apache.spark.sql.catalyst.expressions.objects
    buffers = java.java.lang.Class.forName("java.nio.ByteBuffer")
    constructor = java.java.lang.Class.forName(_STATIC_INVOKE).getConstructors()[0]
    arguments = [
        buffers, java.org.apache.spark.sql.types.ObjectType(buffers), "wrap", sequence(spark, [content]),
        sequence(spark, []), True, False, True, some(spark, None),
    ]  # fmt: skip
    # Spark 4.0 added the last argument.
    return objects.StaticInvoke(*arguments[: constructor.getParameterCount()])


def _number_at(spark: SparkSession, buffer: Java, method: str, type_name: str, place: Java) -> Java:
    """Return the number that a method of a buffer gives at a place in bytes."""
    objects = jvm(spark).org.apache.spark.sql.catalyst.expressions.objects
    nothing, arguments = sequence(spark, []), sequence(spark, [place])
    return objects.Invoke(buffer, method, _type(spark, type_name), arguments, nothing, True, False, True)


def _type(spark: SparkSession, name: str) -> Java:
    return singleton(spark, f"org.apache.spark.sql.types.{name}Type")
