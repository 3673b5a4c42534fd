"""Dynamic tables whose query is in Spark's own SQL: computed in full, by Spark, as it is written."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from warehouse_worlds import BASES, WarehouseWorld

from dynamic_tables.maintenance.queries import Query
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.warehouse import Warehouse
from pruning.errors import InputError

OPTIONS = "TARGET_LAG = '1 minute'"
QUERIES = [
    ("SELECT k, v FROM a WHERE v IN (SELECT v FROM b)", [(1, 1), (1, 1), (2, 1)]),
    ("SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.v = a.v)", [(3,), (None,)]),
    ("SELECT v, percentile(k, 0.5) AS middle FROM a GROUP BY v", [(1, 1.0), (2, 3.0), (None, None)]),
    ("SELECT k, (SELECT max(w) FROM b) AS most FROM a WHERE k > 2", [(3, 5)]),
    ("SELECT stack(2, k, v) AS x FROM a WHERE k = 3", [(3,), (2,)]),
    ("SELECT a.k FROM main.a WHERE a.k IN (SELECT x.v + 1 FROM main.b AS x)", [(2,)]),
    (
        "SELECT a.twice FROM main.w a WHERE EXISTS (SELECT 1 FROM w WHERE w.twice > a.twice)",
        [(2,), (2,), (4,)],
    ),
]


class EngineWorld(WarehouseWorld):
    """A warehouse with a session for the queries of Spark."""

    def __init__(self, directory: Path, spark: Any) -> None:
        self.spark = spark
        super().__init__(directory)

    def open(self) -> Warehouse:
        return Warehouse(self.directory, lambda: self.spark, now_us=self.time)


@pytest.fixture
def world(tmp_path: Path, spark: Any) -> EngineWorld:
    world = EngineWorld(tmp_path / "w", spark)
    for statement in (
        *BASES,
        "INSERT INTO a VALUES (1, 1), (1, 1), (2, 1), (3, 2), (NULL, NULL)",
        "INSERT INTO b VALUES (1, 5)",
    ):
        world.sql(statement)
    return world


@pytest.mark.parametrize(("query", "rows"), QUERIES)
def test_spark_computes_what_is_refused_here(world: EngineWorld, query: str, rows: list[Any]) -> None:
    """ENGINE-1. AUTO falls back to full refreshes, and says why."""
    world.sql("CREATE VIEW w AS SELECT k * 2 AS twice FROM a WHERE k IS NOT NULL")
    assert world.sql(f"CREATE DYNAMIC TABLE d {OPTIONS} AS {query}").message == "main.d is refreshed in full"
    assert Counter(world.sql("SELECT * FROM d").rows) == Counter(rows)
    (state,) = world.warehouse.status()
    assert "not supported" in state.why_full
    assert not world.wrong_tables()


def test_what_changed_is_the_difference(world: EngineWorld) -> None:
    """Rows keep their ids as long as they stay, so that tables below are maintained incrementally."""
    world.sql(f"CREATE DYNAMIC TABLE d {OPTIONS} AS SELECT k, v FROM a WHERE v IN (SELECT v FROM b)")
    world.sql(f"CREATE DYNAMIC TABLE e {OPTIONS} AS SELECT v, count(*) AS n FROM d GROUP BY v")
    world.sql("INSERT INTO a VALUES (1, 1), (7, 1)")
    world.sql("DELETE FROM a WHERE k = 2")
    world.reopen()
    world.drive(50)
    by_table = {event.identity: event.body for event in world.events(EventKind.REFRESHED)}
    changed = [(by_table[name]["inserted"], by_table[name]["deleted"]) for name in ("t3", "t4")]
    assert changed == [(2, 1), (1, 1)]
    assert [by_table[name]["action"] for name in ("t3", "t4")] == ["FULL", "INCREMENTAL"]
    assert world.rows("e") == [(1, 4)]
    assert not world.wrong_tables()


def test_the_time_is_that_of_the_refresh(world: EngineWorld) -> None:
    """ENGINE-2. A query that asks for the time is computed at each data timestamp, and verified there."""
    query = (
        "SELECT k, unix_timestamp() AS s, now() AS t, current_date AS d, localtimestamp() AS l FROM a"
        " WHERE k IN (SELECT v FROM b) AND current_timestamp() > DATE '2000-01-01'"
    )
    world.sql(f"CREATE DYNAMIC TABLE d {OPTIONS} AS {query}")
    for _ in range(2):
        world.drive(60)
        (state,) = world.warehouse.status()
        rows = world.sql("SELECT s, t, d, l FROM d").rows
        at = datetime.fromtimestamp(0, UTC).replace(tzinfo=None) + timedelta(microseconds=state.data_us)
        assert set(rows) == {(state.data_us // 1_000_000, at, at.date(), at)}
        assert (state.action, len(rows)) == ("FULL", 2)
        assert not world.wrong_tables()
    assert world.events(EventKind.REFRESHED)[-1].body["cause"] == "its query asks for the time"
    assert world.warehouse.explain("d").cause == "its query asks for the time"


def test_a_time_that_is_taken_for_unchanged_is_found_out(world: EngineWorld, monkeypatch: Any) -> None:
    """ENGINE-2 can fail."""
    query = "SELECT unix_timestamp() AS s FROM a WHERE k IN (SELECT 3)"
    world.sql(f"CREATE DYNAMIC TABLE d {OPTIONS} AS {query}")
    monkeypatch.setattr(Query, "reads_time", False)
    world.drive(60)
    assert world.wrong_tables()


BAD = [
    ("SELECT k, rand() AS r FROM a WHERE k IN (SELECT v FROM b)", "not repeatable"),
    ("SELECT k, current_user() AS u FROM a WHERE k IN (SELECT v FROM b)", "not repeatable"),
    (
        "SELECT array(k) AS x FROM a WHERE k IN (SELECT v FROM b)",
        r"column x is of the type array<",
    ),
    ("SELECT nope(k) AS x FROM a", "Spark refuses the query"),
    ("SELECT k FROM other.a WHERE k IN (SELECT v FROM b)", r"there is no table or view other\.a"),
]


@pytest.mark.parametrize(("query", "message"), BAD)
def test_what_spark_cannot_keep_is_refused(world: EngineWorld, query: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        world.sql(f"CREATE DYNAMIC TABLE d {OPTIONS} AS {query}")
    assert not world.warehouse.status()


def test_incremental_mode_is_never_given_up_silently(world: EngineWorld) -> None:
    query = "SELECT k FROM a WHERE k IN (SELECT v FROM b)"
    with pytest.raises(InputError, match="not supported"):
        world.sql(f"CREATE DYNAMIC TABLE d {OPTIONS} REFRESH_MODE = INCREMENTAL AS {query}")
