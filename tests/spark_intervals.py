"""Queries over several intervals at once, by Spark and by the backend in Python.

Rows of different intervals are told apart by one more tag, which no operator mixes: so one evaluation by
Spark computes all intervals of a query.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pyspark.sql.types import IntegerType, StructField, StructType

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.operators import constants_kernel
from dynamic_tables.maintenance.algebra import ConstantRows
from dynamic_tables.maintenance.plans import NoChanges
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.on_spark.changes import PlanEvaluation
from dynamic_tables.on_spark.frames import DELETED, RowFrame, frame_schema
from dynamic_tables.on_spark.operators import Kernel
from dynamic_tables.on_spark.physical_types import row_from_spark, row_to_spark
from dynamic_tables.on_spark.spark_backend import SparkBackend
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Action, Change, Contents, Delta
from dynamic_tables.values.errors import UserError
from dynamic_tables.values.types import Type
from strategies.dynamic.cases import RESULT_ROWS_MAX, STEPS, Case
from strategies.dynamic.contents import IntervalChanges, drawn_step

STEP = "step"


@dataclass(frozen=True)
class Intervals:
    """A query over intervals that follow each other.

    Attributes:
        versions: The contents of each source, before the first interval and after each.
        changes: The changes of each source in each interval.
    """

    query: Query
    types: Mapping[str, Sequence[Type]]
    versions: Sequence[Mapping[str, Contents]]
    changes: Sequence[Mapping[str, Delta]]


@dataclass(frozen=True)
class StepSource:
    """A source over all intervals at once."""

    before: RowFrame
    after: RowFrame
    changes: RowFrame


def drawn_intervals(random: Random, case: Case, steps: int = STEPS) -> Intervals:
    """Intervals of a case, up to the first after which the query fails or has too many rows."""
    bag = BagBackend()
    versions, changes = [case.contents], list[Mapping[str, Delta]]()
    while len(changes) < steps and is_small(bag, case.query, versions[-1]):
        sources = {
            table.identity: drawn_step(random, table, versions[-1][table.identity]) for table in case.tables
        }
        after = {identity: step.after for identity, step in sources.items()}
        if not is_small(bag, case.query, after):
            break
        versions.append(after)
        changes.append({identity: step.changes for identity, step in sources.items()})
    types = {table.identity: [field.type for field in table.fields] for table in case.tables}
    return Intervals(case.query, types, versions, changes)


def is_small(bag: BagBackend, query: Query, contents: Mapping[str, Contents]) -> bool:
    try:
        return len(bag.full(query, contents)) <= RESULT_ROWS_MAX
    except UserError:
        return False


def step_frame(spark: Any, versions: Sequence[Contents], types: Sequence[Type]) -> RowFrame:
    """Contents at several moments as one frame."""
    convert = row_to_spark(types)
    rows = [
        (step, row_id, *convert(row)) for step, rows in enumerate(versions) for row_id, row in rows.items()
    ]
    return RowFrame(as_data(spark, rows, frame_schema(types)), tuple(types), (STEP,))


def step_changes(spark: Any, deltas: Sequence[Delta], types: Sequence[Type]) -> RowFrame:
    """Changes over several intervals as one frame."""
    convert = row_to_spark(types)
    rows = [
        (step, change.action is Action.DELETE, change.row_id, *convert(change.row))
        for step, delta in enumerate(deltas)
        for change in delta
    ]
    schema = frame_schema(types, (DELETED,))
    return RowFrame(as_data(spark, rows, schema), tuple(types), (DELETED, STEP))


def as_data(spark: Any, rows: Sequence[Any], schema: StructType) -> Any:
    fields = [StructField(STEP, IntegerType()), *schema.fields]
    return spark.createDataFrame(rows, StructType(fields)).coalesce(1)


def with_steps(backend: SparkBackend, steps: int) -> SparkBackend:
    """The backend with constant rows, and no changes of them, at each of several moments."""

    def constants(relation: ConstantRows) -> Kernel:
        contents = dict(constants_kernel(relation)())
        types = [field.type for field in relation.fields]
        return lambda spark: step_frame(spark, [contents] * steps, types)

    def no_changes(evaluation: PlanEvaluation, plan: NoChanges) -> RowFrame:
        return step_changes(evaluation.spark, [], [field.type for field in plan.relation.fields])

    return SparkBackend(
        backend.spark,
        rules=backend.rules,
        pushdown=backend.pushdown,
        kernels={**backend.kernels, ConstantRows: constants},
        nodes={**backend.nodes, NoChanges: no_changes},
    )


def full_by_spark(backend: SparkBackend, intervals: Intervals) -> list[dict[str, Hashable]]:
    """The result at each moment, by Spark."""
    sources = {
        identity: step_frame(backend.spark, [version[identity] for version in intervals.versions], types)
        for identity, types in intervals.types.items()
    }
    frame = with_steps(backend, len(intervals.versions)).full(intervals.query, sources)
    results: list[dict[str, Hashable]] = [{} for _ in intervals.versions]
    convert = row_from_spark(frame.types)
    rows = frame.in_order().data.collect()
    for row in rows:
        results[row[0]][row[1]] = exact_key(convert(row[2:]))
    assert sum(map(len, results)) == len(rows), "two rows have one id"
    return results


def full_in_python(intervals: Intervals) -> list[dict[str, Hashable]]:
    """The result at each moment, by the backend in Python."""
    bag = BagBackend()
    results = [bag.full(intervals.query, version) for version in intervals.versions]
    return [{row_id: exact_key(row) for row_id, row in result.items()} for result in results]


def changes_by_spark(backend: SparkBackend, intervals: Intervals) -> list[Counter[Hashable]]:
    """The changes in each interval, by Spark."""
    before, after = intervals.versions[:-1], intervals.versions[1:]
    sources = {
        identity: StepSource(
            step_frame(backend.spark, [version[identity] for version in before], types),
            step_frame(backend.spark, [version[identity] for version in after], types),
            step_changes(backend.spark, [changes[identity] for changes in intervals.changes], types),
        )
        for identity, types in intervals.types.items()
    }
    frame = with_steps(backend, len(intervals.changes)).changes(intervals.query, sources)
    convert = row_from_spark(frame.types)
    deltas: list[list[Change]] = [[] for _ in intervals.changes]
    for deleted, step, row_id, *cells in frame.in_order().data.collect():
        action = Action.DELETE if deleted else Action.INSERT
        deltas[step].append(Change(action, row_id, convert(cells)))
    return [comparable(delta) for delta in deltas]


def changes_in_python(intervals: Intervals) -> list[Counter[Hashable]]:
    """The changes in each interval, by the backend in Python."""
    return [comparable(delta) for delta in python_deltas(intervals)]


def python_deltas(intervals: Intervals) -> Iterator[Delta]:
    bag, moments = BagBackend(), zip(intervals.versions, intervals.versions[1:], strict=False)
    for (before, after), changes in zip(moments, intervals.changes, strict=True):
        sources = {
            identity: IntervalChanges(before[identity], after[identity], delta)
            for identity, delta in changes.items()
        }
        yield bag.changes(intervals.query, sources)


def comparable(delta: Sequence[Change]) -> Counter[Hashable]:
    """Changes without an order, as what no expression tells apart: 1.10 is 1.1."""
    return Counter((change.action, change.row_id, exact_key(change.row)) for change in delta)
