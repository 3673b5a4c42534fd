"""A process that ends at any call that changes a warehouse leaves what the next one goes on with."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from crashing import Crash, crash_at
from store_writes import writes_of
from warehouse_worlds import BASES, WarehouseWorld

from dynamic_tables.stores.formats import LOGS
from dynamic_tables.warehouse.database import Database
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.stored_tables import WarehouseTable
from mutants.warehouses import TABLE_MUTANTS
from pruning.errors import InputError

CATALOG_WRITES = [(Database, "run"), (Database, "commit")]
# One call in so many is tried by default; all are in the deep profile.
STRIDE = 9


def world_of(directory: Path, format: str) -> WarehouseWorld:
    world = WarehouseWorld(directory, format=format)
    for statement in (
        *BASES,
        "INSERT INTO a VALUES (1, 1), (2, 1)",
        "INSERT INTO b VALUES (1, 5)",
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT v, count(*) AS n FROM a GROUP BY v",
        "CREATE DYNAMIC TABLE e TARGET_LAG = '1 minute' AS SELECT d.n, b.w FROM d JOIN b ON d.v = b.v",
        "CREATE DYNAMIC TABLE f TARGET_LAG = '1 minute' AS SELECT w FROM b",
    ):
        world.sql(statement)
    return world


def work(world: WarehouseWorld) -> None:
    """A change of a base table, a tick that has nothing for one of three tables, and a statement."""
    world.sql("INSERT INTO a VALUES (3, 1)")
    world.drive(50)
    world.sql("CREATE VIEW g AS SELECT k FROM a")


def crashed_world(
    directory: Path,
    number: int,
    *,
    after: bool,
    writes: Sequence[tuple[Any, str]],
    format: str = "parquet",
) -> tuple[WarehouseWorld, bool]:
    """A world whose process ended at a call, as the next process finds it; True if it came to its end."""
    world = world_of(directory, format)
    finished = False
    try:
        with crash_at(writes, number, after=after):
            work(world)
            finished = True
    except Crash:
        pass
    # The lease of the dead ends.
    world.now_us += 60_000_000
    world.reopen()
    return world, finished


def assert_goes_on(world: WarehouseWorld) -> None:
    """Tables are what their queries say, before and after the next driver; no data timestamp comes twice."""
    assert not world.wrong_tables()
    for name in "def":
        assert world.rows(name), "a table that had contents has some"
    assert world.rows("a") in ([(1, 1), (2, 1)], [(1, 1), (2, 1), (3, 1)])
    world.sql("INSERT INTO a VALUES (4, 1)")
    world.drive(100)
    assert not world.wrong_tables()
    assert len(world.rows("a")) == world.rows("d")[0][1]
    assert {state.state for state in world.warehouse.status()} == {"ok"}
    refreshed = [(event.identity, event.body["data_us"]) for event in world.events(EventKind.REFRESHED)]
    assert len(refreshed) == len(set(refreshed))
    world.warehouse.collect_orphans(staged_before=time.time() + 60)
    assert not world.wrong_tables()


def crash_at_each(directory: Path, first: int, stride: int, *, after: bool, format: str) -> None:
    """Crashes at calls in the distance of a stride, as many as the work has."""
    number, finished, writes = first, False, [*writes_of(format), *CATALOG_WRITES]
    while not finished:
        place = directory / str(number)
        world, finished = crashed_world(place, number, after=after, writes=writes, format=format)
        assert_goes_on(world)
        number += stride
    assert number > 3 * STRIDE, "the work has this many calls"


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_is_survived(tmp_path: Path, after: bool) -> None:
    """WAREHOUSE-5."""
    crash_at_each(tmp_path, int(after), STRIDE, after=after, format="parquet")


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_crash_is_survived_in_other_formats(tmp_path: Path, format: str) -> None:
    """WAREHOUSE-5."""
    crash_at_each(tmp_path, 4, 5 * STRIDE, after=True, format=format)


@pytest.mark.deep
@pytest.mark.parametrize("format", LOGS)
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_call_is_survived(tmp_path: Path, after: bool, format: str) -> None:
    """WAREHOUSE-5."""
    crash_at_each(tmp_path, 0, 1, after=after, format=format)


@pytest.mark.parametrize("mutant", TABLE_MUTANTS)
def test_a_table_that_is_wrong_after_crashes_is_found_out(
    tmp_path: Path, monkeypatch: Any, mutant: str
) -> None:
    """The mutants of WAREHOUSE-5."""
    for name, wrong in TABLE_MUTANTS[mutant].items():
        monkeypatch.setattr(WarehouseTable, name, wrong)

    def search() -> None:
        for number in range(90):
            world, finished = crashed_world(tmp_path / str(number), number, after=True, writes=[(os, "link")])
            assert_goes_on(world)
            if finished:
                return

    with pytest.raises((AssertionError, InputError)):
        search()
