"""Mutants of the backend on Spark: each is one mistake in the computation of an operator or of a plan."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from pyspark.sql import SparkSession

from dynamic_tables.maintenance.algebra import Group, Join, JoinKind, Relation, UnionAll
from dynamic_tables.maintenance.plans import AffectedRows, ChangedPairs, NetChanges, Plan, RowsAfter, Sum
from dynamic_tables.on_spark.changes import NODES, PlanEvaluation, affected_rows
from dynamic_tables.on_spark.frames import RowFrame, union_of
from dynamic_tables.on_spark.operators import KERNELS, Kernel, group_kernel, join_kernel, pairs_of
from dynamic_tables.on_spark.spark_backend import SparkBackend


def union_by_id(relation: UnionAll) -> Kernel:
    """Leave the branch out of the ids."""
    return lambda *branches: union_of(branches)


def pairs_alone(relation: Join) -> Kernel:
    """Lose rows without partner."""
    return join_kernel(replace(relation, kind=JoinKind.INNER))


def all_cells(relation: Group) -> Kernel:
    """Aggregate equal cells again."""
    aggregates = tuple(replace(aggregate, distinct=False) for aggregate in relation.aggregates)
    return group_kernel(replace(relation, aggregates=aggregates))


def gross_changes(evaluation: PlanEvaluation, plan: NetChanges) -> RowFrame:
    """Keep rows that are deleted and inserted unchanged."""
    changes: RowFrame = evaluation.value(plan.changes)
    return changes


def rows_kept(evaluation: PlanEvaluation, plan: RowsAfter) -> RowFrame:
    """Keep deleted rows."""
    return union_of([evaluation.value(plan.before), evaluation.value(plan.inserted)])


def nulls_unequal(evaluation: PlanEvaluation, plan: AffectedRows) -> RowFrame:
    """Take no row whose key has a NULL."""
    return affected_rows(evaluation, replace(plan, nulls_of=Sum(())))


def pairs_of_left(evaluation: PlanEvaluation, plan: ChangedPairs) -> RowFrame:
    """Pair only the changed rows of the left side."""
    _, right = (evaluation.both_ends(*end) for end in zip(plan.before, plan.after, strict=True))
    return pairs_of(plan.operator, evaluation.value(plan.left), right)


def with_kernel(operator: type[Relation], kernel: Callable[..., Kernel], spark: SparkSession) -> SparkBackend:
    """Return a backend with another kernel."""
    return SparkBackend(spark, kernels={**KERNELS, operator: kernel})


def with_node(node: type[Plan], compute: Callable[..., RowFrame], spark: SparkSession) -> SparkBackend:
    """Return a backend with another node."""
    return SparkBackend(spark, nodes={**NODES, node: compute})


Build: TypeAlias = Callable[[SparkSession], SparkBackend]
# By what each does wrong: the backend, for a session.
SPARK_MUTANTS: Mapping[str, Build] = {
    "ids of a union have no branch": partial(with_kernel, UnionAll, union_by_id),
    "rows without partner are lost": partial(with_kernel, Join, pairs_alone),
    "equal cells count again": partial(with_kernel, Group, all_cells),
    "unchanged rows go and come": partial(with_node, NetChanges, gross_changes),
    "deleted rows stay": partial(with_node, RowsAfter, rows_kept),
    "NULL is not NULL": partial(with_node, AffectedRows, nulls_unequal),
    "the right side's changes are lost": partial(with_node, ChangedPairs, pairs_of_left),
}
