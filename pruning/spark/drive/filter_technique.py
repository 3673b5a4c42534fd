"""The filter technique: classifies blocks by a scan's filter, with Spark's help over single-valued columns.

Where the rules leave an expression open and its columns hold one value each in a block, Spark evaluates the
expression on those values ([M] 5.3.11). Its values become another column of the block metadata, which
replaces the expression in the predicate, so that the rules need not know the expression.

Spark evaluates under the session's present settings, with the time zone and the modes that it wrote into the
expressions when it analysed them.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pruning.expressions.sql import to_sql
from pruning.expressions.substitution import substitute
from pruning.expressions.traversal import children, columns
from pruning.expressions.trees import And, Column, Expression, Literal, Opaque, Quantified, type_of
from pruning.expressions.types import BOOLEAN
from pruning.metadata.table.schema import column_types, reads_as_stored
from pruning.metadata.views.constant_blocks import ConstantBlocks, constant_blocks, with_function
from pruning.rules.sets.truths import Match
from pruning.spark.catalyst.evaluation import ExpressionValues, evaluate
from pruning.spark.catalyst.expressions import Origins, conjuncts
from pruning.spark.catalyst.scope import Scope, determining_columns
from pruning.spark.jvm.gateway import Java, jvm
from pruning.spark.jvm.nodes import PACKAGE, Node, expression_nodes, is_printable
from pruning.verdicts.classification import READ_SECONDS, classify_blocks, classify_within

# Classes that call users' code, which may give another result in each call.
_FOREIGN = frozenset({"ApplyFunctionExpression", "BoundReference", "PythonUDF", "ScalaUDF"})
_INVOCATIONS = frozenset({"objects.Invoke", "objects.StaticInvoke"})
# Methods behind which users' code may be called; and `aesEncrypt`, which Spark calls deterministic although
# it draws a random initialization vector where none is given.
_FOREIGN_METHODS = frozenset({"aesEncrypt", "apply", "invoke"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalystPredicate:
    """A predicate, and the Catalyst expressions that it was converted from.

    Attributes:
        predicate: The conjunction of all conditions.
        conditions: Resolved Catalyst expressions of type boolean.
        names: The scanned table's columns by Catalyst's expression id.
        origins: The Catalyst expressions of those nodes of the predicate that the rules leave open.
        doubted: The time zones whose rules differ between Java and Python, so that nothing is concluded.
    """

    predicate: Expression
    conditions: tuple[Java, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)
    origins: Origins = field(default_factory=dict)
    doubted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOutcome:
    """The verdict on each block, and how it was reached.

    Attributes:
        verdicts: The verdicts.
        notes: What Spark evaluated, and what is unknown.
        deferred: The conjuncts that were not evaluated for every block.
    """

    verdicts: pa.Int8Array
    notes: tuple[str, ...] = ()
    deferred: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class _SingleValuedPart:
    """A part of a predicate whose columns hold one value each in some blocks.

    Attributes:
        node: The part.
        columns: The columns that determine its value.
        java: Its Catalyst expression.
        constant_blocks: The combinations of values that it must be evaluated on, and their blocks.
    """

    node: Expression
    columns: tuple[Column, ...]
    java: Java
    constant_blocks: ConstantBlocks


def catalyst_predicate(
    spark: SparkSession, conditions: Sequence[Java], names: Mapping[int, str]
) -> CatalystPredicate:
    """Return the conjunction of Catalyst's conditions; TRUE where there is none."""
    origins: Origins = {}
    scope = Scope(names=names, session=spark)
    predicates = [part for condition in conditions for part in conjuncts(condition, scope, origins)]
    return CatalystPredicate(
        predicate=_conjunction(list(dict.fromkeys(predicates))),
        conditions=tuple(conditions),
        names=names,
        origins=origins,
        doubted=tuple(scope.doubted),
    )


def filter_verdicts(
    spark: SparkSession,
    catalyst: CatalystPredicate,
    metadata: pa.Table,
    *,
    read_seconds: float | None = READ_SECONDS,
) -> FilterOutcome:
    """Return the verdict on each block, with Spark's help where the rules alone leave it open.

    Spark evaluates the outermost parts that the rules leave open, so that the rules can combine them
    with what is known of other columns. It also evaluates the whole predicate, for the blocks where every
    column has one value: only this regards which values of the parts are in one row.

    Args:
        spark: The session that evaluates.
        catalyst: The predicate.
        metadata: The block metadata of its columns.
        read_seconds: As for `classify_within`.
    """
    predicate = catalyst.predicate
    classified = classify_within(predicate, metadata, read_seconds=read_seconds)
    verdicts = classified.verdicts
    notes = tuple(
        f"unknown: Java's rules of the time zone {zone} are not Python's" for zone in catalyst.doubted
    )
    by_rules = FilterOutcome(verdicts=verdicts, notes=notes, deferred=classified.deferred)
    undecided = pc.equal(verdicts, int(Match.SOME))
    search = _PartSearch(metadata, catalyst.origins, undecided)
    parts = search.parts(predicate)
    if not parts:
        return by_rules
    whole = search.whole(spark, catalyst)
    evaluated = _evaluate_parts(spark, [*parts, *whole], catalyst.names)
    if evaluated is None:
        return by_rules
    replacements: dict[Expression, Expression] = {}
    for part, (values, failed) in zip([*parts, *whole], evaluated, strict=True):
        type_ = type_of(part.node)
        name = _fresh_name(_part_sql(part), [*column_types(metadata), *columns(predicate)])
        metadata = with_function(metadata, name, type_, part.constant_blocks, values=values, failed=failed)
        replacements[part.node] = Column(name, type_)
    # A part's column is unknown where it could not be evaluated, while the rules may still decide the part
    # itself. So only verdicts that are still open are replaced.
    for helped in (*(replacements.pop(part.node) for part in whole), substitute(predicate, replacements)):
        helped_verdicts = classify_blocks(helped, metadata)
        verdicts = pc.if_else(pc.equal(verdicts, int(Match.SOME)), helped_verdicts, verdicts)
    return FilterOutcome(verdicts=verdicts, notes=(*notes, *map(_part_note, parts)))


@dataclass(frozen=True, slots=True)
class _PartSearch:
    """A search for the parts of a predicate that Spark can evaluate for some undecided block."""

    metadata: pa.Table
    origins: Origins
    undecided: pa.BooleanArray
    _blocks_by_columns: dict[tuple[Column, ...], ConstantBlocks | None] = field(default_factory=dict)

    def parts(self, predicate: Expression) -> list[_SingleValuedPart]:
        """Return the outermost such parts, each once."""
        parts: dict[Expression, _SingleValuedPart] = {}
        pending = [predicate]
        while pending:
            node = pending.pop()
            part = parts.get(node) or self._part(node, self.origins.get(node, []))
            if part is not None:
                parts[node] = part
            elif not isinstance(node, Quantified):
                # Parts of a quantifier are not searched: its elements have many values in one row.
                pending.extend(reversed(children(node)))
        return list(parts.values())

    def whole(self, spark: SparkSession, catalyst: CatalystPredicate) -> list[_SingleValuedPart]:
        """Return the whole predicate as a part; empty where Spark cannot evaluate it or `parts` has it."""
        if catalyst.predicate in self.origins:
            return []
        part = self._part(catalyst.predicate, [_catalyst_and(spark, catalyst.conditions)])
        return [] if part is None else [part]

    def _part(self, node: Expression, javas: list[Java]) -> _SingleValuedPart | None:
        needed = determining_columns(node)
        if not (javas and needed and type_of(node).has_bounds):
            return None
        if needed not in self._blocks_by_columns:
            self._blocks_by_columns[needed] = self._occurrences(needed)
        constant_blocks = self._blocks_by_columns[needed]
        java = None if constant_blocks is None else _single_origin(javas)
        return (
            None
            if constant_blocks is None or java is None
            else _SingleValuedPart(node, needed, java, constant_blocks)
        )

    def _occurrences(self, needed: tuple[Column, ...]) -> ConstantBlocks | None:
        stored = column_types(self.metadata)
        if not all(column.name in stored for column in needed):
            return None
        if not all(reads_as_stored(stored[column.name], column.type) for column in needed):
            return None
        return constant_blocks(self.metadata, needed, self.undecided)


def _catalyst_and(spark: SparkSession, conditions: Sequence[Java]) -> Java:
    """Return Catalyst's AND of at least one condition."""
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    return functools.reduce(catalyst.And, conditions)


def _single_origin(javas: list[Java]) -> Java | None:
    """Return the only expression that a part stands for; None if it has several or users' code."""
    try:
        if not is_printable(javas[0]):
            return None
        alike = all(javas[0].equals(other) for other in javas[1:])
        return javas[0] if alike and all(map(_is_spark_code, expression_nodes(javas[0]))) else None
    except (Py4JError, ValueError, KeyError):
        # Spark cannot print the expression, or prints it in an unknown form.
        return None


def _is_spark_code(node: Node) -> bool:
    """Tell whether a node is Spark's own code."""
    if not node.fields["class"].startswith(PACKAGE) or node.name in _FOREIGN:
        return False
    return not (node.name in _INVOCATIONS and node.fields["functionName"] in _FOREIGN_METHODS)


def _evaluate_parts(
    spark: SparkSession, parts: list[_SingleValuedPart], names: Mapping[int, str]
) -> list[ExpressionValues] | None:
    """Return the values of the parts on their combinations, by one query; None where Spark cannot tell."""
    starts: dict[tuple[Column, ...], int] = {}
    tables, count = [], 0
    for part in parts:
        if part.columns not in starts:
            starts[part.columns] = count
            count += len(part.constant_blocks.combinations)
            tables.append(
                part.constant_blocks.combinations.rename_columns([column.name for column in part.columns])
            )
    rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
    evaluated = evaluate(spark, rows, [part.java for part in parts], names)
    if evaluated is None:
        return None
    return [
        (
            values.slice(starts[part.columns], len(part.constant_blocks.combinations)),
            failed.slice(starts[part.columns], len(part.constant_blocks.combinations)),
        )
        for part, (values, failed) in zip(parts, evaluated, strict=True)
    ]


def _fresh_name(name: str, taken: list[str]) -> str:
    """Return the name, with primes added until it is not taken."""
    while name in taken:
        name += "'"
    return name


def _part_sql(part: _SingleValuedPart) -> str:
    return part.node.sql if isinstance(part.node, Opaque) else to_sql(part.node)


def _part_note(part: _SingleValuedPart) -> str:
    count = len(part.constant_blocks.combinations)
    return f"{_part_sql(part)} evaluated on {count:,} single-valued combinations by Spark"


def _conjunction(predicates: list[Expression]) -> Expression:
    """Return the conjunction of the predicates; TRUE where there is none."""
    if not predicates:
        return Literal(True, BOOLEAN)
    return predicates[0] if len(predicates) == 1 else And(tuple(predicates))
