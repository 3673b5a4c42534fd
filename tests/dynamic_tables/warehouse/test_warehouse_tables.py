"""Warehouses: whatever is written, and by however many processes, tables are what their queries say."""

from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from warehouse_worlds import BASES, SECOND_US, WarehouseWorld, drawn_world, drawn_write

from dynamic_tables.warehouse import stored_tables
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.warehouse import init
from dynamic_tables.warehouse.warehouse import open as open_warehouse
from pruning.errors import InputError


def world_of(tmp_path: Path, *statements: str) -> WarehouseWorld:
    world = WarehouseWorld(tmp_path / "w")
    for statement in statements:
        world.sql(statement)
    return world


@pytest.mark.parametrize("seed", range(4))
def test_tables_are_what_their_queries_say(tmp_path: Path, seed: int) -> None:
    """WAREHOUSE-1."""
    world = drawn_world(Random(seed), tmp_path, 25)
    world.drive(200)
    assert not world.wrong_tables()
    assert {state.state for state in world.warehouse.status()} == {"ok"}


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(50))
def test_five_thousand_steps_keep_the_promise(tmp_path: Path, seed: int) -> None:
    """WAREHOUSE-1."""
    world = drawn_world(Random(1_000 + seed), tmp_path, 100)
    world.drive(200)
    assert not world.wrong_tables()


def test_the_worlds_reach_each_action(tmp_path: Path) -> None:
    """The reach of WAREHOUSE-1."""
    actions: set[str] = set()
    for seed in range(4):
        world = drawn_world(Random(100 + seed), tmp_path / str(seed), 25)
        actions |= {event.body["action"] for event in world.events(EventKind.REFRESHED)}
    assert actions == {"NO_DATA", "INCREMENTAL", "FULL", "REINITIALIZE"}


@pytest.mark.parametrize("seed", range(3))
def test_statements_change_rows_as_in_duckdb(tmp_path: Path, seed: int) -> None:
    """WAREHOUSE-2. The rows after each statement are those that another engine has after it."""
    random, world = Random(seed), world_of(tmp_path, *BASES)
    other = duckdb.connect()
    for statement in BASES:
        other.execute(statement)
    for _ in range(60):
        statement = drawn_write(random)
        world.sql(statement)
        other.execute(statement)
        for name in "ab":
            rows = other.execute(f"SELECT * FROM {name}").fetchall()
            assert world.rows(name) == sorted(rows, key=repr), statement


def test_a_row_is_not_changed_in_two_ways(tmp_path: Path) -> None:
    world = world_of(tmp_path, *BASES, "INSERT INTO a VALUES (1, 1)", "INSERT INTO b VALUES (1, 5), (1, 6)")
    with pytest.raises(InputError, match="matched by several rows that change it differently"):
        world.sql("UPDATE a SET k = b.w FROM b WHERE a.v = b.v")
    assert world.rows("a") == [(1, 1)]
    world.sql("DELETE FROM a USING b WHERE a.v = b.v")
    assert world.rows("a") == []


def test_two_processes_write_the_same_table(tmp_path: Path, monkeypatch: Any) -> None:
    """A statement that another one overtakes is run again, on the rows that are there now."""
    world = world_of(tmp_path, *BASES, "INSERT INTO a VALUES (1, 0)")
    other = world.open()
    table = other.account.tables["t1"]
    stage = table.files.stage
    overtaken = []

    def stage_late(*arguments: Any) -> Any:
        staged = stage(*arguments)
        if not overtaken:
            overtaken.append(world.sql("UPDATE a SET v = v + 1").message)
        return staged

    monkeypatch.setattr(table.files, "stage", stage_late)
    other.sql("UPDATE a SET v = v + 10")
    assert overtaken
    assert world.rows("a") == [(1, 11)]


def test_all_tables_see_the_same_commits(tmp_path: Path) -> None:
    """A data timestamp is resolved once: what is written between two refreshes to it is in neither."""
    world = world_of(tmp_path, *BASES, "INSERT INTO a VALUES (1, 1)")
    world.sql("CREATE DYNAMIC TABLE c TARGET_LAG = '1 minute' AS SELECT count(*) AS n, v FROM a GROUP BY v")
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a")
    account = world.warehouse.account
    data_us = world.time()
    account.resolve(data_us)
    plans = []
    for name in ("main.c", "main.d"):
        world.sql("INSERT INTO a VALUES (2, 1)")
        identity = account.catalog.state.get(name).identity
        plans.append(account.begin(identity, data_us).versions)
    assert plans[0] == plans[1]
    with pytest.raises(AssertionError, match="go forward"):
        account.tables["t1"].files.commit(
            account.tables["t1"].files.stage((), account.tables["t1"].files.latest()),
            account.tables["t1"].files.latest(),
            account.tables["t1"].files.latest().committed,
        )


def test_older_timestamps_see_no_later_version(tmp_path: Path) -> None:
    """No table goes back from one data timestamp to the next, in whatever order they are resolved."""
    world = world_of(tmp_path, *BASES)
    account = world.warehouse.account
    account.resolve(START := world.time())
    world.sql("INSERT INTO a VALUES (1, 1)")
    account.resolve(START + 9 * SECOND_US)
    world.sql("INSERT INTO a VALUES (2, 1)")
    account.resolve(START + 4 * SECOND_US)
    numbers = [account.timestamps.versions(START + after * SECOND_US)["t1"] for after in (0, 4, 9)]
    assert numbers == [0, 1, 1]


def test_past_contents_are_read_as_of_a_time(tmp_path: Path) -> None:
    world = world_of(tmp_path, *BASES, "INSERT INTO a VALUES (1, 1)")
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a")
    world.refresh("main.d")
    then_us = world.now_us
    world.sql("INSERT INTO a VALUES (2, 1)")
    world.refresh("main.d")
    query = "SELECT d.k, a.k AS of_a FROM d JOIN a ON a.k = d.k"
    assert world.warehouse.query(query).rows == ((1, 1), (2, 2))
    assert world.warehouse.query(query, as_of_us=then_us).rows == ((1, 1),)
    with pytest.raises(InputError, match="no data timestamp"):
        world.warehouse.query(query, as_of_us=1)


ORDERS = [
    ("SELECT k, v FROM a ORDER BY v DESC, k", [(4, None), (3, 2), (1, 1), (2, 1)]),
    ("SELECT k, v FROM a ORDER BY v NULLS FIRST, 1 DESC LIMIT 2", [(4, None), (2, 1)]),
    ("SELECT k FROM a ORDER BY -k LIMIT 2 OFFSET 1", [(3,), (2,)]),
    ("SELECT v, count(*) AS n FROM a GROUP BY v ORDER BY n DESC, v", [(1, 2), (2, 1), (None, 1)]),
    ("SELECT DISTINCT v FROM a ORDER BY v DESC LIMIT 1 OFFSET 1", [(2,)]),
    ("SELECT k FROM a UNION ALL SELECT v FROM a ORDER BY k DESC LIMIT 2", [(None,), (4,)]),
]


@pytest.mark.parametrize(("query", "rows"), ORDERS)
def test_answers_are_in_order(tmp_path: Path, query: str, rows: list[Any]) -> None:
    world = world_of(tmp_path, *BASES, "INSERT INTO a VALUES (1, 1), (2, 1), (3, 2), (4, NULL)")
    assert list(world.sql(query).rows) == rows


BAD = [
    ("INSERT INTO nope VALUES (1)", "there is no table nope"),
    ("INSERT INTO a VALUES (1)", "1 values are given for 2 columns"),
    ("INSERT INTO a (k, x) VALUES (1, 2)", "no column x"),
    ("INSERT INTO a VALUES (9223372036854775808, 1)", "does not fit column k"),
    ("INSERT INTO a SELECT k FROM a", "1 columns are given for 2"),
    ("UPDATE a SET k = 1 / v", "division by zero"),
    ("DELETE FROM d", "d is a dynamic table and cannot be written"),
    ("DELETE FROM w", "w is a view and cannot be written"),
    ("CREATE TABLE a (k INTEGER)", "there is a main.a already"),
    ("CREATE TABLE e (_row_id INTEGER)", "cannot be called _row_id"),
    ("CREATE DYNAMIC TABLE e TARGET_LAG = '1 minute' AS SELECT nope FROM a", "nope"),
    ("CREATE DYNAMIC TABLE e TARGET_LAG = '1 minute' AS SELECT 1 / v AS x FROM a", "division by zero"),
    ('CREATE TABLE e (k INTEGER, "K" INTEGER)', "two columns are called k"),
    ("CREATE DYNAMIC TABLE e TARGET_LAG = '1 minute' AS SELECT k AS _version FROM a", "cannot be called"),
    ("SELECT k FROM a ORDER BY 3", "the answer has 1 columns"),
    ("SELECT k FROM a LIMIT k", "give a number"),
    ("SELECT FROM", "no SQL"),
]


@pytest.mark.parametrize(("statement", "message"), BAD)
def test_bad_statements_get_one_sentence_and_change_nothing(
    tmp_path: Path, statement: str, message: str
) -> None:
    world = world_of(
        tmp_path,
        *BASES,
        "INSERT INTO a VALUES (1, 0)",
        "CREATE VIEW w AS SELECT k FROM a",
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a",
    )
    with pytest.raises(InputError, match=message) as raised:
        world.sql(statement)
    assert "\n" not in str(raised.value)
    world.reopen()
    assert world.rows("a") == [(1, 0)]
    assert world.rows("d") == [(1,)]


def test_directories_that_are_no_warehouse_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no warehouse"):
        open_warehouse(tmp_path)
    with pytest.raises(InputError, match="the format is orc; it is one of parquet, delta, iceberg"):
        init(tmp_path, format="orc")
    init(tmp_path)
    with pytest.raises(InputError, match="is a warehouse already"):
        init(tmp_path)
    (tmp_path / "catalog.sqlite").write_bytes(b"this is no database, by far " * 50)
    with pytest.raises(InputError, match="is no catalog of a warehouse"):
        open_warehouse(tmp_path)


def test_names_without_a_schema_are_those_of_the_created_one(tmp_path: Path) -> None:
    world = world_of(tmp_path, "CREATE TABLE s.a (k INTEGER)", "INSERT INTO s.a VALUES (7)", *BASES)
    world.sql("CREATE DYNAMIC TABLE s.d TARGET_LAG = '1 minute' AS SELECT k FROM a")
    assert world.rows("s.d") == [(7,)]


def test_small_files_are_written_anew(tmp_path: Path, monkeypatch: Any) -> None:
    """By whoever writes many of them; a frontier that the catalog alone had is not lost."""
    monkeypatch.setattr(stored_tables, "FILES_MAX", 5)
    world = world_of(tmp_path, *BASES, "INSERT INTO a VALUES (0, 0)")
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a")
    for k in range(1, 12):
        world.sql(f"INSERT INTO a VALUES ({k}, 0)")
        world.drive(50)
    tables = world.warehouse.account.tables
    assert [len(tables[name].files.latest().data) <= 6 for name in ("t1", "t3")] == [True, True]
    world.drive(50)
    (before,) = world.warehouse.status()
    assert before.action == "NO_DATA"
    world.warehouse.compact("d")
    (after,) = world.warehouse.status()
    assert after.data_us == before.data_us
    assert not world.wrong_tables()
    world.drive(50)
    assert world.events(EventKind.REFRESHED)[-1].body["action"] == "NO_DATA"


def test_what_no_refresh_needs_is_removed(tmp_path: Path) -> None:
    world = world_of(tmp_path, *BASES)
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k FROM a")
    for k in range(5):
        world.sql(f"INSERT INTO a VALUES ({k}, 0)")
        world.drive(50)
    files = world.warehouse.account.tables["t1"].files
    assert len(files.log.numbers()) == 6
    removed = world.warehouse.expire(world.now_us)
    assert removed.versions > 5
    assert removed.timestamps > 3
    assert len(files.log.numbers()) == 1
    world.sql("INSERT INTO a VALUES (9, 0)")
    world.drive(50)
    assert world.events(EventKind.REFRESHED)[-1].body["action"] == "INCREMENTAL"
    assert not world.wrong_tables()
    with pytest.raises(InputError, match="no data timestamp"):
        world.warehouse.query("SELECT * FROM d", as_of_us=world.now_us - 200 * SECOND_US)


def test_tables_are_created_from_queries_and_where_they_are_missing(tmp_path: Path) -> None:
    world = world_of(tmp_path, *BASES, "INSERT INTO a VALUES (1, 1), (2, 2)")
    answer = world.sql("CREATE TABLE c AS SELECT k + 1 AS m FROM a WHERE v > 1")
    assert answer.message == "1 rows inserted, 0 deleted"
    assert world.rows("c") == [(3,)]
    with pytest.raises(InputError, match="division by zero"):
        world.sql("CREATE TABLE e AS SELECT 1 / (k - 1) AS x FROM a")
    with pytest.raises(InputError, match="no table or view e"):
        world.sql("SELECT * FROM e")
    there = "nothing to do for main.c: it is there already"
    assert world.sql("CREATE TABLE IF NOT EXISTS c (x TEXT)").message == there
    create = "CREATE DYNAMIC TABLE IF NOT EXISTS d TARGET_LAG = '1 minute' AS SELECT k FROM a"
    assert [world.sql(create).message.split()[0] for _ in range(2)] == ["main.d", "nothing"]
    assert world.sql("DROP TABLE IF EXISTS e").message == "nothing to do for main.e: it is not there"
    assert world.sql("DROP DYNAMIC TABLE IF EXISTS d").message == "done"


def test_updates_to_the_same_value_change_nothing_and_others_are_kept(tmp_path: Path) -> None:
    """NaN is the same as itself; 0.0 and -0.0 are equal, but not the same."""
    world = world_of(tmp_path, "CREATE TABLE f (x FLOAT)")
    world.sql("INSERT INTO f VALUES (CAST('NaN' AS FLOAT)), (0.0)")
    assert world.sql("UPDATE f SET x = x").message == "0 rows inserted, 0 deleted"
    assert world.sql("UPDATE f SET x = -x WHERE x = 0").message == "1 rows inserted, 1 deleted"
    assert "-0.0" in repr(world.rows("f"))


def test_a_join_reads_the_rows_of_a_table_without_its_columns(tmp_path: Path) -> None:
    """Rows of no cells were lost when they were read from files, and the refresh never succeeded."""
    world = world_of(tmp_path, *BASES, "INSERT INTO a VALUES (1, 1)", "INSERT INTO b VALUES (1, 1), (2, 2)")
    query = "SELECT a.k, b.mark FROM a LEFT JOIN (SELECT 1 AS mark FROM b) AS b ON a.k <= b.mark"
    world.sql(f"CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS {query}")
    world.sql("INSERT INTO a VALUES (0, 1)")
    world.drive(50)
    assert not world.events(EventKind.FAILED)
    assert world.rows("d") == [(0, 1), (0, 1), (1, 1), (1, 1)]
    assert not world.wrong_tables()
