"""Warehouses whose rows are too many for Python, as far as the limits of the tests say."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from warehouse_worlds import BASES, WarehouseWorld, drawn_write

from dynamic_tables.refreshes.actions import RefreshFailed, ValidationFailed
from dynamic_tables.values.changes import Action, Change
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.limits import Limits
from dynamic_tables.warehouse.results import ComputedChanges
from dynamic_tables.warehouse.stored_tables import WarehouseTable
from dynamic_tables.warehouse.warehouse import Warehouse
from pruning.errors import InputError

FEW = Limits(full_rows=0, read_rows=0, rows_per_change=0)
QUERIES = (
    "SELECT v, count(*) AS n, sum(k) AS s FROM a GROUP BY v",
    "SELECT a.k, a.v, b.w FROM a LEFT JOIN b ON a.v = b.v",
)


class SparkWorld(WarehouseWorld):
    """A warehouse in which Spark computes everything."""

    def __init__(self, directory: Path, spark: Any, limits: Limits = FEW) -> None:
        self.spark = spark
        self.limits = limits
        super().__init__(directory)

    def open(self) -> Warehouse:
        return Warehouse(self.directory, lambda: self.spark, now_us=self.time, limits=self.limits)


def world_of(tmp_path: Path, spark: Any, *statements: str, limits: Limits = FEW) -> SparkWorld:
    world = SparkWorld(tmp_path / "w", spark, limits)
    for statement in (*BASES, *statements):
        world.sql(statement)
    return world


def test_spark_refreshes_tables_to_what_their_queries_say(tmp_path: Path, spark: Any) -> None:
    """WAREHOUSE-1, where nothing is computed in Python: statements, rows, changes, comparisons."""
    random = Random(3)
    world = world_of(
        tmp_path, spark, "INSERT INTO a VALUES (1, 1), (2, 1), (3, 2)", "INSERT INTO b VALUES (1, 5)"
    )
    for number, query in enumerate(QUERIES):
        world.sql(f"CREATE DYNAMIC TABLE d{number} TARGET_LAG = '1 minute' AS {query}")
    for _ in range(1):
        world.sql(drawn_write(random))
        world.sql("INSERT INTO a VALUES (7, 1)")
        world.drive(50)
        assert not world.wrong_tables()
    actions = {event.body["action"] for event in world.events(EventKind.REFRESHED)}
    assert {"INCREMENTAL", "REINITIALIZE"} <= actions
    assert not world.events(EventKind.FAILED)


def test_spark_reads_columns_that_came_and_went(tmp_path: Path, spark: Any) -> None:
    """WAREHOUSE-7, where nothing is computed in Python."""
    world = world_of(tmp_path, spark, "INSERT INTO a VALUES (1, 1), (2, 1)")
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT v, count(*) AS n FROM a GROUP BY v")
    world.sql("CREATE DYNAMIC TABLE e TARGET_LAG = '1 minute' AS SELECT * FROM a")
    world.sql("ALTER TABLE a DROP COLUMN k")
    world.sql("ALTER TABLE a ADD COLUMN k TEXT")
    world.sql("UPDATE a SET v = 2 WHERE v = 1")
    world.sql("INSERT INTO a VALUES (3, 'x')")
    world.drive(60)
    assert world.rows("e") == [(2, None), (2, None), (3, "x")]
    actions = {state.name: state.action for state in world.warehouse.status()}
    assert actions == {"main.d": "INCREMENTAL", "main.e": "REINITIALIZE"}
    assert not world.wrong_tables()


def test_the_whole_result_is_computed_where_that_costs_less(tmp_path: Path, spark: Any) -> None:
    limits = Limits(full_rows=2, read_rows=2, rows_per_change=10)
    world = world_of(tmp_path, spark, "INSERT INTO a VALUES (1, 1), (2, 1), (3, 2)", limits=limits)
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a")
    world.sql("INSERT INTO a VALUES (4, 1), (5, 1), (6, 2)")
    world.drive(50)
    body = world.events(EventKind.REFRESHED)[-1].body
    assert (body["action"], body["cause"]) == ("FULL", "so much changed that the whole result costs less")
    assert (body["inserted"], body["deleted"]) == (6, 3)
    assert not world.wrong_tables()
    world.sql("DELETE FROM a WHERE k = 4")
    world.drive(50)
    assert not world.wrong_tables()


def test_rows_of_arrow_and_of_spark_are_added(tmp_path: Path, spark: Any) -> None:
    world = world_of(tmp_path, spark)
    rows = pa.table({"v": [5, None], "k": pa.array([1, 2], pa.int32())})
    assert world.warehouse.append("a", rows) == 2
    frame = spark.sql("SELECT 3 AS k, 6 AS v UNION ALL SELECT 4, NULL")
    assert world.warehouse.append("a", frame) == 2
    assert world.rows("a") == [(1, 5), (2, None), (3, 6), (4, None)]
    with pytest.raises(InputError, match="the rows have the columns v; the table has k, v"):
        world.warehouse.append("a", rows.select(["v"]))
    with pytest.raises(InputError, match="column v: "):
        world.warehouse.append("a", pa.table({"k": [1], "v": ["x"]}))
    with pytest.raises(InputError, match="the rows have the columns k; the table has k, v"):
        world.warehouse.append("a", frame.select("k"))


def test_the_session_of_the_user_stays_as_it_is(tmp_path: Path, spark: Any) -> None:
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    active = SparkSession.getActiveSession()
    assert active is not None
    world = world_of(tmp_path, spark, "INSERT INTO a VALUES (1, 1)")
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a")
    assert spark.conf.get("spark.sql.ansi.enabled") == ansi
    now = SparkSession.getActiveSession()
    assert now is not None
    assert now._jsparkSession.equals(active._jsparkSession)


WRONG = [
    (2, "[DELETE r, DELETE r]", "one row id twice"),
    (3, "[DELETE x]", "deletes row x, which does not exist"),
    (4, "[INSERT r]", "inserts row r, which exists"),
]


@pytest.mark.parametrize(("validation", "changes", "message"), WRONG)
def test_changes_in_frames_are_validated(
    tmp_path: Path, spark: Any, monkeypatch: Any, validation: int, changes: str, message: str
) -> None:
    """R-DVS-92, of changes that Spark computes; nothing is written."""
    world = world_of(tmp_path, spark, "INSERT INTO a VALUES (1, 1)")
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a")
    account = world.warehouse.account
    ((held_id, row),) = world.warehouse.contents("d").items()
    delta = tuple(
        Change(Action[word.split()[0]], held_id if word.endswith("r") else "x", row)
        for word in changes.strip("[]").split(", ")
    )
    fields = account.engine.dependencies(
        account.catalog.state, account.catalog.state.get("main.d")
    ).query.fields
    computed = ComputedChanges(fields, delta)
    monkeypatch.setattr(account.backend, "changes", lambda query, sources, held: computed)
    world.sql("INSERT INTO a VALUES (2, 2)")
    plan = account.begin("t3", world.time())
    with pytest.raises(RefreshFailed, match=message.replace(" r,", f" {held_id},")) as raised:
        account.engine.compute(plan)
    assert isinstance(raised.value, ValidationFailed)
    assert raised.value.validation == validation
    assert isinstance(account.tables["t3"], WarehouseTable)
    assert account.tables["t3"].latest.number == 1
