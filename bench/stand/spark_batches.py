"""Measure whether Spark answers a batch of questions faster in one job than one by one.

    PYTHONPATH=. python bench/stand/spark_batches.py [--rounds N]

Asks 20 questions of a table in memory and of a Parquet file: one by one as the stand's worker does; as one
union of the results' RDDs; and as one UNION ALL of their texts, whose rows are JSON with the question's
number. Both batches lose the order of rows or the plan of LIMIT, so the stand does not ask them. Prints the
median milliseconds of a question in Markdown.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from skipproof.stand.adapters.on_spark import OnSpark

ROUNDS = 10
_WARM_UP_ROUNDS = 4


def statements(table: str, constant: int) -> list[str]:
    """Return 20 questions of a table of two columns: filters, aggregates and top-k."""
    filters = [f"SELECT a, b FROM {table} WHERE a > {constant + i}" for i in range(7)]
    aggregates = [
        f"SELECT b, count(*), max(a) FROM {table} WHERE a > {constant + i} GROUP BY b" for i in range(7)
    ]
    orders = [
        f"SELECT a, b FROM {table} WHERE a > {i} ORDER BY b DESC LIMIT {constant + 3}" for i in range(6)
    ]
    return filters + aggregates + orders


def one_by_one(spark: Any, texts: list[str]) -> None:
    """Run each question as a query of its own."""
    for text in texts:
        spark.sql(text).collect()


def one_rdd(spark: Any, texts: list[str]) -> None:
    """Run the union of the results of all questions as one job."""
    spark.sparkContext.union([spark.sql(text).rdd for text in texts]).collect()


def one_union(spark: Any, texts: list[str]) -> None:
    """Run all questions as one query; each is analyzed alone first, since a wrong one would fail them all."""
    for text in texts:
        spark.sql(text)
    parts = (f"SELECT {i} AS question, to_json(struct(*)) FROM ({text})" for i, text in enumerate(texts))
    spark.sql(" UNION ALL ".join(parts)).collect()


WAYS: dict[str, Callable[[Any, list[str]], None]] = {
    "one by one": one_by_one,
    "one union of RDDs": one_rdd,
    "one UNION ALL": one_union,
}


def milliseconds(spark: Any, table: str, rounds: int) -> dict[str, float]:
    """Return the median milliseconds of a question for each way; the ways take turns."""
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for constant in range(_WARM_UP_ROUNDS + rounds):
        texts = statements(table, constant)
        for way, run in WAYS.items():
            since = time.monotonic()
            run(spark, texts)
            times[way].append((time.monotonic() - since) * 1000 / len(texts))
    return {way: statistics.median(of_way[_WARM_UP_ROUNDS:]) for way, of_way in times.items()}


def main() -> None:
    """Start the worker's session, make both tables, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    adapter = OnSpark()
    names: dict[str, Any] = {}
    exec(adapter.start(), names)
    spark = names["spark"]
    spark.sparkContext.setLogLevel("FATAL")
    with tempfile.TemporaryDirectory() as directory:
        frame = spark.createDataFrame([(i, float(i)) for i in range(50)], "a int, b double").coalesce(1)
        frame.localCheckpoint().createOrReplaceTempView("memory")
        frame.write.parquet(directory + "/file")
        spark.read.parquet(directory + "/file").createOrReplaceTempView("file")
        print(f"| table | {' | '.join(WAYS)} |\n| --- |{' ---: |' * len(WAYS)}")
        for table in ("memory", "file"):
            cells = (f"{value:.1f}" for value in milliseconds(spark, table, rounds).values())
            print(f"| {table} | {' | '.join(cells)} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
