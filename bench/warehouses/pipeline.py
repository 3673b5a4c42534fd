"""A pipeline of twelve dynamic tables under a writer and `kill -9` of its driver, on the wall clock.

    PYTHONPATH=. python bench/warehouses/pipeline.py --minutes 30 --kills 12

A writer commits once a second. The driver is killed at drawn moments: by the bench, or by itself inside a
commit, before or after the version exists. After each kill every table is compared with its query at its data
timestamp. It fails if a table is wrong, or a new driver takes longer than 45 s.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from dynamic_tables.stores.manifests import Manifest
from dynamic_tables.stores.version_logs import VersionLog
from dynamic_tables.warehouse.database import Database
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.warehouse import init
from dynamic_tables.warehouse.warehouse import open as open_warehouse

BASES = (
    "CREATE TABLE customers (k INTEGER, city TEXT, segment TEXT)",
    "CREATE TABLE orders (k INTEGER, customer INTEGER, amount INTEGER, day INTEGER)",
    "CREATE TABLE payments (k INTEGER, order_k INTEGER, paid INTEGER)",
)
# Name, lag in minutes, query: four tables over base tables, four over these, four over those.
DYNAMIC = (
    ("large", 3, "SELECT k, customer, amount, day FROM orders WHERE amount > 50"),
    ("located", 3, "SELECT o.k, o.amount, o.day, c.city FROM orders o JOIN customers c ON o.customer = c.k"),
    ("paid", 4, "SELECT order_k, sum(paid) AS paid, count(*) AS n FROM payments GROUP BY order_k"),
    ("unpaid", 4, "SELECT o.k, o.amount, p.paid FROM orders o LEFT JOIN payments p ON p.order_k = o.k"),
    ("cities", 3, "SELECT city, count(*) AS n, sum(amount) AS amount FROM located GROUP BY city"),
    ("days", 4, "SELECT day, count(*) AS n, max(amount) AS most FROM large GROUP BY day"),
    (
        "ranked",
        4,
        "SELECT k, city, amount, row_number() OVER (PARTITION BY city ORDER BY amount, k) AS place"
        " FROM located",
    ),
    ("open_orders", 5, "SELECT l.k, l.amount, p.paid FROM large l LEFT JOIN paid p ON p.order_k = l.k"),
    ("best", 3, "SELECT city, k, amount FROM ranked WHERE place <= 3"),
    (
        "share",
        4,
        "SELECT l.k, l.city, l.amount, c.amount AS of_city FROM located l JOIN cities c ON l.city = c.city",
    ),
    ("busy_days", 5, "SELECT DISTINCT day FROM days WHERE n > 3"),
    ("owed", 5, "SELECT count(*) AS n, k FROM open_orders WHERE paid IS NULL GROUP BY k"),
)
RECOVERY_SECONDS_MAX = 45
CUSTOMERS = 200


def create(directory: Path, format: str) -> None:
    """Make the warehouse."""
    init(directory, format=format)
    warehouse = open_warehouse(directory)
    for statement in BASES:
        warehouse.sql(statement)
    rows = ", ".join(f"({k}, 'city {k % 9}', 'segment {k % 3}')" for k in range(CUSTOMERS))
    warehouse.sql(f"INSERT INTO customers VALUES {rows}")
    for name, minutes, query in DYNAMIC:
        warehouse.sql(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = '{minutes} minutes' AS {query}")
    warehouse.close()


def write(directory: Path, seed: int) -> None:
    """Commit once a second until this process is ended."""
    warehouse, draws = open_warehouse(directory), random.Random(seed)
    number = 0
    while True:
        began = time.monotonic()
        number += 1
        warehouse.sql(drawn_statement(draws, number))
        time.sleep(max(0.0, began + 1 - time.monotonic()))


def drawn_statement(draws: random.Random, number: int) -> str:
    """Return a change of a base table."""
    some = draws.randrange(max(1, 5 * number))
    match draws.randrange(8):
        case 0 | 1 | 2:
            ranges = (CUSTOMERS, 100, 20)
            rows = [(5 * number + place, *map(draws.randrange, ranges)) for place in range(5)]
            return f"INSERT INTO orders VALUES {', '.join(map(str, rows))}"
        case 3 | 4:
            return f"INSERT INTO payments VALUES ({number}, {some}, {draws.randrange(60)})"
        case 5:
            return f"UPDATE orders SET amount = amount + 1 WHERE k = {some}"
        case 6:
            return f"DELETE FROM orders WHERE k = {some}"
        case _:
            k = draws.randrange(CUSTOMERS)
            return f"UPDATE customers SET city = 'city {draws.randrange(9)}' WHERE k = {k}"


def drive(directory: Path, die_in_commit: int, step: str) -> None:
    """Drive the warehouse; kill this process in the commit of this number, at a step of it; 0: in none."""
    commits = 0
    warehouse = open_warehouse(directory)
    log_class = warehouse.account.log_of_tables
    add, transaction_end = log_class.add, Database.commit

    def counted_add(log: VersionLog, manifest: Manifest, parent: Manifest) -> None:
        nonlocal commits
        commits += 1
        dies = commits == die_in_commit
        if dies and step == "before the version":
            os.kill(os.getpid(), signal.SIGKILL)
        add(log, manifest, parent)
        if dies and step == "after the version":
            os.kill(os.getpid(), signal.SIGKILL)

    def counted_commit(database: Database) -> None:
        transaction_end(database)
        if die_in_commit and commits == die_in_commit and step == "after the catalog":
            os.kill(os.getpid(), signal.SIGKILL)

    with patch.object(log_class, "add", counted_add), patch.object(Database, "commit", counted_commit):
        warehouse.driver().run()


STEPS = ("before the version", "after the version", "after the catalog")


class Run:
    """One run of the pipeline."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory = directory
        self.draws = random.Random(seed)
        self.warehouse = open_warehouse(directory)
        self.in_commits = 0
        self.recoveries: list[float] = []
        self.wrong: list[str] = []
        self.compared = 0

    def start(self, *arguments: object) -> subprocess.Popen[bytes]:
        """Start this script in another process."""
        return subprocess.Popen(
            [sys.executable, __file__, "--directory", str(self.directory), *map(str, arguments)]
        )

    def start_driver(self) -> subprocess.Popen[bytes]:
        """Start a driver, which may kill itself inside a commit."""
        in_commit = self.draws.randrange(3) > 0
        number = self.draws.randrange(3, 12) if in_commit else 0
        return self.start("drive", number, self.draws.choice(STEPS))

    def check(self) -> None:
        """Compare all tables with their queries."""
        for verdict in self.warehouse.verify():
            self.compared += verdict.checked
            if verdict.wrong_count:
                self.wrong.append(f"{verdict.name}: {verdict.detail}")

    def wait_for_driver(self, driver: subprocess.Popen[bytes], newest: int, killed: float) -> None:
        """Wait until a driver has the lease."""
        while True:
            events = self.warehouse.account.events.read(after=newest)
            if any(event.kind is EventKind.DRIVER for event in events):
                break
            if driver.poll() is not None:
                raise SystemExit(f"the driver ended with status {driver.returncode} before it began")
            time.sleep(0.1)
        self.recoveries.append(time.monotonic() - killed)

    def run(self, minutes: float, kills: int) -> None:
        """Run the pipeline, and kill its driver at drawn moments."""
        end = time.monotonic() + 60 * minutes
        writer, driver = self.start("write", self.draws.randrange(1_000)), self.start_driver()
        slot = 60 * minutes / (kills + 1)
        try:
            for _ in range(kills):
                latest = time.monotonic() + slot * (0.6 + 0.4 * self.draws.random())
                while driver.poll() is None and time.monotonic() < latest:
                    time.sleep(0.05)
                if driver.poll() is None:
                    driver.kill()
                else:
                    self.in_commits += 1
                driver.wait()
                killed = time.monotonic()
                newest = self.warehouse.account.events.newest()
                self.check()
                driver = self.start_driver()
                self.wait_for_driver(driver, newest, killed)
            # The last driver is not killed: how it goes on is seen until the end.
            driver.kill()
            driver.wait()
            driver = self.start("drive", 0, STEPS[0])
            time.sleep(max(0.0, end - time.monotonic()))
        finally:
            for process in (writer, driver):
                process.kill()
                process.wait()
        self.check()


def report(run: Run, kills: int) -> bool:
    """Print the figures of a run, and tell whether it met its bars."""
    records = [event for event in run.warehouse.account.events.read() if event.kind is EventKind.REFRESHED]
    counts: dict[str, int] = {}
    for event in records:
        counts[event.body["action"]] = counts.get(event.body["action"], 0) + 1
    failed = sum(event.kind is EventKind.FAILED for event in run.warehouse.account.events.read())
    shown = ", ".join(f"{count} {action}" for action, count in sorted(counts.items()))
    print(f"refreshes: {shown}; {failed} failed")
    print(f"kills: {kills}, inside a commit: {run.in_commits}")
    recoveries = sorted(run.recoveries)
    print(f"until a new driver: {', '.join(f'{seconds:.1f}' for seconds in recoveries)} s")
    print(f"comparisons with queries: {run.compared}, wrong: {len(run.wrong)}")
    for line in run.wrong[:10]:
        print(f"  {line}")
    late = [state.name for state in run.warehouse.status() if state.state == "failed"]
    print(f"failed tables at the end: {', '.join(late) or 'none'}")
    orphans = run.warehouse.collect_orphans(staged_before=time.time())
    print(f"orphan files collected: {orphans}")
    return not run.wrong and max(recoveries, default=0) <= RECOVERY_SECONDS_MAX


def main() -> None:
    """Run the bench, or one of its processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", default="parquet", help="parquet, delta or iceberg")
    parser.add_argument("--directory", type=Path)
    parser.add_argument("part", nargs="*")
    arguments = parser.parse_args()
    match arguments.part:
        case ["write", seed]:
            write(arguments.directory, int(seed))
        case ["drive", number, step]:
            drive(arguments.directory, int(number), step)
        case _:
            with tempfile.TemporaryDirectory(prefix="skipproof-pipeline-") as folder:
                directory = arguments.directory or Path(folder) / "warehouse"
                create(directory, arguments.format)
                run = Run(directory, arguments.seed)
                run.run(arguments.minutes, arguments.kills)
                if not report(run, arguments.kills):
                    raise SystemExit(1)


if __name__ == "__main__":
    main()
