"""Drivers of a warehouse: one at a time, each commit under its lease, each with what the last one learnt."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from warehouse_worlds import BASES, SECOND_US, InlineDriver, WarehouseWorld

from dynamic_tables.refreshes.actions import RefreshPlan
from dynamic_tables.scheduling.events import StartRefresh
from dynamic_tables.warehouse.database import Database
from dynamic_tables.warehouse.driver import LEASE_US, Driver
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.leases import Lease, LeaseLost
from dynamic_tables.warehouse.stored_tables import WarehouseTable
from mutants.warehouses import DRIVER_MUTANTS
from pruning.errors import InputError

COPY = "CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a"


def world_of(tmp_path: Path, *statements: str, driver: type[Driver] = InlineDriver) -> WarehouseWorld:
    world = WarehouseWorld(tmp_path / "w", driver=driver)
    for statement in (*BASES, "INSERT INTO a VALUES (1, 1)", *statements):
        world.sql(statement)
    return world


class Paused(InlineDriver):
    """A driver that stops for a while after it computed, as by SIGSTOP; another one takes over meanwhile."""

    def submit(self, order: StartRefresh, plan: RefreshPlan) -> None:
        super().submit(order, plan)
        self.meanwhile()

    def meanwhile(self) -> None:
        """Do nothing while it is paused; tests replace this."""


def paused_while_another_drives(tmp_path: Path, kind: type[Driver]) -> tuple[WarehouseWorld, Any]:
    """A driver with a computed refresh wakes up after another driver refreshed the table."""

    paused_kind: Any = type("PausedKind", (Paused, kind), {})

    world = world_of(tmp_path, COPY)
    first = paused_kind(world.open().account)
    world.sql("INSERT INTO a VALUES (2, 2)")

    def meanwhile() -> None:
        first.meanwhile = lambda: None
        world.now_us += 2 * LEASE_US
        world.sql("INSERT INTO a VALUES (3, 3)")
        world.drive(50)

    first.meanwhile = meanwhile
    return world, first


def test_a_driver_that_was_paused_does_not_commit(tmp_path: Path) -> None:
    """WAREHOUSE-3. Its lease was taken over, so that what it computed is dropped."""
    world, first = paused_while_another_drives(tmp_path, InlineDriver)
    world.drive(100, first)
    actions = [event.body["action"] for event in world.events(EventKind.DRIVER)]
    # After the one that created the table: the paused one, the other one, and the paused one as it wakes.
    assert actions[2:] == ["began", "began", "ended", "lost its lease"]
    assert world.rows("d") == [(1,), (2,), (3,)]
    assert not world.wrong_tables()


@pytest.mark.parametrize("mutant", DRIVER_MUTANTS)
def test_a_driver_without_its_token_would(tmp_path: Path, mutant: str) -> None:
    """The mutants of WAREHOUSE-3: they go on without noticing that they lost their lease."""
    world, first = paused_while_another_drives(tmp_path, DRIVER_MUTANTS[mutant])
    world.drive(100, first)
    actions = [event.body["action"] for event in world.events(EventKind.DRIVER)]
    assert "lost its lease" not in actions


def test_two_drivers_refresh_each_tick_once(tmp_path: Path) -> None:
    """WAREHOUSE-4. One waits for the lease of the other, and takes over when it ends."""
    world = world_of(tmp_path, COPY)
    for number in range(4):
        world.sql(f"INSERT INTO a VALUES ({10 + number}, 0)")
        world.drive(60, InlineDriver(world.open().account))
    refreshed = [event.body["data_us"] for event in world.events(EventKind.REFRESHED)]
    assert len(refreshed) == len(set(refreshed)) > 4


def test_a_lease_is_taken_by_one(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    database = world.warehouse.account.database
    first, second = Lease(database, 10), Lease(database, 10)
    assert first.take(100)
    assert not second.take(109)
    first.renew(105)
    assert first.present_holder(114) == first.holder
    assert not second.take(114)
    assert second.take(115)
    with pytest.raises(LeaseLost):
        first.renew(116)
    first.release()
    assert first.present_holder(120) is not None
    second.release()
    assert first.present_holder(120) is None


def test_refreshes_without_changes_are_one_transaction(tmp_path: Path, monkeypatch: Any) -> None:
    """A tick on which nothing changed costs one commit of the catalog, however deep the graph is."""
    world = world_of(
        tmp_path,
        COPY,
        "CREATE DYNAMIC TABLE e TARGET_LAG = '1 minute' AS SELECT k FROM d",
        "CREATE DYNAMIC TABLE f TARGET_LAG = '1 minute' AS SELECT k FROM e",
    )
    world.drive(1)
    commit, counts = Database.commit, []

    def count_and_commit(database: Database) -> None:
        counts.append(database.rows("SELECT count(*) FROM refreshes")[0][0])
        commit(database)

    monkeypatch.setattr(Database, "commit", count_and_commit)
    world.drive(60)
    refreshed = [event.body["action"] for event in world.events(EventKind.REFRESHED)][-3:]
    assert refreshed == ["NO_DATA"] * 3
    assert sorted(set(counts)) == [min(counts), min(counts) + 3]
    files = world.warehouse.account.tables["t3"].files
    assert files.latest().number == 1, "no version was made"


def test_a_frontier_in_the_catalog_counts_for_its_version_alone(tmp_path: Path) -> None:
    """The row of a refresh without changes says nothing of a table that was written since."""
    world = world_of(tmp_path, COPY)
    world.drive(60)
    table = world.warehouse.account.tables["t3"]
    without_changes = table.frontier
    assert without_changes is not None
    with world.warehouse.account.database.transaction():
        world.warehouse.account.database.run("UPDATE refreshes SET version = version + 1 WHERE data_us > 0")
    before = table.frontier
    assert before is not None
    assert before.data_us < without_changes.data_us


FAILING = (
    "CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' INITIALIZE = ON_SCHEDULE AS SELECT 1 / k AS x FROM a"
)


def test_errors_in_a_row_suspend_a_table_over_several_drivers(tmp_path: Path) -> None:
    """R-DVS-34. The number of errors outlives a driver."""
    world = world_of(tmp_path, "INSERT INTO a VALUES (0, 0)", FAILING)
    for _ in range(3):
        world.drive(100)
        world.reopen()
    (state,) = world.warehouse.status()
    assert (state.state, state.detail) == ("suspended", "more than 5 refreshes in a row failed")
    assert len(world.events(EventKind.FAILED)) == 6
    world.sql("DELETE FROM a WHERE k = 0")
    world.sql("ALTER DYNAMIC TABLE d RESUME")
    world.drive(100)
    assert world.rows("d") == [(1,)]
    (state,) = world.warehouse.status()
    assert (state.state, state.errors) == ("ok", 0)


def test_expected_costs_outlive_a_driver(tmp_path: Path) -> None:
    world = world_of(tmp_path, COPY)
    world.sql("INSERT INTO a VALUES (2, 2)")
    world.drive(60)
    (before,) = world.warehouse.status()
    assert before.cost_us > 0
    driver = InlineDriver(world.open().account)
    world.drive(3, driver)
    assert driver.scheduler.status("t3").cost_us == before.cost_us


def test_a_failed_refresh_of_the_system_is_tried_again(tmp_path: Path, monkeypatch: Any) -> None:
    """The disk is full once; the next attempt succeeds."""
    world = world_of(tmp_path, COPY)
    stage, failures = WarehouseTable.stage, [OSError("the disk is full")]

    def stage_or_fail(table: WarehouseTable, computed: Any) -> Any:
        if failures:
            raise failures.pop()
        return stage(table, computed)

    monkeypatch.setattr(WarehouseTable, "stage", stage_or_fail)
    world.sql("INSERT INTO a VALUES (2, 2)")
    world.drive(60)
    (failure,) = world.events(EventKind.FAILED)
    assert (failure.body["fault"], failure.body["message"]) == ("SYSTEM", "OSError: the disk is full")
    assert world.rows("d") == [(1,), (2,)]


def test_a_manual_refresh_that_fails_says_why(tmp_path: Path) -> None:
    world = world_of(tmp_path, FAILING, "CREATE DYNAMIC TABLE e TARGET_LAG = '1 minute' AS SELECT x FROM d")
    world.sql("INSERT INTO a VALUES (0, 0)")
    with pytest.raises(InputError, match=r"main\.d was not refreshed: division by zero"):
        world.warehouse.refresh("d")
    with pytest.raises(InputError, match=r"main\.e was not refreshed: main\.d: division by zero"):
        world.warehouse.refresh("e")
    with pytest.raises(InputError, match="only dynamic tables are refreshed"):
        world.warehouse.refresh("a")


def test_another_process_holds_the_catalog_for_too_long(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("dynamic_tables.warehouse.database.WAIT_SECONDS", 0.05)
    world = world_of(tmp_path)
    other = world.open()
    holder = sqlite3.connect(tmp_path / "w" / "catalog.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(InputError, match="in use by another process that does not answer"):
        other.sql("INSERT INTO a VALUES (5, 5)")
    holder.execute("ROLLBACK")
    other.sql("INSERT INTO a VALUES (5, 5)")
    assert world.rows("a") == [(1, 1), (5, 5)]


def test_statements_of_other_processes_reach_a_running_driver(tmp_path: Path) -> None:
    """A table that is created, altered and dropped while a driver runs."""
    world = world_of(tmp_path)
    other = world.open()
    driver = InlineDriver(world.warehouse.account)
    steps = iter(
        [
            lambda: other.sql(COPY.replace("AS SELECT", "INITIALIZE = ON_SCHEDULE AS SELECT")),
            lambda: other.sql("INSERT INTO a VALUES (2, 2)"),
            lambda: other.sql("ALTER DYNAMIC TABLE d SET TARGET_LAG = '10 minutes'"),
            lambda: other.sql("DROP TABLE d"),
        ]
    )
    end_us = world.now_us + 400 * SECOND_US

    def is_over() -> bool:
        world.now_us += SECOND_US
        if (world.now_us // SECOND_US) % 60 == 0:
            next(steps, lambda: None)()
            world.now_us += SECOND_US
        return world.now_us >= end_us

    driver.run(is_over)
    actions = [event.body["action"] for event in world.events(EventKind.REFRESHED)]
    assert actions[0] == "REINITIALIZE"
    assert "INCREMENTAL" in actions
    assert driver.scheduler.status("t3") is None


def test_a_commit_that_the_disk_refuses_is_tried_again(tmp_path: Path, monkeypatch: Any) -> None:
    world = world_of(tmp_path, COPY)
    commit, failures = WarehouseTable.commit_refresh, [OSError("the disk is full")]

    def commit_or_fail(table: WarehouseTable, frontier: Any, staged: Any) -> None:
        if staged.changes and failures:
            raise failures.pop()
        commit(table, frontier, staged)

    monkeypatch.setattr(WarehouseTable, "commit_refresh", commit_or_fail)
    world.sql("INSERT INTO a VALUES (2, 2)")
    world.drive(60)
    (failure,) = world.events(EventKind.FAILED)
    assert failure.body["message"] == "the disk is full"
    assert world.rows("d") == [(1,), (2,)]


def test_a_table_without_contents_is_not_compacted(tmp_path: Path) -> None:
    world = world_of(tmp_path, COPY.replace("AS SELECT", "INITIALIZE = ON_SCHEDULE AS SELECT"))
    assert world.warehouse.compact("d")
    assert world.warehouse.account.tables["t3"].latest.number == 0
    world.drive(60)
    assert world.rows("d") == [(1,)]


def test_a_request_outlives_the_driver_that_took_it(tmp_path: Path) -> None:
    """The next driver takes it again, until the process that requested it has what it waits for."""
    world = world_of(tmp_path, COPY)
    account = world.warehouse.account
    driver = InlineDriver(world.open().account)
    assert driver.lease.take(driver.now_us())
    with account.database.transaction():
        account.database.run("INSERT INTO requests VALUES (NULL, ?, ?, -1)", "t3", world.time())
    assert len(driver.take_requests()) == 1
    assert driver.take_requests() == []
    world.now_us += 2 * LEASE_US
    before = account.tables["t3"].frontier
    world.drive(3)
    after = account.tables["t3"].frontier
    assert before is not None
    assert after is not None
    assert after.data_us > before.data_us
    with pytest.raises(LeaseLost):
        driver.take_requests() or driver.lease.check()
