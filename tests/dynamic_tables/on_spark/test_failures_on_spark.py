"""Queries that fail over their rows fail on Spark with the errors of the backend in Python."""

from typing import Any

import pytest
from pyspark.errors import PySparkException

from dynamic_tables.bags.aggregates import aggregate
from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.algebra import Group, Project, Relation, Scan
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.on_spark.failures import user_errors
from dynamic_tables.on_spark.few_changes import FrameSource
from dynamic_tables.on_spark.frames import changes_frame, contents_of, delta_of, frame_of
from dynamic_tables.on_spark.spark_backend import SparkBackend, exact_settings
from dynamic_tables.values.changes import Action, Change
from dynamic_tables.values.errors import DivisionByZero, Overflow, UserError
from dynamic_tables.values.expressions import Column
from dynamic_tables.values.functions import call
from dynamic_tables.values.types import INTEGER, Field

FIELDS = (Field("a", INTEGER), Field("b", INTEGER))
TABLE = Scan("T", FIELDS)
A, B = Column(0, INTEGER), Column(1, INTEGER)
LARGE = 10**38 - 1
ROWS = {"r1": (1, 0), "r2": (LARGE, LARGE)}
FAILING: dict[str, tuple[Relation, type[UserError]]] = {
    "division, in Python": (Project(TABLE, (call("/", A, B),), ("x",)), DivisionByZero),
    "addition, in Spark": (Project(TABLE, (call("+", A, B),), ("x",)), Overflow),
    "sum, in Python": (Group(TABLE, (call("-", A, A),), (aggregate("sum", A),), ("k", "x")), Overflow),
}


@pytest.mark.parametrize("name", FAILING)
def test_full_evaluation_fails_alike(spark: Any, name: str) -> None:
    relation, error = FAILING[name]
    with pytest.raises(error):
        BagBackend().full(Query(relation), {"T": ROWS})
    with exact_settings(spark):
        sources = {"T": frame_of(spark, ROWS, (INTEGER, INTEGER))}
        frame = SparkBackend(spark).full(Query(relation), sources)
        with pytest.raises(error):
            contents_of(frame)


def test_changes_fail_alike(spark: Any) -> None:
    """Also where Spark fails while it keeps nodes of the plan, before the changes are read."""
    types = (INTEGER, INTEGER)
    delta = (Change(Action.INSERT, "r1", ROWS["r1"]),)
    for name in ("division, in Python", "sum, in Python"):
        relation = FAILING[name][0]
        rows = ROWS if "sum" in name else {"r1": ROWS["r1"]}
        with exact_settings(spark):
            none = frame_of(spark, {key: row for key, row in rows.items() if key != "r1"}, types)
            source = FrameSource(none, frame_of(spark, rows, types), changes_frame(spark, delta, types))
            with pytest.raises(FAILING[name][1]):
                delta_of(SparkBackend(spark).changes(Query(relation), {"T": source}))


def test_other_failures_stay_as_they_are(spark: Any) -> None:
    with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"), user_errors():
        spark.range(1).select("nothing")
