"""Expressions whose value is that of the moment when a query runs, such as `current_timestamp()`.

Spark's optimizer writes the present moment into a plan. A pruned query runs later, and may need rows that the
moment of pruning would exclude. So the rules see such an expression as a column whose values are not smaller
than now, because time goes on: `t >= current_timestamp() - INTERVAL 7 DAYS` excludes old files, and
`t < current_timestamp()` excludes none that the query may need when it runs.
"""

import re
import time
from collections.abc import Container
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from pruning.expressions.traversal import columns
from pruning.expressions.trees import Column, Expression
from pruning.expressions.types import Kind, Type
from pruning.metadata.table.structs import has_field, whole
from pruning.metadata.views.constant_columns import with_bounds
from pruning.spark.jvm.compiling import optional_instance
from pruning.spark.jvm.gateway import Java, elements, jvm, mapping, simple_name, subtrees
from pruning.spark.jvm.prefetched import ANSWERS, ANSWERS_PACKAGE

# The column names by which the rules know the present. They are in backticks, possibly with an offset;
# block metadata gives no column a name of a single part in backticks.
_CLOCKS = {
    Kind.DATE: "current_date()",
    Kind.TIMESTAMP: "current_timestamp()",
    Kind.TIMESTAMP_NTZ: "localtimestamp()",
}
_NAME = re.compile(r"`(?:current_date|current_timestamp|localtimestamp)\(\)(?: ([+-]\d+) us)?`")
_DAY_US = 86_400_000_000
_YEAR_9999_US = 253_370_764_800_000_000
# Ordinals of the references that stand for the present, and for a moment of which nothing is known.
_PRESENT, _UNKNOWN = 0, 1
_CLOCK_CLASSES = frozenset({"CurrentDate", "CurrentTime", "CurrentTimestamp", "LocalTimestamp", "Now"})
# Texts that the optimizer casts to the present date or time.
_MOMENTS = re.compile(r"\s*(now|today|tomorrow|yesterday)\b.*", re.IGNORECASE | re.DOTALL)
# The words in which these expressions print, in the syntax of Java's patterns.
_WORDS = r"(?i)now|today|tomorrow|yesterday|current_|localtime"
_DATETIMES = ("date", "timestamp")


@dataclass(frozen=True, slots=True)
class TimelessPlan:
    """An analyzed plan without expressions that read the clock; `clock_is_read` is True if there were any."""

    plan: Java
    clock_is_read: bool


def without_clock(spark: SparkSession, plan: Java) -> TimelessPlan:
    """Return the plan with an unbound reference instead of each expression that reads the clock.

    The result can be optimized and inspected, but not run.
    """
    answers = optional_instance(spark, ANSWERS, package=ANSWERS_PACKAGE)
    if answers is not None and not answers.mentions(plan, _WORDS):
        return TimelessPlan(plan, clock_is_read=False)
    reference = jvm(spark).org.apache.spark.sql.catalyst.expressions.BoundReference
    changes = [
        (part, reference(_UNKNOWN if simple_name(part) == "Cast" else _PRESENT, part.dataType(), True))
        for root in (plan, *elements(plan.subqueriesAll()))
        for node in elements(subtrees(spark, root))
        if _may_read_clock(spark, node)
        for expression in elements(node.expressions())
        for part in elements(subtrees(spark, expression))
        if _reads_clock(part)
    ]
    if not changes:
        return TimelessPlan(plan, clock_is_read=False)
    timeless = plan.transformAllExpressionsWithSubqueries(mapping(spark, changes))
    timeless.setAnalyzed()
    return TimelessPlan(timeless, clock_is_read=True)


def _may_read_clock(spark: SparkSession, node: Java) -> bool:
    """Tell whether the text of a node's own expressions has a word of the clock, in a few calls."""
    java = jvm(spark)
    text = node.expressions().addString(java.scala.collection.mutable.StringBuilder(), " ")
    return bool(java.java.util.regex.Pattern.compile(_WORDS).matcher(text).find())


def _reads_clock(expression: Java) -> bool:
    kind = simple_name(expression)
    if kind != "Cast":
        return kind in _CLOCK_CLASSES
    return (
        str(expression.dataType().typeName()).startswith(_DATETIMES)
        and simple_name(expression.child()) == "Literal"
        and bool(_MOMENTS.fullmatch(str(expression.child().toString())))
    )


def clock_column(ordinal: int, type_: Type) -> Column | None:
    """Return the column that stands for the present of a type.

    None is returned for a reference to a moment that is unknown, and for a type without bounds.
    """
    return _column(type_, 0) if ordinal == _PRESENT and type_.kind in _CLOCKS else None


def shifted_clock(clock: Expression, offset: Java) -> Column | None:
    """Return the column for the present plus an interval; None unless both are as below.

    Args:
        clock: An expression; only the column of `clock_column` for a timestamp or a local time is shifted.
        offset: A Catalyst expression; only a constant interval of days and shorter units is added.
    """
    if not isinstance(clock, Column) or clock != clock_column(_PRESENT, clock.type):
        return None
    if simple_name(offset.dataType()) != "DayTimeIntervalType" or simple_name(offset) != "Literal":
        return None
    offset_us = offset.value()
    return _column(clock.type, int(offset_us)) if abs(offset_us) <= _YEAR_9999_US else None


def _column(type_: Type, offset_us: int) -> Column:
    shift = f" {offset_us:+} us" if offset_us else ""
    return Column(f"`{_CLOCKS[type_.kind]}{shift}`", type_)


def with_clock(metadata: pa.Table, expression: Expression, taken: Container[str]) -> pa.Table:
    """Return the metadata with bounds of the present, where an expression names it.

    Claim     When the query runs, the present lies within the bounds.
    Premises  The clock is not set back by more than a day between this call and the query, which runs before
              the year 9998.
    Proof     (1) The query runs after this call, so its clock shows at least now less a day.
              (2) A local time or date differs from that of UTC by less than a day more.
              (3) Spark adds an interval's days in the session's zone, less than a day beside its length.
    Unsound   for a clock that is set back by days.

    Args:
        taken: The names of the table's own columns. A column that has the name of the present hides it.
    """
    for name, type_ in columns(expression).items():
        match = _NAME.fullmatch(name)
        if match is None or name in taken or has_field(whole(metadata.column("columns")), name):
            continue
        unit, shift = _DAY_US if type_.kind is Kind.DATE else 1, int(match[1] or 0)
        lower_us = time.time_ns() // 1_000 - _DAY_US  # (1)
        if shift or type_.kind is not Kind.TIMESTAMP:
            lower_us -= _DAY_US  # (2), (3)
        bounds = (lower_us // unit + shift, _YEAR_9999_US // unit + shift)
        metadata = with_bounds(metadata, name, type_, *bounds)
    return metadata
