"""The backend of a warehouse: few rows are computed in Python, any number by Spark."""

import threading
from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession

from dynamic_tables.bags.backends import FullIsCheaper
from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.algebra import Opaque
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.on_spark import engine_queries
from dynamic_tables.on_spark.failures import has_ended
from dynamic_tables.on_spark.few_changes import FewRowsInterval, TooManyRows
from dynamic_tables.on_spark.spark_backend import SparkBackend
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.stores.parquet_intervals import ParquetInterval, VersionRows
from dynamic_tables.warehouse.limits import LIMITS, Limits
from dynamic_tables.warehouse.results import ComputedChanges, ComputedRows


class WarehouseBackend:
    """A backend over the versions of stored tables.

    Args:
        spark: Returns the session that computes what is too much for Python.
        limits: The numbers of rows above which Spark computes.
    """

    def __init__(self, spark: Callable[[], SparkSession], limits: Limits = LIMITS) -> None:
        self.spark = spark
        self.limits = limits
        self.bag = BagBackend()
        self.spark_backend: SparkBackend | None = None
        self.views = threading.Lock()

    def on_spark(self) -> SparkBackend:
        """Return the backend on Spark, which starts with its first use."""
        if self.spark_backend is None:
            self.spark_backend = SparkBackend(self.spark())
        return self.spark_backend

    def has_lost_spark(self) -> bool:
        """Tell whether Spark has computed something for this process, and will no more."""
        return self.spark_backend is not None and has_ended(self.spark_backend.spark)

    def full(self, query: Query, sources: Mapping[TableId, VersionRows]) -> ComputedRows:
        """Return the query's result.

        Raises:
            UserError: The query failed on these rows; of rows in Spark, it may also fail when they are read.
        """
        if isinstance(query.relation, Opaque):
            return self.engine_rows(query.relation, sources)
        if sum(source.written_count for source in sources.values()) <= self.limits.full_rows:
            contents = {
                identity: source.few_contents(self.limits.full_rows) for identity, source in sources.items()
            }
            return ComputedRows(query.fields, self.bag.full(query, contents))
        backend = self.on_spark()
        frames = {identity: source.frame(backend.spark) for identity, source in sources.items()}
        return ComputedRows(query.fields, backend.full(query, frames))

    def engine_rows(self, query: Opaque, sources: Mapping[TableId, VersionRows]) -> ComputedRows:
        """Return the rows of a query in Spark's own SQL; tables are temporary views of one session."""
        with self.views:
            backend = self.on_spark()
            frames = {identity: source.frame(backend.spark) for identity, source in sources.items()}
            children = [backend.full(Query(child), frames) for child in query.children]
            return ComputedRows(query.fields, engine_queries.compute(backend.spark, query, children))

    def changes(
        self, query: Query, sources: Mapping[TableId, ParquetInterval], held: VersionRows | None = None
    ) -> ComputedChanges:
        """Return the changes of the query's result over the interval.

        Raises:
            UserError: The query failed on these rows; of rows in Spark, it may also fail when they are read.
            Refused: The query cannot be maintained incrementally.
            FullIsCheaper: So much changed that the whole result costs less.
        """
        try:
            delta = self.bag.changes_over(query, FewRowsInterval(sources, self.limits.read_rows, held))
            return ComputedChanges(query.fields, delta)
        except TooManyRows:
            changed = sum(
                interval.new.changed_count - interval.old.changed_count for interval in sources.values()
            )
            rows = sum(interval.snapshots[1].written_count for interval in sources.values())
            if changed * self.limits.rows_per_change > rows:
                raise FullIsCheaper from None
        return ComputedChanges(query.fields, self.on_spark().changes(query, sources))
