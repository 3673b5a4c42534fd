"""Change generated tables by DELETE, UPDATE and MERGE, and count what is read, written and refused.

    python bench/versions/statements.py [--files N] [--rows N] [--rounds N] [--commits N]

Tables of Delta Lake and Apache Iceberg have FILES files of ROWS rows each, over which `id` ascends. On a copy
for each of ROUNDS rounds, three statements run in either mode; times are medians. Then four writers, each a
thread, add 1 to counters in a table of four files until COMMITS statements have committed, two by UPDATE and
two by MERGE; a statement that is refused is tried again.

Bars: a DELETE of whole files runs no job of Spark; a DELETE of 1 % of the rows, and a MERGE of 1 %, write at
most 2 % of the bytes; the files and rows that are rewritten are those that the plan has announced; and
the sum of the counters is the number of commits.
"""

import argparse
import random
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, convert_to_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from pruning.dml import Fate, Then, When, WhenClause, WriteMode, delete, merge, update
from pruning.dml.running import StatementResult
from pruning.dml.targets import StatementConflict
from skipproof.sessions import spark_session

FORMATS = ("delta", "iceberg")
WRITERS, COUNTERS = 4, 8
WRITTEN_RATIO_MAX = 0.02
# Directories of metadata, which is not rewritten data.
_METADATA = {"_delta_log", "metadata"}
# As Spark compresses, so that bytes can be compared.
_AS_SPARK = {"format-version": "2", "write.parquet.compression-codec": "snappy"}
ADD = [
    WhenClause(when=When.MATCHED, then=Then.UPDATE, values={"counter": "target.counter + source.counter"}),
    WhenClause(when=When.NOT_MATCHED, then=Then.INSERT, values="*"),
]


def file_rows(first: int, rows: int) -> pa.Table:
    """Return the rows of a file: ids from `first` on, a counter, and texts that compress badly."""
    chance = random.Random(first)
    return pa.table(
        {
            "id": pa.array(range(first, first + rows), pa.int64()),
            "counter": pa.array([0] * rows, pa.int64()),
            "text": [chance.randbytes(40).hex() for _ in range(rows)],
        }
    )


def create_table(folder: Path, format_: str, files: int, rows: int) -> None:
    """Create a table of files in a folder by another writer, in one commit."""
    parts = [file_rows(number * rows, rows) for number in range(files)]
    if format_ == "delta":
        for number, part in enumerate(parts):
            pq.write_table(part, folder / f"{number:05}.parquet")
        convert_to_deltalake(str(folder))
        DeltaTable(str(folder)).alter.set_table_properties({"delta.enableDeletionVectors": "true"})
        return
    catalog = _catalog(folder)
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", parts[0].schema, properties=_AS_SPARK)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for part in parts:
            for file in _dataframe_to_data_files(table.metadata, part, table.io):
                append.append_data_file(file)


def handle_of(folder: Path, format_: str) -> Any:
    """Return a table as statements take it, with a connection of its own."""
    return str(folder) if format_ == "delta" else _catalog(folder).load_table("db.t")


def rows_of(folder: Path, format_: str, column: str) -> pa.ChunkedArray:
    """Return a column of a table, as delta-rs or PyIceberg reads it."""
    if format_ == "iceberg":
        return handle_of(folder, format_).scan(selected_fields=(column,)).to_arrow()[column]
    from deltalake import QueryBuilder

    query = QueryBuilder().register("t", DeltaTable(str(folder)))
    return pa.table(query.execute(f"SELECT {column} FROM t").read_all())[column]


def _catalog(folder: Path) -> SqlCatalog:
    return SqlCatalog("b", uri=f"sqlite:///{folder}/catalog.db?timeout=60", warehouse=f"file://{folder}")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One execution of a statement."""

    seconds: float
    jobs: int
    written_ratio: float
    result: StatementResult


def data_bytes(folder: Path) -> dict[Path, int]:
    """Return the sizes of the files of data and deleted rows below a folder."""
    return {
        path: path.stat().st_size
        for path in folder.rglob("*")
        if path.suffix in (".parquet", ".bin") and _METADATA.isdisjoint(path.parts)
    }


def measure(
    spark: SparkSession, folder: Path, statement: Callable[[], StatementResult], group: str
) -> Measurement:
    """Execute a statement, and measure it."""
    before = data_bytes(folder)
    spark.sparkContext.setJobGroup(group, group)
    began = time.perf_counter()
    result = statement()
    seconds = time.perf_counter() - began
    jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    new = sum(size for path, size in data_bytes(folder).items() if path not in before)
    return Measurement(seconds=seconds, jobs=jobs, written_ratio=new / sum(before.values()), result=result)


def rows_in(files: tuple[str, ...]) -> int:
    """Return the number of rows in Parquet files."""
    return sum(pq.read_metadata(file.removeprefix("file://")).num_rows for file in files)


def check_plan(measurement: Measurement, mode: WriteMode, deleted: int, inserted: int) -> None:
    """Check that the files and rows that were rewritten are those that the plan has announced."""
    result, plan = measurement.result, measurement.result.plan
    whole, rewritten = plan.files_of(Fate.DELETED), plan.files_of(Fate.REWRITTEN)
    if mode is WriteMode.COPY_ON_WRITE:
        assert set(result.removed_files) == {*whole, *rewritten}
        announced = plan.blocks.tally(Fate.REWRITTEN).rows
        gone = deleted - plan.blocks.tally(Fate.DELETED).rows
        assert rows_in(result.added_files) == announced - gone + inserted
    else:
        # A file of which every row changes leaves the table, too.
        assert {*whole} <= {*result.removed_files} <= {*whole, *rewritten}


def statements(
    spark: SparkSession, files: int, rows: int
) -> Iterator[tuple[str, int, int, Callable[[Any, WriteMode], StatementResult]]]:
    """Yield the statements: their names, the numbers of rows that they delete and insert, and they."""
    tenth = files * rows // 10
    hundredth = files * rows // 100
    first = files * rows // 2 + rows // 2
    yield (
        "DELETE of whole files",
        tenth,
        0,
        lambda table, mode: delete(spark, table, f"id < {tenth}", mode=mode),
    )
    yield (
        "DELETE of 1 %",
        hundredth,
        0,
        lambda table, mode: delete(spark, table, f"id >= {first} AND id < {first + hundredth}", mode=mode),
    )
    source = spark.range(first, first + hundredth).selectExpr("id", "1L AS counter", "'new' AS text")
    new = spark.createDataFrame([(-1, 1, "new")], "id long, counter long, text string")
    yield (
        "MERGE of 1 %",
        0,
        1,
        lambda table, mode: merge(spark, table, source.union(new), {"id": "id"}, ADD, mode=mode),
    )


def run_statements(spark: SparkSession, folder: Path, options: argparse.Namespace, report: Table) -> None:
    """Execute each statement on copies of both tables."""
    for format_ in FORMATS:
        for mode in WriteMode:
            for name, deleted, inserted, statement in statements(spark, options.files, options.rows):
                measurements = []
                for number in range(options.rounds):
                    with _fresh_table(folder, format_, options) as copy:
                        table = handle_of(copy, format_)
                        group = f"{format_} {mode.value} {name} {number}"
                        execute = partial(statement, table, mode)
                        measurements.append(measure(spark, copy, execute, group))
                        check_plan(measurements[-1], mode, deleted, inserted)
                last = measurements[-1]
                if name == "DELETE of whole files":
                    assert last.jobs == 0
                assert last.written_ratio <= WRITTEN_RATIO_MAX, f"{format_}, {mode.value}: {name}"
                report.add_row(
                    format_,
                    mode.value,
                    name,
                    f"{statistics.median(measurement.seconds for measurement in measurements):.2f}",
                    f"{last.jobs}",
                    f"{last.written_ratio:.2%}",
                    f"{len(last.result.removed_files)}",
                    f"{len(last.result.added_files)}",
                    f"{last.result.deleted_positions:,}",
                )


@contextmanager
def _fresh_table(folder: Path, format_: str, options: argparse.Namespace) -> Iterator[Path]:
    """A copy of a table, at the place of the first, since Iceberg's metadata has whole paths."""
    kept, place = folder / f"{format_} kept", folder / format_
    if not kept.exists():
        place.mkdir()
        create_table(place, format_, options.files, options.rows)
        place.rename(kept)
    shutil.copytree(kept, place)
    try:
        yield place
    finally:
        shutil.rmtree(place)


class Writers:
    """Threads that add 1 to counters, until so many of their statements have committed."""

    def __init__(self, spark: SparkSession, folder: Path, format_: str, commits: int) -> None:
        self._spark, self._folder, self._format = spark, folder, format_
        self._left, self._lock = commits, threading.Lock()
        self.refused = 0

    def run(self, mode: WriteMode) -> None:
        """Run the writers to their end."""
        with ThreadPoolExecutor(WRITERS) as threads:
            for future in [threads.submit(self._write, number, mode) for number in range(WRITERS)]:
                future.result()

    def _write(self, number: int, mode: WriteMode) -> None:
        chance = random.Random(number)
        table = handle_of(self._folder, self._format)
        while self._takes_one():
            while not self._adds(table, chance.randrange(COUNTERS), by_merge=number % 2 == 1, mode=mode):
                pass

    def _takes_one(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left >= 0

    def _adds(self, table: Any, counter: int, *, by_merge: bool, mode: WriteMode) -> bool:
        try:
            if by_merge:
                source = self._spark.createDataFrame([(counter, 1, "")], "id long, counter long, text string")
                result = merge(self._spark, table, source, {"id": "id"}, ADD, mode=mode)
            else:
                result = update(self._spark, table, {"counter": "counter + 1"}, f"id = {counter}", mode=mode)
        except StatementConflict:
            with self._lock:
                self.refused += 1
            return False
        assert result.version is not None
        return True


def run_writers(spark: SparkSession, folder: Path, commits: int, report: Table) -> None:
    """Run writers on a table of each format and in each mode."""
    for format_ in FORMATS:
        for mode in WriteMode:
            place = folder / f"writers {format_} {mode.value}".replace(" ", "-")
            place.mkdir()
            create_table(place, format_, 4, COUNTERS // 4)
            writers = Writers(spark, place, format_, commits)
            began = time.perf_counter()
            writers.run(mode)
            seconds = time.perf_counter() - began
            total = sum(rows_of(place, format_, "counter").to_pylist())
            report.add_row(
                format_, mode.value, f"{commits}", f"{total}", f"{writers.refused}", f"{seconds:.0f}"
            )
            assert total == commits


def main() -> None:
    """Run the statements and the writers, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commits", type=int, default=200)
    options = parser.parse_args()
    settings = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"}
    with spark_session(settings) as spark, tempfile.TemporaryDirectory() as folder:
        report = Table("format", "mode", "statement", "s", "jobs", "written", "removed", "added", "positions")
        run_statements(spark, Path(folder), options, report)
        Console().print(report)
        report = Table("format", "mode", "commits", "sum of counters", "refused", "s")
        run_writers(spark, Path(folder), options.commits, report)
        Console().print(report)


if __name__ == "__main__":
    main()
