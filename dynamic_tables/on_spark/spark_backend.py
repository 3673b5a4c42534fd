"""The backend that computes queries and their changes by Spark, over rows of any number."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.algebra import Relation, Scan, inputs
from dynamic_tables.maintenance.differentiation import RULES, Rules, differentiate
from dynamic_tables.maintenance.plans import Changes
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.maintenance.restriction import KEY_PUSHDOWN, KeyPushdown
from dynamic_tables.on_spark.changes import NODES, Nodes, PlanEvaluation, SparkSource
from dynamic_tables.on_spark.failures import user_errors
from dynamic_tables.on_spark.few_changes import (
    ROWS_MAX,
    FewRowsInterval,
    HeldRows,
    KeyedSource,
    TooManyRows,
)
from dynamic_tables.on_spark.frames import RowFrame
from dynamic_tables.on_spark.operators import KERNELS, Kernels
from dynamic_tables.values.changes import Delta

# Instants are those of the clock that they were written by, what has no exact result fails, and a limited
# number of rows is read in one job.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.limit.initialNumPartitions": "100000",
}


@contextmanager
def exact_settings(spark: SparkSession) -> Iterator[None]:
    """Give a session the settings that expressions and ids need, and its own ones back afterwards."""
    old = {name: spark.conf.get(name) for name in SETTINGS}
    other = {name: value for name, value in SETTINGS.items() if value != old[name]}
    for name, value in other.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in other:
            spark.conf.set(name, old[name])


class SparkBackend:
    """A backend over DataFrames; it keeps the plan of a query's changes for as long as the query lives.

    Args:
        spark: The session that computes.
        rules, pushdown, kernels, nodes: The implementations of operators and plans; a mutant passes others.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        rules: Rules = RULES,
        pushdown: KeyPushdown = KEY_PUSHDOWN,
        kernels: Kernels = KERNELS,
        nodes: Nodes = NODES,
    ) -> None:
        self.spark = spark
        self.rules = rules
        self.pushdown = pushdown
        self.kernels = kernels
        self.nodes = nodes
        self.bag = BagBackend(rules=rules, pushdown=pushdown)
        self.plans: WeakKeyDictionary[Query, Changes] = WeakKeyDictionary()

    def full(self, query: Query, sources: Mapping[str, RowFrame]) -> RowFrame:
        """Return the query's result, by the rows of its sources."""
        with exact_settings(self.spark):
            return self.rows(query.relation, sources)

    def rows(self, relation: Relation, sources: Mapping[str, RowFrame]) -> RowFrame:
        """Return the rows of a relation."""
        kernel = self.kernels[type(relation)](relation)
        if isinstance(relation, Scan):
            return kernel(sources[relation.source])
        below = [self.rows(child, sources) for child in inputs(relation)]
        return kernel(*below) if below else kernel(self.spark)

    def few_changes(
        self,
        query: Query,
        sources: Mapping[str, KeyedSource],
        held: HeldRows | None = None,
        rows_max: int = ROWS_MAX,
    ) -> Delta | None:
        """Return the changes over the interval if they depend on few rows of each source; else None.

        Args:
            query: The query.
            sources: By identity, each over the interval.
            held: The result before the interval, if it is at hand.
            rows_max: The most rows of changes of a source, and of rows that are read of it at a moment.
        """
        query.require_incremental()
        with exact_settings(self.spark):
            try:
                return self.bag.changes_over(query, FewRowsInterval(sources, rows_max, held))
            except TooManyRows:
                return None

    def changes(self, query: Query, sources: Mapping[str, SparkSource]) -> RowFrame:
        """Return the changes of the query's result over the interval of its sources.

        Raises:
            UserError: The query failed on these rows; it may also fail when the frame is read.
            Refused: The query cannot be maintained incrementally.
        """
        query.require_incremental()
        plan = self.plans.get(query)
        if plan is None:
            plan = self.plans[query] = differentiate(query.relation, self.rules, self.pushdown)
        with exact_settings(self.spark), user_errors():
            return PlanEvaluation(self.spark, plan, sources, self.kernels, self.nodes).result()
