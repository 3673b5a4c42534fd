"""Collect the block metadata of very many files, by Spark's tasks and by threads.

    python bench/many_footers.py [--files N] [--distinct N]

Files of one row group and 20 columns, of which DISTINCT differ in their values and the others are copies, in
directories of 1,000. A quarter, a half and all of them are collected with nothing kept, by a session with
`local[2]` and without one. "processor" is the time of all processes together: Python, Java, and Python's
workers. Bar: by Spark, less than 15 microseconds of processor time a column chunk, and twice the files in at
most 2.5 times the time.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import pruning
from skipproof.sessions import spark_session

COLUMNS, ROWS = 20, 50
MICROSECONDS_MAX, GROWTH_MAX = 15.0, 2.5


def write_lake(directory: Path, files: int, distinct: int) -> list[str]:
    """Write the files, and return their paths."""
    random = np.random.default_rng(0)
    bodies = []
    for _ in range(distinct):
        numbers = random.integers(0, 10**9, (COLUMNS, ROWS))
        pq.write_table(
            pa.table({f"c{place}": _column(place, numbers[place]) for place in range(COLUMNS)}),
            directory / "body.parquet",
        )
        bodies.append((directory / "body.parquet").read_bytes())
    (directory / "body.parquet").unlink()
    paths = [directory / f"{number // 1_000:03}" / f"{number:06}.parquet" for number in range(files)]
    for number, path in enumerate(paths):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bodies[number % distinct])
    return list(map(str, paths))


def _column(place: int, numbers: Any) -> pa.Array:
    if place % 3 == 0:
        return pa.array([f"text {number}" for number in numbers])
    return pa.array(numbers if place % 3 == 1 else numbers / 7)


def processor_seconds() -> float:
    """Return the processor time of this process and of all below it."""
    times: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            # The parent, and the ticks in user and kernel mode, of the process and of its ended children.
            times[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    return sum(times[process][1] for process in _family(os.getpid(), times)) / os.sysconf("SC_CLK_TCK")


def _family(root: int, times: dict[int, tuple[int, int]]) -> Iterator[int]:
    yield root
    for process, (parent, _) in times.items():
        if parent == root:
            yield from _family(process, times)


def main() -> None:
    """Print the times; status 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000, help="files (default %(default)s)")
    parser.add_argument("--distinct", type=int, default=500, help="that differ (default %(default)s)")
    arguments = parser.parse_args()
    table = Table(title=f"files of {COLUMNS} columns; seconds, and microseconds a column chunk")
    for heading in ("by", "files", "wall", "processor", "processor a chunk"):
        table.add_column(heading, justify="left" if heading == "by" else "right")
    by_spark: list[tuple[float, float]] = []
    with (
        tempfile.TemporaryDirectory() as directory,
        spark_session({"spark.master": "local[2]", "spark.driver.memory": "2g"}) as spark,
    ):
        paths = write_lake(Path(directory), arguments.files, arguments.distinct)
        # The first job starts the workers.
        pruning.collect(paths[:2_000], spark=spark, cache=False)
        for count in (arguments.files // 4, arguments.files // 2, arguments.files):
            for name, session in (("Spark", spark), ("threads", None)):
                began, before = time.perf_counter(), processor_seconds()
                blocks = pruning.collect(paths[:count], spark=session, cache=False)
                wall, processor = time.perf_counter() - began, processor_seconds() - before
                assert blocks.num_rows == count
                microseconds = processor / (count * COLUMNS) * 1e6
                table.add_row(name, f"{count:,}", f"{wall:.1f}", f"{processor:.1f}", f"{microseconds:.1f}")
                if session is not None:
                    by_spark.append((wall, microseconds))
    Console(width=100).print(table)
    grows = max(later / earlier for (earlier, _), (later, _) in pairwise(by_spark))
    sys.exit(0 if by_spark[-1][1] < MICROSECONDS_MAX and grows <= GROWTH_MAX else 1)


if __name__ == "__main__":
    main()
