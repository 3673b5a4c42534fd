"""Measure incremental refreshes over tables in Parquet files beside full ones: a million rows, 100 changed.

A full refresh is the query in Spark SQL over the files, without row ids, written to Parquet. An incremental
one computes the changes in Python, from the rows that are read for them, and commits them; or, with
`--spark`, Spark computes all. For each query and kind of change: the median wall times, in turns, and their
ratio to a full refresh; "too many" where the changes depend on more rows than Python is to read. The floor is
a commit of one row. Behind the times: the bytes that Python read of the files, and the row groups that it did
not read, of those that the tables have at each moment that was asked for. Changes are of facts that lie
together, of facts spread over all files, and of one customer that a tenth of the facts refer to.

    PYTHONPATH=. python bench/refreshes/on_spark.py [--rows N] [--rounds N] [--spark] [--format FORMAT]
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dynamic_tables.bags.intervals import WantedKeys
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.on_spark.frames import contents_of
from dynamic_tables.on_spark.spark_backend import SparkBackend, exact_settings
from dynamic_tables.sql.definitions import BoundTable, SqlDefinition, bind_definition
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.stores.arrow_rows import arrow_schema, stored_field
from dynamic_tables.stores.formats import log_of
from dynamic_tables.stores.manifests import DataFile
from dynamic_tables.stores.parquet_intervals import ParquetInterval, VersionRows
from dynamic_tables.stores.parquet_table import ParquetTable, Staged
from dynamic_tables.stores.table_files import ROWS_OF_GROUP
from dynamic_tables.values.changes import Action, Change, Delta
from dynamic_tables.values.types import INTEGER, TEXT, Field
from skipproof.sessions import spark_session

CHANGED = 100
FILES = 20
# Facts are of so many customers, and customers of so many cities; a tenth of the facts are of customer 0.
FACTS_OF_CUSTOMER = 100
CUSTOMERS_OF_CITY = 10
TABLES: Mapping[str, BoundTable] = {
    "facts": BoundTable(
        "facts", (Field("id", INTEGER), Field("customer", INTEGER), Field("amount", INTEGER))
    ),
    "customers": BoundTable("customers", (Field("id", INTEGER), Field("city", TEXT))),
}
QUERIES = {
    "filter": "SELECT id, amount FROM facts WHERE amount > 500",
    "group": "SELECT customer, COUNT(*) n, SUM(amount) total FROM facts GROUP BY customer",
    "join": "SELECT f.id, f.amount, c.city FROM facts f JOIN customers c ON f.customer = c.id",
    "left join": "SELECT f.id, f.amount, c.city FROM facts f LEFT JOIN customers c ON f.customer = c.id",
    "window": (
        "SELECT id, customer, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount, id) place FROM facts"
    ),
    "join and group": (
        "SELECT c.city, COUNT(*) n, SUM(f.amount) total FROM facts f JOIN customers c ON f.customer = c.id"
        " GROUP BY c.city"
    ),
}


def facts(rows: int) -> dict[str, pa.Array]:
    """Return facts in the order of their customers, of whom one has a tenth of the facts."""
    numbers = pa.array(range(rows), pa.int64())
    later = pc.max_element_wise(pc.subtract(numbers, rows // 10), 0)
    amounts = pa.array((n * 7919 % 1000 for n in range(rows)), pa.int64())
    return {"id": numbers, "customer": pc.divide(later, FACTS_OF_CUSTOMER), "amount": amounts}


def customers(rows: int) -> dict[str, pa.Array]:
    """Return customers."""
    numbers = range(rows // FACTS_OF_CUSTOMER)
    return {
        "id": pa.array(numbers, pa.int64()),
        "city": pa.array([f"city {n // CUSTOMERS_OF_CITY}" for n in numbers]),
    }


def moment(second: int) -> Timestamp:
    """Return the time of a commit."""
    return Timestamp(second * 1_000_000, 0, 0)


def table_in_files(
    directory: Path, fields: Sequence[Field], columns: Mapping[str, pa.Array], format: str
) -> ParquetTable:
    """Write a table of several files of equal size, with its first column as id."""
    stored = [stored_field(field, short=True) for field in fields]
    table = ParquetTable.create(directory, stored, moment(0), log_of(format))
    ids = columns[fields[0].name].cast(pa.string())
    versions = pa.array([1] * len(ids), pa.int64())
    rows = pa.Table.from_arrays([ids, versions, *columns.values()], schema=arrow_schema(stored))
    size = -(-len(rows) // FILES)
    files = []
    for place in range(FILES):
        part = rows.slice(place * size, size)
        files.append(DataFile(f"{place:03}.parquet", len(part)))
        pq.write_table(part, table.path(files[-1]), row_group_size=ROWS_OF_GROUP)
    parent = table.latest()
    table.commit(Staged(1, tuple(files), overwrites=True), parent, moment(1))
    return table


class Bench:
    """The tables in files, and the refreshes."""

    def __init__(self, spark: Any, root: Path, rows: int, format: str) -> None:
        self.spark = spark
        self.root = root
        self.rows = rows
        self.format = format
        self.backend = SparkBackend(spark)
        self.columns = {"facts": facts(rows), "customers": customers(rows)}
        self.refreshes = 0
        self.results: dict[Query, VersionRows] = {}

    def change(self, kind: str) -> dict[str, ParquetInterval]:
        """Create the tables, make a kind of change, and return the interval of each."""
        tables = {
            name: table_in_files(
                self.root / kind / name, TABLES[name].fields, self.columns[name], self.format
            )
            for name in TABLES
        }
        # Behind the facts of the city of customer 0.
        first = self.rows // 10 + FACTS_OF_CUSTOMER * CUSTOMERS_OF_CITY
        step = {"clustered": 1, "scattered": (self.rows - first) // CHANGED}.get(kind)
        if step is None:
            changed, places = "customers", [0]
        else:
            changed, places = "facts", list(range(first, self.rows, step))[:CHANGED]
        delta = self.updates_of(changed, places)
        parent = tables[changed].latest()
        tables[changed].commit(tables[changed].stage(delta, parent), parent, moment(2))
        return {
            name: ParquetInterval(lambda: self.spark, table, table.version(1), table.latest())
            for name, table in tables.items()
        }

    def updates_of(self, name: str, places: list[int]) -> Delta:
        """Return the changes of updates of the last column in some rows."""
        changes = []
        for place in places:
            *kept, last = (column[place].as_py() for column in self.columns[name].values())
            other = last + " A" if isinstance(last, str) else (last + 1) % 1000
            changes.append(Change(Action.DELETE, f"{place}", (*kept, last)))
            changes.append(Change(Action.INSERT, f"{place}", (*kept, other)))
        return tuple(changes)

    def full(self, text: str, intervals: Mapping[str, ParquetInterval]) -> None:
        """Refresh by Spark SQL, without row ids."""
        for name, interval in intervals.items():
            names = [field.name for field in TABLES[name].fields]
            columns = [f"c{place} AS {column}" for place, column in enumerate(names)]
            interval.after.data.selectExpr(*columns).createOrReplaceTempView(name)
        self.spark.sql(text).write.mode("overwrite").parquet(str(self.root / "full"))

    def few(self, query: Query, intervals: Mapping[str, ParquetInterval]) -> int | None:
        """Refresh by changes in Python; return their number, or None if they depend on too many rows."""
        fresh = {
            name: ParquetInterval(lambda: self.spark, interval.table, interval.old, interval.new)
            for name, interval in intervals.items()
        }
        delta = self.backend.few_changes(query, fresh, self.result_before(query, intervals))
        if delta is not None:
            self.commit(query, delta)
        return None if delta is None else len(delta)

    def result_before(self, query: Query, intervals: Mapping[str, ParquetInterval]) -> VersionRows | None:
        """Return the result before the interval, of queries whose rows are adjusted; it is computed once."""
        if "total" not in query.columns:
            return None
        if query not in self.results:
            sources = {name: interval.before for name, interval in intervals.items()}
            with exact_settings(self.spark):
                contents = contents_of(self.backend.full(query, sources))
            self.refreshes += 1
            columns = [stored_field(field) for field in query.fields]
            table = ParquetTable.create(self.root / f"result {self.refreshes}", columns, moment(0))
            parent = table.latest()
            table.commit(table.stage_whole(contents, parent), parent, moment(1))
            self.results[query] = VersionRows(table, table.latest())
        return self.results[query]

    def commit(self, query: Query, delta: Delta) -> None:
        """Commit changes to a table of the query's result."""
        self.refreshes += 1
        columns = [stored_field(field) for field in query.fields]
        table = ParquetTable.create(self.root / f"result {self.refreshes}", columns, moment(0))
        parent = table.latest()
        table.commit(table.stage(delta, parent), parent, moment(1), {"data_us": 1})

    def by_spark(self, query: Query, intervals: Mapping[str, ParquetInterval]) -> None:
        """Refresh by changes that Spark computes."""
        changes = self.backend.changes(query, intervals)
        changes.data.write.mode("overwrite").parquet(str(self.root / "changes"))


def seconds(run: Callable[[], Any]) -> float:
    """Return the wall time of a call."""
    began = perf_counter()
    run()
    return perf_counter() - began


class Reads:
    """The row groups and bytes that this process reads of tables in files while it is entered."""

    def __init__(self) -> None:
        self.bytes = self.groups = self.all_groups = 0
        self.patches = patch.object(VersionRows, "groups_with", self.counting(VersionRows.groups_with))

    def counting(self, groups_with: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that chooses row groups, and counts them."""

        def choose_and_count(rows: VersionRows, wanted: WantedKeys | None) -> Any:
            chosen = groups_with(rows, wanted)
            self.groups += sum(len(groups) for _, groups in chosen)
            self.all_groups += sum(map(len, rows.table.blocks(rows.manifest.data)))
            return chosen

        return choose_and_count

    def __enter__(self) -> "Reads":
        self.patches.start()
        self.bytes -= bytes_read()
        return self

    def __exit__(self, *_: object) -> None:
        self.bytes += bytes_read()
        self.patches.stop()

    @property
    def skipped_share(self) -> str:
        """The row groups that were not read, of all."""
        return f"{self.all_groups - self.groups:,} of {self.all_groups:,}"


def bytes_read() -> int:
    """Return the bytes that this process asked the operating system for, by Linux."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(lines[0].removeprefix("rchar: "))


def main() -> None:
    """Print a line for each query and kind of change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--spark", action="store_true", help="measure changes that Spark computes, too")
    parser.add_argument("--format", default="parquet", help="parquet, delta or iceberg")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp())
    try:
        with spark_session({"spark.master": "local[2]", "spark.driver.memory": "4g"}) as spark:
            measure(Bench(spark, root, options.rows, options.format), options)
    finally:
        shutil.rmtree(root)


def measure(bench: Bench, options: argparse.Namespace) -> None:
    """Print a line for each query and kind of change."""
    copy = bind_definition(SqlDefinition("SELECT id FROM customers"), TABLES.get)
    insertion = (Change(Action.INSERT, "0", (0,)),)
    floor = median(seconds(partial(bench.commit, copy, insertion)) for _ in range(options.rounds))
    print(f"floor: {floor:.3f} s")
    titles = ("changed", "full", "few", "ratio", *(("by Spark", "ratio") if options.spark else ()))
    titles = (*titles, "read", "skipped")
    print(f"{'query':<16}{'changes':<12}" + "".join(f"{title:>12}" for title in titles))
    for kind in ("clustered", "scattered", "dimension"):
        intervals = bench.change(kind)
        for name, text in QUERIES.items():
            query = bind_definition(SqlDefinition(text), TABLES.get)
            bench.few(query, intervals)
            with Reads() as reads:
                number = bench.few(query, intervals)
            bench.full(text, intervals)
            ways = [partial(bench.full, text, intervals), partial(bench.few, query, intervals)]
            ways += [partial(bench.by_spark, query, intervals)] if options.spark else []
            rounds = [[seconds(way) for way in ways] for _ in range(options.rounds)]
            full, *others = map(median, zip(*rounds, strict=True))
            cells = ["too many" if number is None else f"{number:,}", f"{full:.2f} s"]
            cells += [cell for time in others for cell in (f"{time:.2f} s", f"{time / full:.2f}")]
            cells += [f"{reads.bytes / 1e6:.2f} MB", reads.skipped_share]
            print(f"{name:<16}{kind:<12}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
