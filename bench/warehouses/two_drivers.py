"""Two drivers of one warehouse, each paused past its lease in turn: every tick is refreshed once.

    PYTHONPATH=. python bench/warehouses/two_drivers.py --minutes 10

The one that has the lease is stopped by SIGSTOP for longer than the lease is valid, and goes on afterwards.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.warehouses.pipeline import create
from dynamic_tables.warehouse.driver import LEASE_US
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.warehouse import open as open_warehouse

PIPELINE = Path(__file__).with_name("pipeline.py")


def start(directory: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a part of the pipeline in another process."""
    return subprocess.Popen([sys.executable, str(PIPELINE), "--directory", str(directory), *arguments])


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", default="parquet", help="parquet, delta or iceberg")
    arguments = parser.parse_args()
    draws = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="skipproof-drivers-") as folder:
        directory = Path(folder) / "warehouse"
        create(directory, arguments.format)
        warehouse = open_warehouse(directory)
        warehouse.sql(
            "CREATE DYNAMIC TABLE all_orders TARGET_LAG = '1 minute' AS SELECT k, amount FROM orders"
        )
        end, pauses, restarts = time.monotonic() + 60 * arguments.minutes, 0, 0
        writer = start(directory, "write", "1")
        drivers = [start(directory, "drive", "0", "none") for _ in range(2)]
        try:
            while time.monotonic() < end:
                time.sleep(draws.uniform(20, 40))
                ((_, holder, _),) = warehouse.account.database.rows(
                    "SELECT token, holder, until_us FROM lease"
                )
                for place, driver in enumerate(drivers):
                    if driver.poll() is not None:  # it lost its lease: it is started again
                        drivers[place] = start(directory, "drive", "0", "none")
                        restarts += 1
                    elif str(driver.pid) == holder.rpartition(":")[2]:
                        os.kill(driver.pid, signal.SIGSTOP)
                        pauses += 1
                        time.sleep(LEASE_US / 1e6 + draws.uniform(5, 15))
                        os.kill(driver.pid, signal.SIGCONT)
        finally:
            for process in (writer, *drivers):
                process.kill()
                process.wait()
        refreshed = Counter(
            (event.identity, event.body["data_us"])
            for event in warehouse.account.events.read()
            if event.kind is EventKind.REFRESHED
        )
        twice = sum(count > 1 for count in refreshed.values())
        wrong = [verdict for verdict in warehouse.verify() if verdict.wrong_count]
        print(
            f"drivers paused {pauses} times, and started again {restarts} times after they lost their lease"
        )
        print(f"refreshes: {len(refreshed)}, twice: {twice}; tables that are wrong: {len(wrong)}")
        if twice or wrong:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
