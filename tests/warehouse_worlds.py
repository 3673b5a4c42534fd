"""A warehouse on a clock of its own, whose driver computes in the thread of the test."""

from pathlib import Path
from random import Random
from typing import Any

from dynamic_tables.refreshes.actions import RefreshPlan
from dynamic_tables.scheduling.events import StartRefresh
from dynamic_tables.warehouse.driver import Driver
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.warehouse import Warehouse, init

SECOND_US = 1_000_000
START_US = 1_800_000_000 * SECOND_US


class InlineDriver(Driver):
    """A driver without threads."""

    def __init__(self, account: Any, **options: Any) -> None:
        super().__init__(account, poll_seconds=0, **options)

    def submit(self, order: StartRefresh, plan: RefreshPlan) -> None:
        self.running[order.table, order.data_us, order.attempt] = order
        self.compute(order, plan)


def no_spark() -> Any:
    raise AssertionError("these rows are few")


class WarehouseWorld:
    """A warehouse, the processes that use it, and their common clock."""

    def __init__(
        self, directory: Path, *, driver: type[Driver] = InlineDriver, format: str = "parquet"
    ) -> None:
        self.directory = directory
        self.now_us = START_US
        self.driver_class = driver
        init(directory, format=format)
        self.warehouse = self.open()

    def open(self) -> Warehouse:
        """The warehouse, as another process opens it."""
        return Warehouse(self.directory, no_spark, now_us=self.time)

    def reopen(self) -> None:
        """The process that used it ends, and another one begins."""
        self.warehouse.close()
        self.warehouse = self.open()

    def time(self) -> int:
        """The time, at which each call adds a millisecond."""
        self.now_us += 1_000
        return self.now_us

    def sql(self, text: str) -> Any:
        return self.warehouse.sql(text)

    def rows(self, name: str) -> list[Any]:
        return sorted(self.sql(f"SELECT * FROM {name}").rows, key=repr)

    def driver(self, warehouse: Warehouse | None = None) -> Any:
        return self.driver_class((warehouse or self.warehouse).account)

    def drive(self, seconds: int, driver: Any = None) -> None:
        """Some seconds pass, in steps of a second, while the warehouse is driven."""
        end_us = self.now_us + seconds * SECOND_US

        def is_over() -> bool:
            self.now_us += SECOND_US
            return self.now_us >= end_us

        driver = driver or self.driver()
        driver.run(is_over)

    def refresh(self, name: str) -> None:
        """A manual refresh, by a driver without threads."""
        account = self.warehouse.account
        with account.database.transaction() as clock:
            event = account.request_refresh(name, clock=clock, wall_us=self.time())
            account.database.run("INSERT INTO requests VALUES (NULL, ?, ?, -1)", event.table, event.asked_us)
        self.drive(3)
        with account.database.transaction():
            account.database.run("DELETE FROM requests")

    def events(self, *kinds: EventKind) -> list[Any]:
        """Events, oldest first."""
        events = self.warehouse.account.events.read()
        return [event for event in reversed(events) if event.kind in kinds]

    def wrong_tables(self) -> list[str]:
        """The tables that are not as their queries say; all that have contents are compared."""
        verdicts = self.warehouse.verify()
        for verdict in verdicts:
            assert verdict.checked or "not initialized" in verdict.detail, verdict
        return [f"{verdict.name}: {verdict.detail}" for verdict in verdicts if verdict.wrong_count]


QUERIES = (
    "SELECT k, v FROM a WHERE v > 3",
    "SELECT v, count(*) AS n, sum(k) AS s FROM a GROUP BY v",
    "SELECT a.k, a.v, b.w FROM a JOIN b ON a.v = b.v",
    "SELECT a.k, b.w FROM a LEFT JOIN b ON a.v = b.v",
    "SELECT DISTINCT v FROM a",
    "SELECT k, row_number() OVER (PARTITION BY v ORDER BY k) AS place FROM a",
    "SELECT k FROM a UNION ALL SELECT w FROM b",
    "SELECT max(k) AS most FROM a",
)
BASES = ("CREATE TABLE a (k INTEGER, v INTEGER)", "CREATE TABLE b (v INTEGER, w INTEGER)")


def drawn_write(random: Random) -> str:
    """A statement that changes a base table."""
    v, k = random.randrange(6), random.randrange(30)
    return random.choice(
        (
            f"INSERT INTO a VALUES ({k}, {v}), ({k + 1}, {random.choice(('NULL', v))})",
            f"INSERT INTO b VALUES ({v}, {k})",
            f"INSERT INTO b SELECT v, k FROM a WHERE v = {v}",
            f"UPDATE a SET v = {v} WHERE k = {k}",
            f"UPDATE a SET v = v WHERE v = {v}",
            f"UPDATE a SET k = b.w FROM (SELECT v, max(w) AS w FROM b GROUP BY v) AS b"
            f" WHERE b.v = a.v AND a.k < {k}",
            f"DELETE FROM a WHERE k < {k // 2}",
            f"DELETE FROM b WHERE v = {v}",
            f"MERGE INTO a USING (SELECT w, min(v) AS v FROM b GROUP BY w) AS s ON a.k = s.w"
            f" WHEN MATCHED AND s.v = {v} THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v"
            f" WHEN NOT MATCHED AND s.v < {v} THEN INSERT (k, v) VALUES (s.w, s.v)",
        )
    )


def drawn_world(random: Random, directory: Path, steps: int, format: str = "parquet") -> WarehouseWorld:
    """A graph of dynamic tables, two deep, and statements, refreshes and processes in any order."""
    world = WarehouseWorld(directory / "w", format=format)
    for statement in BASES:
        world.sql(statement)
    names: list[str] = []
    for number, query in enumerate(random.sample(QUERIES, 4)):
        names.append(f"d{number}")
        options = "TARGET_LAG = '1 minute' INITIALIZE = ON_SCHEDULE"
        world.sql(f"CREATE DYNAMIC TABLE d{number} {options} AS {query}")
    world.sql(
        f"CREATE DYNAMIC TABLE e TARGET_LAG = '2 minutes' INITIALIZE = ON_SCHEDULE"
        f" AS SELECT d.*, b.w AS other FROM {random.choice(names)} AS d JOIN b ON b.v < 3"
    )
    for _ in range(steps):
        match random.randrange(8):
            case 0 | 1 | 2:
                world.sql(drawn_write(random))
            case 3:
                world.drive(random.choice((2, 60)))
            case 4:
                world.refresh(f"main.{random.choice(names)}")
            case 5:
                world.warehouse.compact(random.choice(("a", "b", "e", *names)))
            case 6:
                world.warehouse.expire(world.now_us - random.randrange(100) * SECOND_US)
            case _:
                world.reopen()
        wrong = world.wrong_tables()
        assert not wrong, wrong
    return world
