"""Plan queries over one version of a table of very many files, some with deleted rows, and read what is left.

    python bench/versions/planning.py [--formats delta,iceberg,runtime] [--files N] [--rows N]
        [--rounds N] [--jar PATH] [--tables NAMES] [--queries NAMES]

The log of a table of Delta Lake, or the manifests of one of Iceberg, are generated: FILES files of ROWS rows
each, of which `id` ascends over the files and `unit` takes turns; of the files only those exist that the
queries need. As `runtime`, the table of Iceberg is read by Iceberg's own runtime, whose jar is named.
Three tables of each differ in their deletes alone: none, in each twentieth file, and in each second file; a
file with deletes has lost each hundredth row. The first time of each figure is that of the first call, the
second the median of ROUNDS more.

Bars, at 20,000 files with deletes in 1,000: `prune` plans each query within 0.5 s when the table is open, and
a pruned query takes at most 1.3 times as long as one over its files alone, chosen by hand: without a jar,
their Parquet files, deleted rows and all, and by Iceberg's runtime, a table of these files and their
deletes alone. Queries over the three tables of a format open the same files, those that they need.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from generated_tables import part_name, write_delta_table, write_iceberg_table
from rich.console import Console
from rich.table import Table

import pruning
from skipproof.sessions import spark_session

PLAN_SECONDS_MAX, RATIO_MAX = 0.5, 1.3
# The tables: each how many-th file has deletes; 0 is none.
EVERY = {"no deletes": 0, "deletes in 1/20": 20, "deletes in 1/2": 2}
_CATALOG = "spark.sql.catalog.planning"
TIMES = ("open", "plan", "read", "by hand")


def queries(files: int, rows: int) -> dict[str, tuple[str, int]]:
    """Return the queries, with `{t}` for the table, and how many files each needs from the middle one on."""
    middle = files // 2 * rows
    return {
        "point": (f"SELECT sum(value), count(word) FROM {{t}} WHERE id = {middle + 7}", 1),
        "IF": (
            f"SELECT sum(value), count(word) FROM {{t}} "
            f"WHERE IF(unit = 'feet', id * 1, id) BETWEEN {middle} AND {middle + 2 * rows - 1}",
            2,
        ),
        "top-k": (f"SELECT id, word FROM {{t}} WHERE id >= {middle} ORDER BY id LIMIT 10", 1),
    }


def timed(rounds: int, *actions: Callable[[], object]) -> list[tuple[float, float]]:
    """Return of each action the seconds of the first call, and the median of the others; they take turns."""
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds + 1):
        for action, of_action in zip(actions, seconds, strict=True):
            began = time.perf_counter()
            action()
            of_action.append(time.perf_counter() - began)
    return [(of_action[0], statistics.median(of_action[1:])) for of_action in seconds]


def measure(
    spark: Any,
    open_table: Callable[[], Any],
    open_chosen: Callable[[range], Any],
    chosen_queries: dict[str, tuple[str, int]],
    files: int,
    rounds: int,
) -> dict[str, dict[str, Any]]:
    """Return the figures of each query over a table, and over the files that it needs, by their numbers."""
    (opening,) = timed(rounds, open_table)
    frame = open_table()
    results: dict[str, dict[str, Any]] = {}
    for name, (sql, count) in chosen_queries.items():
        frame.createOrReplaceTempView("t")
        query = spark.sql(sql.format(t="t"))
        (planning,) = timed(rounds, lambda query=query: pruning.prune(query))
        pruned = pruning.prune(query)
        open_chosen(range(files // 2, files // 2 + count)).createOrReplaceTempView("chosen")
        by_hand = spark.sql(sql.format(t="chosen"))
        # Both are planned anew each time.
        reading, chosen = timed(
            rounds, lambda pruned=pruned: spark_rows(pruned), lambda by_hand=by_hand: spark_rows(by_hand)
        )
        results[name] = {
            "open": opening,
            "plan": planning,
            "read": reading,
            "by hand": chosen,
            "files": pruning.explain(query).scans[0].files_kept,
            "needed": count,
        }
    return results


def spark_rows(frame: Any) -> Any:
    """Return the rows of a query, which is planned anew."""
    return frame.select("*").collect()


def main() -> None:
    """Measure, print the figures, and say which bars are missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--formats", default="delta,iceberg")
    parser.add_argument("--jar", type=Path, help="Iceberg's runtime for the installed Spark")
    parser.add_argument("--tables", default=",".join(EVERY), help="which of the tables")
    parser.add_argument("--queries", default="point,IF,top-k", help="which of the queries")
    options = parser.parse_args()
    settings = {"spark.master": "local[1]", "spark.driver.memory": "1g"}
    if options.jar is not None:
        settings["spark.driver.extraClassPath"] = str(options.jar)
    shown = Table("table", "query", *(f"{name} s" for name in TIMES), "ratio", "files")
    missed = []
    with tempfile.TemporaryDirectory() as warehouse:
        catalog = {f"{_CATALOG}.type": "hadoop", f"{_CATALOG}.warehouse": warehouse}
        with spark_session(settings) as spark:
            for name, value in {_CATALOG: "org.apache.iceberg.spark.SparkCatalog", **catalog}.items():
                spark.conf.set(name, value)
            for format_ in options.formats.split(","):
                for table in options.tables.split(","):
                    every = EVERY[table]
                    folder = Path(warehouse) / "db" / f"{format_}{every}"
                    figures = _measure_new(spark, folder, format_, options, every)
                    label = f"{format_}, {table}"
                    missed += _add_rows(shown, label, figures)
                    shutil.rmtree(folder)
    console = Console(width=120)
    console.print(shown)
    console.print("\n".join(missed) or "All bars are met.")


def _add_rows(shown: Table, label: str, figures: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Add the figures of a table to what is printed, and yield the bars that it misses."""
    for query, of_query in figures.items():
        ratio = of_query["read"][1] / of_query["by hand"][1]
        seconds = (f"{first:.2f} {later:.2f}" for first, later in (of_query[name] for name in TIMES))
        shown.add_row(label, query, *seconds, f"{ratio:.2f}", f"{of_query['files']:,}")
        if of_query["plan"][1] > PLAN_SECONDS_MAX:
            yield f"{label}, {query}: planning takes {of_query['plan'][1]:.2f} s"
        if ratio > RATIO_MAX:
            yield f"{label}, {query}: reading takes {ratio:.2f} times as long as by hand"
        if of_query["files"] != of_query["needed"]:
            yield f"{label}, {query}: {of_query['files']:,} files are opened, {of_query['needed']} are needed"


def _measure_new(
    spark: Any, folder: Path, format_: str, options: argparse.Namespace, every: int
) -> dict[str, dict[str, Any]]:
    folder.mkdir(parents=True)
    files, rows = options.files, options.rows
    (write_delta_table if format_ == "delta" else write_iceberg_table)(folder, files, rows, every)
    data = folder if format_ == "delta" else folder / "data"

    def open_table() -> Any:
        if format_ == "runtime":
            return spark.table(f"planning.db.{folder.name}")
        return pruning.table(spark, folder)

    def open_chosen(numbers: range) -> Any:
        if format_ != "runtime":
            return spark.read.parquet(*(str(data / part_name(number)) for number in numbers))
        chosen = folder.with_name(f"{folder.name}_{len(numbers)}")
        if not chosen.exists():
            chosen.mkdir()
            write_iceberg_table(chosen, files, rows, every, numbers)
        return spark.table(f"planning.db.{chosen.name}")

    every_query = queries(files, rows)
    chosen_queries = {name: every_query[name] for name in options.queries.split(",")}
    return measure(spark, open_table, open_chosen, chosen_queries, files, options.rounds)


if __name__ == "__main__":
    main()
