"""What the rules leave open, evaluated by Spark where a block's columns hold one value each ([M] 5.3.11).

The values become a column more of the block metadata, and that column takes the place of the
expression in the predicate. So the rules need to know nothing of it.

The values are those of the session as it is now, as are the time zone and the modes that Spark wrote
into the expressions when it analysed them.
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
from pruning.metadata.table.schema import column_types
from pruning.metadata.views.constant_blocks import ConstantBlocks, constant_blocks, with_function
from pruning.rules.sets.truths import Match
from pruning.spark.catalyst.evaluation import ExpressionValues, evaluate
from pruning.spark.catalyst.expressions import Origins, conjuncts
from pruning.spark.catalyst.scope import Scope, determining_columns
from pruning.spark.jvm.gateway import Java, jvm
from pruning.spark.jvm.nodes import PACKAGE, Node, expression_nodes, is_printable
from pruning.spark.lake.matching import reads_as_stored
from pruning.verdicts.classification import READ_SECONDS, classify_blocks, classify_within

# Code of users, which may do anything each time it is called, as may that behind a method that they name.
_FOREIGN = frozenset({"ApplyFunctionExpression", "BoundReference", "PythonUDF", "ScalaUDF"})
_INVOCATIONS = frozenset({"objects.Invoke", "objects.StaticInvoke"})
# Spark takes `aesEncrypt` for deterministic, and it draws an initialization vector where it is given none.
_FOREIGN_METHODS = frozenset({"aesEncrypt", "apply", "invoke"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalystPredicate:
    """A predicate, and the Catalyst expressions that it comes from.

    Attributes:
        predicate: What all of the conditions say together.
        conditions: Resolved Catalyst expressions of type boolean.
        names: The scanned table's columns by Catalyst's expression id.
        origins: What those nodes of the predicate stand for that the rules leave open.
        doubted: The time zones in which nothing is concluded of local times.
    """

    predicate: Expression
    conditions: tuple[Java, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)
    origins: Origins = field(default_factory=dict)
    doubted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOutcome:
    """What is proved of each block; `notes` tell what Spark evaluated for it."""

    verdicts: pa.Int8Array
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SingleValuedPart:
    """A part of a predicate, its columns, and the rows that it must be evaluated on."""

    node: Expression
    columns: tuple[Column, ...]
    java: Java
    found: ConstantBlocks


def catalyst_predicate(
    spark: SparkSession, conditions: Sequence[Java], names: Mapping[int, str]
) -> CatalystPredicate:
    """The predicate that Catalyst's conditions are together; TRUE where there is none."""
    origins: Origins = {}
    scope = Scope(names=names, session=spark)
    found = [part for condition in conditions for part in conjuncts(condition, scope, origins)]
    return CatalystPredicate(
        predicate=_conjunction(list(dict.fromkeys(found))),
        conditions=tuple(conditions),
        names=names,
        origins=origins,
        doubted=tuple(scope.doubted),
    )


def filter_verdicts(
    spark: SparkSession,
    asked: CatalystPredicate,
    metadata: pa.Table,
    *,
    read_seconds: float | None = READ_SECONDS,
) -> FilterOutcome:
    """What is proved of each block, with Spark's help where the rules alone cannot tell.

    Spark evaluates the outermost parts that the rules leave open, so that the rules may combine them
    with what is known of other columns; and the whole predicate, for the blocks where every column
    has one value: only that knows which values of the parts stand in one row. `read_seconds` is that of
    `classify_within`.
    """
    predicate = asked.predicate
    classified = classify_within(predicate, metadata, read_seconds=read_seconds)
    verdicts = classified.verdicts
    notes = (
        *(f"left to the query: {to_sql(conjunct)}" for conjunct in classified.deferred),
        *(f"unknown: Java's rules of the time zone {zone} are not Python's" for zone in asked.doubted),
    )
    undecided = pc.equal(verdicts, int(Match.SOME))
    search = _PartSearch(metadata, asked.origins, undecided)
    parts = search.parts(predicate)
    if not parts:
        return FilterOutcome(verdicts=verdicts, notes=notes)
    whole = search.whole(spark, asked)
    known = _evaluate_parts(spark, [*parts, *whole], asked.names)
    if known is None:
        return FilterOutcome(verdicts=verdicts, notes=notes)
    replacements: dict[Expression, Expression] = {}
    for part, (values, failed) in zip([*parts, *whole], known, strict=True):
        type_ = type_of(part.node)
        name = _fresh_name(_part_sql(part), [*column_types(metadata), *columns(predicate)])
        metadata = with_function(metadata, name, type_, part.found, values=values, failed=failed)
        replacements[part.node] = Column(name, type_)
    # Where nothing could be evaluated, the rules may know more of the part itself.
    for helped in (*(replacements.pop(one.node) for one in whole), substitute(predicate, replacements)):
        told = classify_blocks(helped, metadata)
        verdicts = pc.if_else(pc.equal(verdicts, int(Match.SOME)), told, verdicts)
    return FilterOutcome(verdicts=verdicts, notes=(*notes, *map(_part_note, parts)))


@dataclass(frozen=True, slots=True)
class _PartSearch:
    """Looks for the parts of a predicate whose value in some undecided block Spark can tell."""

    metadata: pa.Table
    origins: Origins
    undecided: pa.BooleanArray
    _remembered: dict[tuple[Column, ...], ConstantBlocks | None] = field(default_factory=dict)

    def parts(self, predicate: Expression) -> list[_SingleValuedPart]:
        """The outermost such parts, each once."""
        found: dict[Expression, _SingleValuedPart] = {}
        pending = [predicate]
        while pending:
            node = pending.pop()
            part = found.get(node) or self._part(node, self.origins.get(node, []))
            if part is not None:
                found[node] = part
            elif not isinstance(node, Quantified):
                # Inside, a row has many values of what in a row of combinations would have one.
                pending.extend(reversed(children(node)))
        return list(found.values())

    def whole(self, spark: SparkSession, asked: CatalystPredicate) -> list[_SingleValuedPart]:
        """The predicate as one part, where it is one and not itself among the smaller ones."""
        if asked.predicate in self.origins:
            return []
        part = self._part(asked.predicate, [_catalyst_and(spark, asked.conditions)])
        return [] if part is None else [part]

    def _part(self, node: Expression, javas: list[Java]) -> _SingleValuedPart | None:
        needed = determining_columns(node)
        if not (javas and needed and type_of(node).has_bounds):
            return None
        if needed not in self._remembered:
            self._remembered[needed] = self._occurrences(needed)
        found = self._remembered[needed]
        java = None if found is None else _single_origin(javas)
        return None if found is None or java is None else _SingleValuedPart(node, needed, java, found)

    def _occurrences(self, needed: tuple[Column, ...]) -> ConstantBlocks | None:
        stored = column_types(self.metadata)
        if not all(column.name in stored for column in needed):
            return None
        if not all(reads_as_stored(stored[column.name], column.type) for column in needed):
            return None
        return constant_blocks(self.metadata, needed, self.undecided)


def _catalyst_and(spark: SparkSession, conditions: Sequence[Java]) -> Java:
    """Catalyst's AND of at least one condition."""
    catalyst = jvm(spark).org.apache.spark.sql.catalyst.expressions
    return functools.reduce(catalyst.And, conditions)


def _single_origin(javas: list[Java]) -> Java | None:
    """The one expression that a part stands for; None where there are several, or users' code in it."""
    try:
        if not is_printable(javas[0]):
            return None
        alike = all(javas[0].equals(other) for other in javas[1:])
        return javas[0] if alike and all(map(_is_spark_code, expression_nodes(javas[0]))) else None
    except (Py4JError, ValueError, KeyError):
        # Spark cannot print it, or prints it otherwise than expected.
        return None


def _is_spark_code(node: Node) -> bool:
    """Whether a node is Spark's own code."""
    if not node.fields["class"].startswith(PACKAGE) or node.name in _FOREIGN:
        return False
    return not (node.name in _INVOCATIONS and node.fields["functionName"] in _FOREIGN_METHODS)


def _evaluate_parts(
    spark: SparkSession, parts: list[_SingleValuedPart], names: Mapping[int, str]
) -> list[ExpressionValues] | None:
    """The parts' values on their combinations, all by one query."""
    starts: dict[tuple[Column, ...], int] = {}
    tables, count = [], 0
    for part in parts:
        if part.columns not in starts:
            starts[part.columns] = count
            count += len(part.found.combinations)
            tables.append(part.found.combinations.rename_columns([column.name for column in part.columns]))
    rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
    known = evaluate(spark, rows, [part.java for part in parts], names)
    if known is None:
        return None
    return [
        (
            values.slice(starts[part.columns], len(part.found.combinations)),
            failed.slice(starts[part.columns], len(part.found.combinations)),
        )
        for part, (values, failed) in zip(parts, known, strict=True)
    ]


def _fresh_name(name: str, taken: list[str]) -> str:
    """A name like the one given that is none of those taken."""
    while name in taken:
        name += "'"
    return name


def _part_sql(part: _SingleValuedPart) -> str:
    return part.node.sql if isinstance(part.node, Opaque) else to_sql(part.node)


def _part_note(part: _SingleValuedPart) -> str:
    count = len(part.found.combinations)
    return f"{_part_sql(part)} evaluated on {count:,} single-valued combinations by Spark"


def _conjunction(predicates: list[Expression]) -> Expression:
    """All of the predicates; TRUE where there is none."""
    if not predicates:
        return Literal(True, BOOLEAN)
    return predicates[0] if len(predicates) == 1 else And(tuple(predicates))
