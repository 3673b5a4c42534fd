"""The demo: real flights, eight questions, five layouts; each answer pruned, timed and compared.

Each query runs `RUNS` times by Spark alone (with its own Parquet pushdown, as it is shipped) and
as often through `pruning.prune`, in alternating order, planning included. Every pruned answer is
compared with an oracle that skips nothing: the same rows in memory.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet

from oracles.answers.frames import arrow_frame
from pruning.metadata.table.schema import sql_type
from skipproof.commands.examples import Examples, generated_examples
from skipproof.commands.flights import BLOCK_ROWS, SCHEMA, Layout, flights, write_lake
from skipproof.metering import SETTINGS, Reading, block_count, run_metered
from skipproof.sessions import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUNS = 3
QUERIES = (
    "month = 3",
    "time_hour between timestamp'2013-07-04 00:00:00Z' and timestamp'2013-07-04 23:59:59Z'",
    "carrier in ('HA', 'OO', 'YV')",
    "if(origin = 'JFK', air_time + air_time, air_time) > 1200",
    "tailnum like 'N0%'",
    "not (month <= 6 or dep_delay <= 0)",
    "coalesce(arr_delay, dep_delay, 9999) >= 9999",
    "case when carrier = 'UA' then distance > 4900 when carrier = 'HA' then month = 12 else false end",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """The files of one layout; `short` are the row counts of the blocks that are not full."""

    layout: Layout
    path: Path
    blocks: int
    size_bytes: int
    short: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOutcome:
    """One query on one lake; the blocks and bytes read are those that Spark's tasks reported."""

    query: str
    layout: str
    blocks: int
    blocks_read_alone: int
    blocks_read: int
    lake_bytes: int
    bytes_read_alone: int
    bytes_read: int
    seconds_alone: float
    seconds: float
    rows: int
    rows_expected: int
    same_rows: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """The results of the demo."""

    spark: str
    rows: int
    outcomes: tuple[QueryOutcome, ...]
    examples: Examples

    @property
    def all_held(self) -> bool:
        """True if every pruned answer was the oracle's and every generated verdict was right."""
        return all(outcome.same_rows for outcome in self.outcomes) and not self.examples.difference

    def to_dict(self) -> dict[str, object]:
        """Return the report in JSON."""
        return {**asdict(self), "held": self.all_held}


def run(root: Path, *, examples: int, step: Callable[[str, int, int], None]) -> DemoReport:
    """Write the lakes below `root`, ask every query, then check generated examples.

    Args:
        root: An empty or new directory.
        examples: How many generated examples to check.
        step: Called after each step with its description, the steps done, and the number of all steps.

    Raises:
        InputError: the data is not installed, Spark cannot start, or `root` holds lakes already.
    """
    import pruning

    total = len(Layout) * (len(QUERIES) + 1) + 1
    table = flights()
    lakes = []
    for done, lake in enumerate(write_lakes(table, root), start=1):
        lakes.append(lake)
        step(f"wrote {lake.blocks} blocks {lake.layout.value}", done, total)
    with spark_session(SETTINGS) as spark:
        results = []
        for done, outcome in enumerate(
            query_outcomes(spark, table, tuple(lakes), prune=pruning.prune), start=len(lakes) + 1
        ):
            results.append(outcome)
            step(f"asked {outcome.query} ({outcome.layout})", done, total)
        generated = generated_examples(spark, count=examples)
        step(f"checked {generated.examples} generated examples", total, total)
        return DemoReport(
            spark=spark.version, rows=table.num_rows, outcomes=tuple(results), examples=generated
        )


def write_lakes(table: pa.Table, root: Path) -> Iterator[Lake]:
    """Write the flights in every layout below `root`, and yield each lake.

    Raises:
        InputError: one of the lakes exists already.
    """
    for layout in Layout:
        path = write_lake(table, root, layout)
        files = sorted(path.rglob("*.parquet"))
        footers = [pa.parquet.read_metadata(file) for file in files]
        rows = [
            footer.row_group(group).num_rows for footer in footers for group in range(footer.num_row_groups)
        ]
        yield Lake(
            layout=layout,
            path=path,
            blocks=len(rows),
            size_bytes=sum(file.stat().st_size for file in files),
            short=[count for count in rows if count != BLOCK_ROWS],
        )


def query_outcomes(
    spark: "SparkSession",
    table: pa.Table,
    lakes: tuple[Lake, ...],
    *,
    prune: Callable[["DataFrame"], "DataFrame"],
    queries: tuple[str, ...] = QUERIES,
) -> Iterator[QueryOutcome]:
    """Run every query on every lake, query by query."""
    everything = arrow_frame(spark, table, {field.name: sql_type(field.type) for field in SCHEMA})
    for query in queries:
        expected = _sorted_rows(_arrow_rows(everything.where(query)))
        for lake in lakes:
            yield _query_outcome(spark, lake, query, expected=expected, prune=prune)


def _query_outcome(
    spark: "SparkSession",
    lake: Lake,
    query: str,
    *,
    expected: pa.Table,
    prune: Callable[["DataFrame"], "DataFrame"],
) -> QueryOutcome:
    """Run one query on one lake, alone and pruned, and compare the rows."""

    def ask() -> "DataFrame":
        return spark.read.parquet(str(lake.path)).where(query)

    ways: Mapping[str, Callable[[], pa.Table]] = {
        "alone": lambda: _arrow_rows(ask()),
        "pruned": lambda: _arrow_rows(prune(ask())),
    }
    runs = _run_alternately(spark, ways)
    answers = [_sorted_rows(run.result) for run in runs["pruned"]]
    return QueryOutcome(
        query=query,
        layout=lake.layout.value,
        blocks=lake.blocks,
        blocks_read_alone=_blocks_read(runs["alone"], lake),
        blocks_read=_blocks_read(runs["pruned"], lake),
        lake_bytes=lake.size_bytes,
        bytes_read_alone=max(run.read_bytes for run in runs["alone"]),
        bytes_read=max(run.read_bytes for run in runs["pruned"]),
        seconds_alone=statistics.median(run.seconds for run in runs["alone"]),
        seconds=statistics.median(run.seconds for run in runs["pruned"]),
        rows=answers[0].num_rows,
        rows_expected=expected.num_rows,
        same_rows=all(rows.equals(expected) for rows in answers),
    )


def _run_alternately(
    spark: "SparkSession", ways: Mapping[str, Callable[[], pa.Table]]
) -> dict[str, list[Reading[pa.Table]]]:
    """Run each function `RUNS` times with metering, in an order that is reversed each time."""
    runs: dict[str, list[Reading[pa.Table]]] = {name: [] for name in ways}
    order = list(ways)
    for _ in range(RUNS):
        for name in order:
            runs[name].append(run_metered(spark, ways[name]))
        order.reverse()
    return runs


def _blocks_read(runs: list[Reading[pa.Table]], lake: Lake) -> int:
    """Return the largest number of blocks that one of the runs read."""
    return max(block_count(run.rows, block_rows=BLOCK_ROWS, short=lake.short) for run in runs)


def _arrow_rows(frame: "DataFrame") -> pa.Table:
    """Return a DataFrame's rows, also under Spark 3.5, which has no `DataFrame.toArrow`."""
    batches = frame._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else SCHEMA.empty_table()


def _sorted_rows(rows: pa.Table) -> pa.Table:
    """Return the rows with the schema's columns, sorted by all of them, so that bags can be compared."""
    named = rows.select(SCHEMA.names).cast(SCHEMA)
    return named.sort_by([(name, "ascending") for name in SCHEMA.names]).combine_chunks()
