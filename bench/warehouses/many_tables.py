"""A tick of many dynamic tables on which nothing changed: its time, and that Spark is not needed for it.

PYTHONPATH=. python bench/warehouses/many_tables.py --tables 1000 --rounds 5
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.warehouse import Warehouse, init

PERIOD_US = 96_000_000


class Clock:
    """A wall clock that runs, and can be set forward."""

    def __init__(self) -> None:
        self.ahead_us = 0

    def now_us(self) -> int:
        """Return the time."""
        return time.time_ns() // 1000 + self.ahead_us


def no_spark() -> Any:
    """Refuse to start Spark."""
    raise AssertionError("a refresh without changes needs no Spark")


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        init(Path(folder) / "w")
        warehouse = Warehouse(Path(folder) / "w", no_spark, now_us=clock.now_us)
        for number in range(10):
            warehouse.sql(f"CREATE TABLE b{number} (k INTEGER, v INTEGER)")
            warehouse.sql(f"INSERT INTO b{number} VALUES (1, {number}), (2, {number})")
        options = "TARGET_LAG = '4 minutes' INITIALIZE = ON_SCHEDULE"
        for number in range(arguments.tables):
            source = f"b{number % 10}" if number % 3 == 0 else f"d{number - 1}"
            warehouse.sql(f"CREATE DYNAMIC TABLE d{number} {options} AS SELECT k, v FROM {source}")
        seconds = [tick(warehouse, clock, arguments.tables) for _ in range(arguments.rounds + 1)]
        first, *others = seconds
    print(f"first refresh of {arguments.tables} tables: {first:.1f} s")
    shown = ", ".join(f"{second:.2f}" for second in others)
    print(f"ticks without changes: {shown} s, median {statistics.median(others):.2f} s; Spark never started")


def tick(warehouse: Warehouse, clock: Clock, tables: int) -> float:
    """Let a tick of all tables come, and return the time until the last one is refreshed."""
    clock.ahead_us += 2 * PERIOD_US
    newest = warehouse.account.events.newest()
    driver = warehouse.driver()
    began = time.perf_counter()

    def is_over() -> bool:
        refreshed = [
            event
            for event in warehouse.account.events.read(after=newest)
            if event.kind is EventKind.REFRESHED
        ]
        return len(refreshed) >= tables

    driver.run(is_over)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
