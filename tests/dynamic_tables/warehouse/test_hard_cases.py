"""Cases that are hard for users of dynamic tables ([D] 6.4), and what a warehouse offers for each."""

import contextlib
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from warehouse_worlds import BASES, QUERIES, WarehouseWorld, drawn_write

import dynamic_tables
from dynamic_tables.warehouse.backend import WarehouseBackend
from dynamic_tables.warehouse.events import EventKind
from pruning.errors import InputError

MINUTE = "TARGET_LAG = '1 minute'"
UNPAID = "SELECT p.k FROM paid p LEFT JOIN received r ON p.k = r.k WHERE r.k IS NULL"


def world_of(tmp_path: Path, *statements: str) -> WarehouseWorld:
    world = WarehouseWorld(tmp_path / "w")
    for statement in statements:
        world.sql(statement)
    return world


def test_expired_rows_leave_the_results_too_and_are_kept_where_they_are_copied(tmp_path: Path) -> None:
    """Data expiry: a dynamic table is its query, so what the sources lose it loses; copied rows stay."""
    world = world_of(
        tmp_path,
        "CREATE TABLE visits (day INTEGER, visitor TEXT)",
        "CREATE TABLE archive (day INTEGER, n INTEGER)",
        "INSERT INTO visits VALUES (1, 'x'), (1, 'y'), (2, 'x')",
        f"CREATE DYNAMIC TABLE days {MINUTE} AS SELECT day, count(*) AS n FROM visits GROUP BY day",
        "INSERT INTO archive SELECT * FROM days WHERE day < 2",
        "DELETE FROM visits WHERE day < 2",
    )
    world.drive(60)
    assert world.rows("days") == [(2, 1)]
    assert world.rows("archive") == [(1, 2)]
    assert world.events(EventKind.REFRESHED)[-1].body["action"] == "INCREMENTAL"
    assert not world.wrong_tables()


def test_tables_of_different_ages_give_alerts_that_one_data_timestamp_does_not(tmp_path: Path) -> None:
    """Spurious alerts: two tables are each right, and not at the same moment.

    A query over both gives a payment without an order, which never was. The same query as of one data
    timestamp, or as a dynamic table, does not.
    """
    world = world_of(
        tmp_path,
        "CREATE TABLE orders (k INTEGER)",
        "CREATE TABLE payments (k INTEGER)",
        "CREATE DYNAMIC TABLE paid TARGET_LAG = '1 minute' AS SELECT DISTINCT k FROM payments",
        "CREATE DYNAMIC TABLE received TARGET_LAG = '10 minutes' AS SELECT DISTINCT k FROM orders",
        f"CREATE DYNAMIC TABLE alerts TARGET_LAG = '10 minutes' AS {UNPAID}",
    )
    direct: set[Any] = set()
    for k in range(10):
        world.sql(f"INSERT INTO orders VALUES ({k})")
        world.sql(f"INSERT INTO payments VALUES ({k})")
        world.drive(60)
        direct.update(world.sql(UNPAID).rows)
        assert world.rows("alerts") == []
        data_us = min(state.data_us for state in world.warehouse.status() if state.data_us is not None)
        assert world.warehouse.query(UNPAID, as_of_us=data_us).rows == ()
    assert direct


def test_an_action_for_each_row_is_taken_once(tmp_path: Path) -> None:
    """Irrevocable actions: a row keeps its id as long as it stays, however the table is refreshed.

    So a consumer that remembers ids never repeats its action for a row, and does not miss one.
    """
    query = "SELECT v, count(*) AS n FROM a GROUP BY v"
    world = world_of(
        tmp_path,
        *BASES,
        f"CREATE DYNAMIC TABLE inc TARGET_LAG = '1 minute' AS {query}",
        f"CREATE DYNAMIC TABLE whole TARGET_LAG = '1 minute' REFRESH_MODE = FULL AS {query}",
    )
    acted: dict[str, Any] = {}
    random, stayed = Random(4), 0
    for _ in range(12):
        world.sql(drawn_write(random))
        world.drive(60)
        rows = world.warehouse.contents("inc")
        assert rows == world.warehouse.contents("whole")
        stayed += len(acted.keys() & rows.keys())
        for row_id, (v, _) in rows.items():
            assert acted.setdefault(row_id, v) == v
        assert len(acted) == len(set(acted.values()))
    assert stayed > 10


@pytest.mark.parametrize("seed", range(2))
def test_full_and_incremental_refreshes_give_the_same_rows_and_ids(tmp_path: Path, seed: int) -> None:
    """R-DVS-111. One workload, each query in both modes, compared at each data timestamp."""
    random, world = Random(seed), world_of(tmp_path, *BASES)
    for number, query in enumerate(QUERIES):
        for mode in ("full", "auto"):
            world.sql(f"CREATE DYNAMIC TABLE {mode}_{number} {MINUTE} REFRESH_MODE = {mode} AS {query}")
    for _ in range(8):
        for _ in range(3):
            world.sql(drawn_write(random))
        world.drive(60)
        assert len({state.data_us for state in world.warehouse.status()}) == 1
        for number in range(len(QUERIES)):
            whole, changed = (world.warehouse.contents(f"{mode}_{number}") for mode in ("full", "auto"))
            assert whole == changed
    actions = {event.body["action"] for event in world.events(EventKind.REFRESHED)}
    assert {"FULL", "INCREMENTAL"} <= actions


def test_a_driver_without_spark_ends(tmp_path: Path, monkeypatch: Any) -> None:
    """It would fail all refreshes from then on; a new process refreshes them."""
    world = world_of(tmp_path, *BASES, "INSERT INTO a VALUES (1, 1)")
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a")
    world.sql("INSERT INTO a VALUES (2, 1)")

    def refuse(*_: Any) -> Any:
        raise ConnectionRefusedError("Connection refused")

    with monkeypatch.context() as patches:
        patches.setattr(WarehouseBackend, "changes", refuse)
        patches.setattr(WarehouseBackend, "has_lost_spark", lambda backend: True)
        with pytest.raises(InputError, match="Spark has ended: start the driver in a new process"):
            world.drive(60)
    assert world.warehouse.driven_by() is None
    world.reopen()
    world.drive(60)
    assert world.rows("d") == [(1,), (2,)]


LOSING = """
import os
import signal
import sys

import dynamic_tables
from dynamic_tables.warehouse.limits import Limits
from dynamic_tables.warehouse.warehouse import Warehouse
from pruning.errors import InputError
from skipproof.sessions import spark_session

dynamic_tables.init(sys.argv[1])
few = Limits(full_rows=0, read_rows=0, rows_per_change=0)
with spark_session() as spark:
    warehouse = Warehouse(sys.argv[1], lambda: spark, limits=few)
    warehouse.sql("CREATE TABLE a (k INTEGER)")
    warehouse.append("a", spark.range(3).withColumnRenamed("id", "k"))
    warehouse.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT DISTINCT k FROM a")
    warehouse.append("a", spark.range(4).withColumnRenamed("id", "k"))
    os.kill(int(spark._jvm.java.lang.ProcessHandle.current().pid()), signal.SIGKILL)
    try:
        warehouse.refresh("d")
    except InputError as error:
        print(error, flush=True)
    os._exit(0)
"""


@pytest.mark.deep
def test_a_refresh_whose_spark_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """The next process finds the table as it was, and refreshes it."""
    place = tmp_path / "w"
    script = [sys.executable, "-c", LOSING, str(place)]
    ended = subprocess.run(script, capture_output=True, text=True, timeout=300, check=True)
    assert ended.stdout.splitlines()[-1] == "Spark has ended: start the driver in a new process"
    with contextlib.closing(dynamic_tables.open(place)) as warehouse:
        assert len(warehouse.contents("d")) == 3
        warehouse.refresh("d")
        assert len(warehouse.contents("d")) == 4
