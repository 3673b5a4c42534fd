"""Planning over tables of many columns: Spark's own planning beside `prune`, in one run.

    python bench/wide_tables.py [--columns N ...] [--files N] [--rounds N] [--json] [--kept]

The query is `SELECT * FROM t WHERE c1 >= x`, which keeps one of the files. "Spark" is the time from its text
to the physical plan, "prune" that of `prune` on the DataFrame of the same text, analysed before; both with
footers in memory, as in the second query of a session. "first" is `prune` with the store on disk.
Each round runs both, in an order that changes; the first rounds, in which Java compiles what runs often, are
not counted. Bar: of the widest table, prune takes at most 3 times as long as Spark; and no longer per column
than of narrower ones.

With `--kept`, the store is measured instead: what a new process reads, and how long it takes, to have the
block metadata of two of 400 columns of 1,500 row groups in 150 files. The ideal is the compressed lanes of
those columns and the locators of the blocks. Bars: at most twice the ideal bytes, and under 50 ms.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from pruning.metadata.store import collecting, log, packs
from pruning.metadata.store.collecting import read_blocks
from skipproof.sessions import spark_session

COLUMNS = (500, 1_000, 2_000, 5_000)
RATIO_MAX = 3.0
_ROWS = 10
_ROUNDS_BEFORE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Medians of seconds, and the median of the ratio in each round."""

    columns: int
    seconds_spark: float
    seconds_prune: float
    seconds_first: float
    ratio: float
    files_kept: int


def measure(spark: SparkSession, columns: int, *, files: int, rounds: int) -> Result:
    """Write a table and time both over it."""
    text = f"SELECT * FROM t WHERE c1 >= {_ROWS * (files - 1) + 1}"
    with tempfile.TemporaryDirectory() as directory:
        _write(Path(directory), columns, files)
        spark.read.parquet(directory).createOrReplaceTempView("t")
        (scan,) = pruning.explain(spark.sql(text)).scans

        def plan() -> None:
            spark.sql(text)._jdf.queryExecution().executedPlan()

        def forget() -> None:
            for remembered in (log._load, packs._open_once, collecting._kept_metadata):
                remembered.cache_clear()

        alone: list[float] = []
        pruned: list[float] = []
        first: list[float] = []
        for number in range(-_ROUNDS_BEFORE, rounds):
            frame, other = spark.sql(text), spark.sql(text)
            contestants = [(plan, alone), (partial(pruning.prune, frame), pruned)]
            for run, seconds in contestants if number % 2 else reversed(contestants):
                seconds.append(_seconds(run))
            forget()
            first.append(_seconds(partial(pruning.prune, other)))
        spark.catalog.dropTempView("t")
    counted = slice(_ROUNDS_BEFORE, None)
    return Result(
        columns=columns,
        seconds_spark=statistics.median(alone[counted]),
        seconds_prune=statistics.median(pruned[counted]),
        seconds_first=statistics.median(first[counted]),
        ratio=statistics.median(b / a for a, b in zip(alone[counted], pruned[counted], strict=True)),
        files_kept=scan.files_kept,
    )


def _write(directory: Path, columns: int, files: int) -> None:
    for file in range(files):
        cells = np.arange(_ROWS, dtype=np.int64) + _ROWS * file
        table = pa.table({f"c{place}": pa.array(cells + place) for place in range(columns)})
        pq.write_table(table, directory / f"{file}.parquet")


def _seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def print_kept(rounds: int) -> None:
    """Print the bytes and the time that a new process takes to read two columns of a store."""
    files, columns, groups = 150, 400, 10
    with tempfile.TemporaryDirectory() as directory:
        rng = np.random.default_rng(0)
        for file in range(files):
            cells = {
                f"c{place}": rng.integers(0, 10**6, groups * _ROWS)
                if place % 3
                else rng.random(groups * _ROWS)
                for place in range(columns)
            }
            pq.write_table(pa.table(cells), f"{directory}/{file:03}.parquet", row_group_size=_ROWS)
        pruning.collect(directory)
        names = frozenset({"c7", "c8"})
        command = [sys.executable, __file__, "--read-kept", directory, *names]
        answers = [subprocess.run(command, capture_output=True, check=True) for _ in range(rounds)]
        figures = [json.loads(answer.stdout) for answer in answers]
        blocks, _, _ = read_blocks(sorted(map(str, Path(directory).glob("*.parquet"))), columns=names)
        whole, facts = (
            sum(path.stat().st_size for path in Path(directory).glob(f".skipproof/_store/*.{kind}"))
            for kind in ("blocks", "footers")
        )
    ideal = sum(map(compressed_bytes, [*blocks["columns"].chunk(0).flatten(), locators(blocks)]))
    read = statistics.median(bytes_ for bytes_, _ in figures)
    seconds = statistics.median(seconds for _, seconds in figures)
    print(f"{blocks.num_rows:,} blocks, {columns} columns: kept are")
    print(f"{whole:,} bytes of blocks and {facts:,} of footers")
    print(f"read for 2 columns: {read:,.0f} bytes, {read / ideal:.2f} times the ideal {ideal:,} (bar 2)")
    print(f"in a new process: {seconds * 1_000:.1f} ms (bar 50)")


def locators(blocks: pa.Table) -> pa.StructArray:
    """Return the fields that tell where blocks are; a file is a number."""
    fields = blocks.drop_columns(["columns"])
    return (
        fields.set_column(0, "file", fields["file"].dictionary_encode().combine_chunks().indices)
        .to_struct_array()
        .chunk(0)
    )


def compressed_bytes(lanes: pa.StructArray) -> int:
    """Return the bytes of a struct's fields as a compressed Arrow stream."""
    sink = pa.BufferOutputStream()
    table = pa.Table.from_arrays(lanes.flatten(), names=[field.name for field in lanes.type])
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.Codec("zstd").compress(sink.getvalue()).size


def read_kept(directory: str, names: list[str]) -> None:
    """Print the bytes that this process reads for some columns of what is kept, and the seconds."""
    files = sorted(map(str, Path(directory).glob("*.parquet")))
    with tempfile.TemporaryDirectory() as small:
        # Python's own modules are read before.
        _write(Path(small), 1, 1)
        for _ in range(2):
            read_blocks([f"{small}/0.parquet"], columns=frozenset({"c0"}))
    before, began = _bytes_read(), time.perf_counter()
    read_blocks(files, columns=frozenset(names))
    seconds = time.perf_counter() - began
    print(json.dumps([_bytes_read() - before, seconds]))


def _bytes_read() -> int:
    """Return the bytes that this process has read by system calls."""
    return int(Path("/proc/self/io").read_text().split()[1])


def grid(results: list[Result]) -> Table:
    """Return the times as a table of columns."""
    table = Table(title="seconds; medians, and the median of the ratio in each round")
    for heading in ("columns", "Spark", "prune", "prune / Spark", "bar", "prune per column, ms", "first"):
        table.add_column(heading, justify="right")
    for one in results:
        table.add_row(
            f"{one.columns:,}",
            f"{one.seconds_spark:.3f}",
            f"{one.seconds_prune:.3f}",
            f"{one.ratio:.2f}",
            "" if one is not results[-1] else "met" if one.ratio <= RATIO_MAX else "MISSED",
            f"{one.seconds_prune / one.columns * 1_000:.3f}",
            f"{one.seconds_first:.3f}",
        )
    return table


def main() -> None:
    """Measure tables of each width; status 1 where the bar is missed at the widest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, nargs="+", default=list(COLUMNS), help="widths of the tables")
    parser.add_argument("--files", type=int, default=4, help="files of each (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--kept", action="store_true", help="measure reading what is kept")
    parser.add_argument("--read-kept", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read_kept:
        read_kept(arguments.read_kept[0], arguments.read_kept[1:])
        return
    if arguments.kept:
        print_kept(arguments.rounds)
        return
    with spark_session({"spark.driver.memory": "4g"}) as spark:
        results = [
            measure(spark, columns, files=arguments.files, rounds=arguments.rounds)
            for columns in arguments.columns
        ]
    if arguments.json:
        print(json.dumps([asdict(one) for one in results], indent=2))
    else:
        Console(width=110).print(grid(results))
    sys.exit(0 if results[-1].ratio <= RATIO_MAX else 1)


if __name__ == "__main__":
    main()
