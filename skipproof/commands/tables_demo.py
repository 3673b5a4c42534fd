"""The demo of dynamic tables: four tables are kept up to date while real flights arrive hour by hour."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.verifying import Verdict
from dynamic_tables.warehouse.warehouse import Warehouse

COLUMNS = ("month", "day", "hour", "carrier", "origin", "dest", "dep_delay", "distance")
STATEMENTS = (
    "CREATE TABLE flights (month INTEGER, day INTEGER, hour INTEGER, carrier TEXT, origin TEXT, dest TEXT,"
    " dep_delay INTEGER, distance INTEGER)",
    "CREATE TABLE airlines (carrier TEXT, airline TEXT)",
    "INSERT INTO airlines VALUES ('UA', 'United'), ('AA', 'American'), ('B6', 'JetBlue'), ('DL', 'Delta'),"
    " ('EV', 'ExpressJet'), ('MQ', 'Envoy'), ('US', 'US Airways'), ('WN', 'Southwest')",
    "CREATE DYNAMIC TABLE late TARGET_LAG = '1 minute' AS"
    " SELECT f.*, a.airline FROM flights f LEFT JOIN airlines a ON f.carrier = a.carrier"
    " WHERE f.dep_delay > 15",
    "CREATE DYNAMIC TABLE late_by_airline TARGET_LAG = '1 minute' AS"
    " SELECT airline, count(*) AS flights, sum(dep_delay) AS minutes FROM late GROUP BY airline",
    "CREATE DYNAMIC TABLE late_by_day TARGET_LAG = '2 minutes' AS"
    " SELECT month, day, origin, count(*) AS flights, max(dep_delay) AS worst FROM late"
    " GROUP BY month, day, origin",
    "CREATE DYNAMIC TABLE worst TARGET_LAG = '2 minutes' AS"
    " SELECT day, carrier, dest, dep_delay FROM late"
    " QUALIFY row_number() OVER (PARTITION BY day ORDER BY dep_delay DESC, carrier, dest, hour) <= 3",
)
TABLES = ("late_by_airline", "late_by_day", "worst")


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour whose flights arrived.

    Attributes:
        arrived: The number of flights.
        changed: The number of rows that the refreshes of all tables changed.
        actions: The actions of the refreshes.
        milliseconds: The time of all refreshes.
    """

    day: int
    hour: int
    arrived: int
    changed: int
    actions: tuple[str, ...]
    milliseconds: float


def prepare(warehouse: Warehouse) -> None:
    """Create the tables in an empty warehouse."""
    for statement in STATEMENTS:
        warehouse.sql(statement)


def arrivals(flights: pa.Table, days: int) -> Iterator[tuple[int, int, pa.Table]]:
    """Yield the flights of the first days of January, hour by hour."""
    january = flights.filter(pc.equal(flights["month"], 1)).select(COLUMNS)
    for day in range(1, days + 1):
        of_day = january.filter(pc.equal(january["day"], day))
        for hour in sorted(of_day["hour"].unique().to_pylist()):
            yield day, hour, of_day.filter(pc.equal(of_day["hour"], hour))


def run(warehouse: Warehouse, flights: pa.Table, days: int) -> Iterator[Hour]:
    """Let flights arrive, and refresh all tables after each hour."""
    for day, hour, rows in arrivals(flights, days):
        newest = warehouse.account.events.newest()
        warehouse.append("flights", rows)
        began = time.perf_counter()
        for name in TABLES:
            warehouse.refresh(name)
        milliseconds = (time.perf_counter() - began) * 1_000
        records = [
            event.body
            for event in warehouse.account.events.read(after=newest)
            if event.kind is EventKind.REFRESHED
        ]
        changed = sum(record["inserted"] + record["deleted"] for record in records)
        actions = tuple(record["action"] for record in reversed(records))
        yield Hour(day, hour, len(rows), changed, actions, milliseconds)


def summary(hours: list[Hour], verdicts: list[Verdict], directory: Path) -> str:
    """Return what the demo found, in one sentence."""
    actions = [action for hour in hours for action in hour.actions]
    incremental = actions.count("INCREMENTAL")
    wrong = sum(verdict.wrong_count for verdict in verdicts)
    checked = sum(verdict.checked for verdict in verdicts)
    outcome = "each is what its query gives" if not wrong else f"{wrong} rows are WRONG"
    return (
        f"{sum(hour.arrived for hour in hours):,} flights arrived in {len(hours)} hours; {incremental} of "
        f"{len(actions)} refreshes were incremental, {actions.count('NO_DATA')} had nothing to do; {checked} "
        f"tables were computed in full and compared: {outcome}. The warehouse is {directory}."
    )
