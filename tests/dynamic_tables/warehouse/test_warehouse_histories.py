"""Recorded histories of warehouses, judged by the checker of isolation ([D] 4 and 6.1)."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from warehouse_worlds import BASES, SECOND_US, InlineDriver, WarehouseWorld, drawn_write

from dynamic_tables.warehouse.histories import ALONE, multi_table_reads
from dynamic_tables.warehouse.stored_tables import WarehouseTable
from mutants.warehouses import HISTORY_MUTANTS
from oracles.isolation import Verdict, check

TABLES = (
    "CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT v, count(*) AS n FROM a GROUP BY v",
    "CREATE DYNAMIC TABLE e TARGET_LAG = '2 minutes' AS SELECT a.k, b.w FROM a JOIN b ON a.v = b.v",
    "CREATE DYNAMIC TABLE f TARGET_LAG = '2 minutes' AS SELECT d.n, e.w FROM d JOIN e ON d.n = e.k",
)
READS = (
    "SELECT * FROM d",
    "SELECT * FROM f",
    "SELECT d.n, e.w FROM d, e",
    "SELECT f.n, a.k FROM f, a",
    "SELECT d.n FROM d, b, e",
)


def recorded_world(directory: Path, steps: int, seed: int = 0) -> WarehouseWorld:
    """Writers, readers of one and of several tables, and a driver, each step in between the others."""
    world, random = WarehouseWorld(directory), Random(seed)
    for statement in (*BASES, "INSERT INTO a VALUES (1, 1)", "INSERT INTO b VALUES (1, 1)", *TABLES):
        world.sql(statement)
    reader = world.open()
    reader.records_reads = True
    done = 0

    def is_over() -> bool:
        nonlocal done
        done += 1
        world.now_us += random.randrange(1, 20) * SECOND_US
        for _ in range(random.randrange(6)):
            reader.sql(random.choice(READS))
        world.sql(drawn_write(random))
        return done >= steps

    InlineDriver(world.open().account).run(is_over)
    return world


def result_of(world: WarehouseWorld, name: str) -> Any:
    (history,) = [history for history in world.warehouse.isolation_histories() if history["id"] == name]
    return check(history)


def test_readers_of_one_table_have_snapshots_and_all_read_what_was_committed(tmp_path: Path) -> None:
    """WAREHOUSE-6. Generalized PL-SI for one dynamic table, PL-2 for all; what else is lost is counted."""
    world = recorded_world(tmp_path / "w", 80)
    alone, everything = world.warehouse.isolation_histories()
    assert multi_table_reads(everything) >= 100, "readers of several tables were exercised"
    assert check(alone).problem is None
    assert check(alone).verdict("PL-SI") is Verdict.VALID
    assert check(everything).problem is None
    assert check(everything).verdict("PL-2") is Verdict.VALID
    # Tables of several data timestamps together are no snapshot: this is what [D] 4 says, and it is seen.
    assert check(everything).verdict("PL-SI") is Verdict.INVALID


@pytest.mark.parametrize("mutant", HISTORY_MUTANTS)
def test_wrong_versions_of_sources_are_convicted(tmp_path: Path, monkeypatch: Any, mutant: str) -> None:
    """The mutants of WAREHOUSE-6."""
    for name, wrong in HISTORY_MUTANTS[mutant].items():
        monkeypatch.setattr(WarehouseTable, name, wrong)
    assert any(
        result_of(recorded_world(tmp_path / str(seed), 50, seed), ALONE).verdict("PL-SI") is Verdict.INVALID
        for seed in range(5)
    )
