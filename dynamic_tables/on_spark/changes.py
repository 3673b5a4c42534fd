"""Plans of changes as DataFrames: deleted and inserted rows with ids, told apart by the column `DELETED`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dynamic_tables.maintenance.algebra import Relation, Scan, inputs
from dynamic_tables.maintenance.plans import (
    AffectedRows,
    ChangedPairs,
    Changes,
    InsertedRows,
    Keys,
    Linear,
    Moment,
    NetChanges,
    NoChanges,
    PartialSnapshot,
    Plan,
    Recomputation,
    Rows,
    RowsAfter,
    Snapshot,
    SourceChanges,
    Sum,
    WithChanged,
    parts,
)
from dynamic_tables.maintenance.plans import nodes as all_nodes
from dynamic_tables.on_spark.frames import DELETED, ROW_ID, RowFrame, cell_name, changes_frame, union_of
from dynamic_tables.on_spark.keys import key_text
from dynamic_tables.on_spark.native_expressions import lower_expression
from dynamic_tables.on_spark.operators import Kernels, pairs_of
from dynamic_tables.values.expressions import Expression
from dynamic_tables.values.types import Kind

# The columns of a key's text, and of whether a part of it is NULL.
KEY, PARTIAL = "key", "partial"


class SparkSource(Protocol):
    """One table over one interval; cells have the positions that the query was bound to."""

    @property
    def before(self) -> RowFrame:
        """The rows at the start of the interval."""

    @property
    def after(self) -> RowFrame:
        """The rows at the end of the interval."""

    @property
    def changes(self) -> RowFrame:
        """The net changes, with the tag `DELETED`."""


@dataclass(frozen=True)
class KeyRows:
    """The keys of rows, or the ids of rows without a key.

    Attributes:
        data: A DataFrame with `tags` and the columns `KEY`, a text, and `PARTIAL`, which is True if a part of
            the key is NULL.
    """

    data: DataFrame
    tags: tuple[str, ...]


Compute: TypeAlias = Callable[["PlanEvaluation", Any], Any]


class PlanEvaluation:
    """The evaluation of one plan over one interval.

    A node that is used several times is computed once and kept by Spark's executors: a DataFrame that is used
    twice would be analysed, planned and computed twice.

    Args:
        spark: The session that computes.
        plan: The plan.
        sources: By identity, each over the interval.
        kernels: The implementations of the operators.
        nodes: The implementations of the nodes of plans.
    """

    def __init__(
        self,
        spark: SparkSession,
        plan: Changes,
        sources: Mapping[str, SparkSource],
        kernels: Kernels,
        nodes: "Nodes",
    ) -> None:
        self.spark = spark
        self.plan = plan
        self.sources = sources
        self.kernels = kernels
        self.nodes = nodes
        self.uses = Counter(id(part) for node in all_nodes(plan) for part in parts(node))
        self.values: dict[int, Any] = {}

    def result(self) -> RowFrame:
        """Return the changes of the plan."""
        changes: RowFrame = self.value(self.plan)
        return changes

    def value(self, plan: Plan) -> Any:
        """Return the rows, the changes or the keys of a node."""
        if id(plan) not in self.values:
            value = self.nodes[type(plan)](self, plan)
            if self.uses[id(plan)] > 1 and not isinstance(plan, Snapshot):
                value = replace(value, data=value.data.localCheckpoint())
            self.values[id(plan)] = value
        return self.values[id(plan)]

    def both_ends(self, before: Rows, after: Rows) -> RowFrame:
        """Return rows before and rows after the interval together.

        Plans of the same rows at both ends are computed at once, so that sources are read once.
        """
        match before, after:
            case Snapshot(), Snapshot() if before.relation is after.relation:
                return self.snapshots(after.relation)
            case PartialSnapshot(), PartialSnapshot() if before.operator is after.operator:
                ends = zip(before.inputs, after.inputs, strict=True)
                result: RowFrame = self.kernel(after.operator)(*[self.both_ends(*end) for end in ends])
                return result
            case AffectedRows(), AffectedRows() if before.among is after.among:
                return rows_among(self, after, self.both_ends(before.rows, after.rows))
            case WithChanged(), WithChanged() if before.changes is after.changes:
                changes: RowFrame = self.value(after.changes)
                return union_of([self.both_ends(before.rows, after.rows).without(changes), changes])
        return union_of([self.value(before).with_end(True), self.value(after).with_end(False)])

    def snapshots(self, relation: Relation) -> RowFrame:
        """Return all rows of a relation at both ends of the interval."""
        if not inputs(relation):
            return union_of(
                [self.snapshot(relation, moment).with_end(moment is Moment.BEFORE) for moment in Moment]
            )
        rows: RowFrame = self.kernel(relation)(*map(self.snapshots, inputs(relation)))
        return rows

    def snapshot(self, relation: Relation, moment: Moment) -> RowFrame:
        """Return all rows of a relation at a moment."""
        if isinstance(relation, Scan):
            source = self.sources[relation.source]
            below = [source.before if moment is Moment.BEFORE else source.after]
        else:
            below = [self.snapshot(child, moment) for child in inputs(relation)]
        rows: RowFrame = self.kernel(relation)(*(below or [self.spark]))
        return rows

    def kernel(self, relation: Relation) -> Any:
        """Return the computation of a relation's operator."""
        return self.kernels[type(relation)](relation)


def snapshot(evaluation: PlanEvaluation, plan: Snapshot) -> RowFrame:
    """Return all rows of a relation at a moment."""
    return evaluation.snapshot(plan.relation, plan.moment)


def of_operator(evaluation: PlanEvaluation, plan: PartialSnapshot | Linear) -> RowFrame:
    """Return an operator's result over some rows of its inputs, or over changed rows."""
    result: RowFrame = evaluation.kernel(plan.operator)(*map(evaluation.value, plan.inputs))
    return result


def source_changes(evaluation: PlanEvaluation, plan: SourceChanges) -> RowFrame:
    """Return the changes of a source, in the columns that are read."""
    changes: RowFrame = evaluation.kernel(plan.scan)(evaluation.sources[plan.scan.source].changes)
    return changes


def no_changes(evaluation: PlanEvaluation, plan: NoChanges) -> RowFrame:
    """Return the changes of what never changes."""
    return changes_frame(evaluation.spark, (), [field.type for field in plan.relation.fields])


def inserted_rows(evaluation: PlanEvaluation, plan: InsertedRows) -> RowFrame:
    """Return the rows that changes insert."""
    changes: RowFrame = evaluation.value(plan.changes)
    return changes.at(False)


def rows_after(evaluation: PlanEvaluation, plan: RowsAfter) -> RowFrame:
    """Return some rows of a source as they are after the interval."""
    before, changes = evaluation.value(plan.before), evaluation.value(plan.changes)
    return union_of([before.without(changes.at(True)), evaluation.value(plan.inserted)])


def with_changed(evaluation: PlanEvaluation, plan: WithChanged) -> RowFrame:
    """Return rows at one moment together with the changed rows of that moment."""
    changed = evaluation.value(plan.changes).at(plan.moment is Moment.BEFORE)
    return union_of([evaluation.value(plan.rows).without(changed), changed])


def changes_together(evaluation: PlanEvaluation, plan: Sum) -> RowFrame:
    """Return the changes of all inputs together."""
    return union_of([evaluation.value(part) for part in plan.inputs])


def recomputation(evaluation: PlanEvaluation, plan: Recomputation) -> RowFrame:
    """Return the operator's result before, deleted, and after, inserted, for affected rows only."""
    ends = zip(plan.before, plan.after, strict=True)
    result: RowFrame = evaluation.kernel(plan.operator)(*[evaluation.both_ends(*end) for end in ends])
    return result


def changed_pairs(evaluation: PlanEvaluation, plan: ChangedPairs) -> RowFrame:
    """Return the pairs that contain a changed row, at each end of the interval."""
    changed_left, changed_right = evaluation.value(plan.left), evaluation.value(plan.right)
    left, right = (evaluation.both_ends(*end) for end in zip(plan.before, plan.after, strict=True))
    sides = ((changed_left, right), (left.without(changed_left), changed_right))
    return union_of([pairs_of(plan.operator, *both) for both in sides])


def key_rows(evaluation: PlanEvaluation, plan: Keys) -> KeyRows:
    """Return the keys of rows, or of all deleted and inserted rows."""
    frames = [(evaluation.value(part), keys) for part, keys in zip(plan.plans, plan.expressions, strict=True)]
    tags = tuple(tag for tag in frames[0][0].tags if tag != DELETED)
    data = [with_key(rows, keys).select(*tags, KEY, PARTIAL) for rows, keys in frames]
    return KeyRows(reduce(DataFrame.unionByName, data).distinct(), tags)


def with_key(rows: RowFrame, expressions: Sequence[Expression]) -> DataFrame:
    """Return the data of rows with their keys as text, which is equal for equal numbers of any type."""
    names = [f"key{place}" for place in range(len(expressions))]
    parts = [lower_expression(part, rows).alias(name) for part, name in zip(expressions, names, strict=True)]
    texts = [key_text(name, part.type) for name, part in zip(names, expressions, strict=True)]
    null = reduce(Column.__or__, [F.col(name).isNull() for name in names], F.lit(False))
    return rows.data.select("*", *parts).select(
        *rows.columns, F.concat(F.lit(""), *texts).alias(KEY), null.alias(PARTIAL)
    )


def affected_rows(evaluation: PlanEvaluation, plan: AffectedRows) -> RowFrame:
    """Return the rows whose key is among others."""
    return rows_among(evaluation, plan, evaluation.value(plan.rows))


def rows_among(evaluation: PlanEvaluation, plan: AffectedRows, rows: RowFrame) -> RowFrame:
    """Return the rows that meet the test of a plan, of which `rows` are the rows to be tested.

    Where NULL matches nothing, rows with a NULL in their key are looked for by their ids, which begin with a
    character that no text of a key begins with.
    """
    among: KeyRows = evaluation.value(plan.among)
    keyed, keys = with_key(rows, plan.expressions), among.data
    if plan.nulls_of is not None:
        row_id = F.concat(F.lit("="), F.col(ROW_ID))
        keyed = keyed.withColumn(KEY, F.when(F.col(PARTIAL), row_id).otherwise(F.col(KEY)))
        keys = keys.filter(~F.col(PARTIAL))
        if not isinstance(plan.nulls_of, Sum):
            itself = evaluation.value(plan.nulls_of).data
            keys = keys.select(*among.tags, KEY).unionByName(itself.select(*among.tags, row_id.alias(KEY)))
    names = [*among.tags, KEY]
    return rows.with_data(keyed.join(keys.select(*names), names, "left_semi"))


def without_unchanged(evaluation: PlanEvaluation, plan: NetChanges) -> RowFrame:
    """Return net changes."""
    return remove_unchanged(evaluation.value(plan.changes))


def remove_unchanged(changes: RowFrame) -> RowFrame:
    """Return changes without rows that are deleted and inserted unchanged under the same id.

    Doubles are compared as text, by which 0.0 differs from -0.0; as keys of a group they would be equal.
    """
    doubles = [cell_name(place) for place, type_ in enumerate(changes.types) if type_.kind is Kind.FLOAT]
    texts = [F.col(name).cast("string").alias(f"{name}_text") for name in doubles]
    keys = [name for name in changes.columns if name != DELETED and name not in doubles]
    rows = changes.data.select("*", *texts).groupBy(*keys, *[f"{name}_text" for name in doubles])
    kept = [F.first(name).alias(name) for name in doubles]
    ends = rows.agg(F.min(DELETED).alias("least"), F.max(DELETED).alias(DELETED), *kept)
    return changes.with_data(ends.filter(F.col("least") == F.col(DELETED)))


Nodes: TypeAlias = Mapping[type[Plan], Compute]
NODES: Nodes = {
    Snapshot: snapshot,
    PartialSnapshot: of_operator,
    InsertedRows: inserted_rows,
    RowsAfter: rows_after,
    WithChanged: with_changed,
    SourceChanges: source_changes,
    NoChanges: no_changes,
    Linear: of_operator,
    ChangedPairs: changed_pairs,
    Sum: changes_together,
    Recomputation: recomputation,
    Keys: key_rows,
    AffectedRows: affected_rows,
    NetChanges: without_unchanged,
}
