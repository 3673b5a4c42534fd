"""Comparisons that Spark must not push into Parquet or Iceberg, which lose rows by them.

A row group's minimum and maximum do not bound NaN, and many writers do not say whether there is one; yet
Spark orders NaN above all numbers, so that `x > 5` keeps it. Dictionaries and bloom filters tell 0.0 from
-0.0, which are equal in Spark. In a file of timestamps in milliseconds, Spark looks for `t < 0.001` where
the query says `t < 0.0015`. For a date that lacks in the calendar of `java.sql.Date`, it looks for the next
one, and for a time before 1900 perhaps for another one. Iceberg's planning takes bounds for bounds of NaN,
too, and -0.0 for less than 0.0.

So the operand of such a comparison is wrapped in an expression that changes no value and that Spark does not
push. The rest of the filter is pushed as before.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Expression
from pruning.expressions.types import Kind, Type
from pruning.pushed.exact_times import is_exact
from pruning.spark.catalyst.leaves import PlanLeaf
from pruning.spark.drive.range_filters import RangeFilter
from pruning.spark.jvm.datatypes import type_of_java
from pruning.spark.jvm.gateway import (
    Java,
    dataframe,
    elements,
    jvm,
    mapping,
    replace_subtrees,
    sequence,
    simple_name,
    some,
    subtrees,
    with_element,
    with_leaf,
)
from pruning.spark.jvm.literals import internal_value, set_values
from pruning.spark.lake.nested import leaf_types
from pruning.spark.versioned.tables import table_attributes

# The connectives inside which Spark finds comparisons that it can push.
_CONNECTIVES = frozenset({"And", "Or", "Not"})
_COLUMNS = frozenset({"AttributeReference", "GetStructField"})
_NEVER_NAN = frozenset({"EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "In", "InSet"})
_ROUNDED_SAFELY = (_NEVER_NAN - {"LessThan"}) | {"GreaterThan", "GreaterThanOrEqual"}
_PUSHED = _NEVER_NAN | _ROUNDED_SAFELY
# The types on which rows may be lost, as a schema's JSON writes them.
_DOUBTED = ('"float"', '"double"', '"date"', '"timestamp"', '"timestamp_ntz"')
_TIMESTAMPS = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_MILLISECOND_US = 1_000


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A comparison that Spark may push; `negated` is True if it is under a NOT."""

    java: Java
    name: str
    negated: bool


def with_safe_pushdown(spark: SparkSession, plan: Java) -> Java:
    """Return a plan with the same rows that pushes no comparison by which Parquet's reader may lose rows.

    Args:
        spark: The session.
        plan: An optimized logical plan, which is returned itself where nothing changes.
    """
    changes = []
    for node in _all_nodes(spark, plan):
        if simple_name(node) == "Filter" and _names_doubted_types(node.condition()):
            condition = safe_condition(spark, node.condition())
            if condition is not None:
                changes.append((node, with_element(spark, node, 0, condition)))
    return replace_subtrees(spark, plan, changes) if changes else plan


def safe_condition(spark: SparkSession, condition: Java) -> Java | None:
    """Return a resolved Catalyst predicate without such comparisons; None where nothing changes."""
    doubted = [atom.java for atom in _comparisons(condition) if not _is_harmless(atom)]
    changed = condition
    for atom in doubted:
        changed = with_leaf(spark, changed, atom, _hide_operands(spark, atom))
    return None if changed is condition else changed


def doubted_columns(leaf: PlanLeaf) -> set[str]:
    """Return the leaf's columns in comparisons right above it by which rows are lost if Spark pushes them."""
    types = leaf_types({attribute.name: attribute.type for attribute in leaf.attributes}).values()
    if not leaf.chain.conditions or not any(map(_is_doubted, types)):
        return set()
    names = leaf.chain.names({attribute.id: attribute.name for attribute in leaf.attributes})
    ids = {
        int(attribute.exprId().id())
        for condition in leaf.chain.conditions
        for atom in _comparisons(condition)
        if not _is_harmless(atom)
        for attribute in elements(atom.java.references().toSeq())
    }
    return {names[id_] for id_ in ids if id_ in names}


def with_shield(spark: SparkSession, leaf: Java, subtree: Java, names: Collection[str]) -> Java:
    """Return a subtree over a leaf, under a projection that keeps comparisons of some columns from Parquet.

    The projection gives the leaf's attributes, so that nothing changes above it. Below it those columns have
    new expression ids, and an expression that Spark does not push connects the two.
    """
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    ids = {attribute.id for attribute in table_attributes(leaf) if attribute.name in names}
    old = [attribute for attribute in elements(leaf.output()) if attribute.exprId().id() in ids]
    new = [attribute.newInstance() for attribute in old]
    aliases = [
        catalyst.Alias(
            catalyst.KnownNullable(fresh),
            attribute.name(),
            attribute.exprId(),
            attribute.qualifier(),
            some(spark, attribute.metadata()),
            sequence(spark, []),
        )
        for attribute, fresh in zip(old, new, strict=True)
    ]
    renamed = subtree.transformAllExpressions(mapping(spark, list(zip(old, new, strict=True))))
    projection = logical.Project(leaf.output(), renamed)
    return projection.transformExpressions(mapping(spark, list(zip(old, aliases, strict=True))))


def _all_nodes(spark: SparkSession, plan: Java) -> Iterator[Java]:
    """Yield every node of a plan and of its subqueries."""
    for root in (plan, *elements(plan.subqueriesAll())):
        yield from elements(subtrees(spark, root))


def _names_doubted_types(condition: Java) -> bool:
    """Tell whether a condition names a column of a doubted type, or of a type that contains one."""
    # Only the condition's own columns are listed, because a table may have thousands.
    types = (column.dataType().json() for column in elements(condition.references().toSeq()))
    return any(doubted in written for written in types for doubted in _DOUBTED)


def _comparisons(condition: Java) -> Iterator[_Comparison]:
    """Yield the comparisons that a condition joins by AND, OR and NOT; no others can be pushed."""
    pending = [(condition, False)]
    while pending:
        node, negated = pending.pop()
        name = simple_name(node)
        if name in _CONNECTIVES:
            pending += [(child, negated or name == "Not") for child in elements(node.children())]
        elif name in _PUSHED and any(map(_is_column, elements(node.children()))):
            yield _Comparison(node, name, negated)


def _is_doubted(type_: Type) -> bool:
    return type_.floating or type_.kind is Kind.DATE or type_.kind in _TIMESTAMPS


def _is_column(operand: Java) -> bool:
    return simple_name(operand) in _COLUMNS


def _is_harmless(atom: _Comparison) -> bool:
    """Tell whether no row can be lost if the comparison is pushed.

    Claim     What Parquet's reader leaves out holds no row that the comparison keeps.
    Premises  Bounds are true of all values but NaN, and include both zeros or neither; dictionaries and
              bloom filters know values by their bits; of a file in whole milliseconds, Spark asks by the
              constant rounded down.
    Proof     (1) No NaN equals a number, is less, or is in a list of numbers; bounds cover the rest.
              (2) A constant that is no zero has both zeros on the same side.
              (3) A constant in whole milliseconds stays what it is.
              (4) A whole millisecond that equals a constant, is at most, more or at least that, does so
              with the constant rounded down.
    Unsound   under a NOT, which turns `<` into `>=`, and for what is no constant yet: not claimed there.
    """
    operand, *others = elements(atom.java.children())
    type_ = type_of_java(operand)
    if not _is_doubted(type_):
        return True
    constants = _constants(atom, others, type_)
    if constants is None:
        return False
    if type_.floating:
        numbers = all(constant == constant and constant != 0 for constant in constants)
        return numbers and not atom.negated and atom.name in _NEVER_NAN  # (1), (2)
    if not all(is_exact(constant, type_) for constant in constants):  # (5)
        return False
    if type_.kind is Kind.DATE or all(constant % _MILLISECOND_US == 0 for constant in constants):  # (3)
        return True
    return not atom.negated and atom.name in _ROUNDED_SAFELY  # (4)


def _constants(atom: _Comparison, others: Sequence[Java], type_: Type) -> list[Any] | None:
    """Return the constants that an operand is compared with, without NULL; None where they are unknown."""
    try:
        if atom.name == "InSet":
            values = set_values(atom.java.hset(), type_)
        elif all(simple_name(other) == "Literal" for other in others):
            values = [internal_value(other.value(), type_) for other in others]
        else:
            return None
    except ValueError:
        # A literal or a set's member is no value of its type.
        return None
    return [value for value in values if value is not None]


def _hide_operands(spark: SparkSession, atom: Java) -> Java:
    """Return the comparison with each operand that is a bare column wrapped in `KnownNullable`.

    `KnownNullable` gives its operand's value. Spark's optimizer sees neither a column nor a field in it, and
    our converters see through it.
    """
    nullable = jvm(spark).org.apache.spark.sql.catalyst.expressions.KnownNullable
    operands = [
        nullable(operand) if _is_column(operand) else operand for operand in elements(atom.children())
    ]
    return atom.withNewChildren(sequence(spark, operands))


def with_condition(spark: SparkSession, leaf: Java, conditions: Sequence[Expression]) -> Java:
    """Return a leaf under conditions on its columns; the leaf itself where Spark cannot resolve them."""
    leaf.setAnalyzed()
    try:
        condition = " AND ".join(to_sql(part) for part in conditions)
        return dataframe(spark, leaf).filter(condition)._jdf.queryExecution().analyzed()
    except PySparkException:
        # Names that differ only in case are ambiguous in SQL, although the plan itself resolves them by id.
        return leaf


def with_range_filters(
    spark: SparkSession, leaf: Java, ranges: list[RangeFilter]
) -> tuple[Java, list[RangeFilter]]:
    """Return the leaf under the range filters that Spark can resolve against it, and those filters."""
    # The analyzer would put a projection over a leaf with CHAR columns, which gives them new ids.
    leaf.setAnalyzed()
    condition = " AND ".join(part.sql for part in ranges)
    try:
        java = dataframe(spark, leaf).filter(condition)._jdf.queryExecution().analyzed()
    except PySparkException:
        # Names that differ only in case are ambiguous in SQL, although the plan itself resolves them by id.
        return leaf, []
    pushable = safe_condition(spark, java.condition())
    return (java if pushable is None else with_element(spark, java, 0, pushable)), ranges
