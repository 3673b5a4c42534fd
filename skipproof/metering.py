"""The rows, bytes and time that a Spark job needed, from Spark's own task metrics."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

# The settings of a session in which Spark's count of bytes is the number that its queries needed.
SETTINGS = {
    # Spark does not count what Parquet's vectored reads fetch.
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    # Each seek reads a buffer ahead, by default more than a small block.
    "spark.buffer.size": "4096",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[Result]):
    """One metered run.

    `rows` left the scans, before any filter of the query; `read_bytes` were read from files by the
    executors, footers and read-ahead included; `seconds` is wall time.
    """

    result: Result
    rows: int
    read_bytes: int
    seconds: float


def run_metered(spark: "SparkSession", run: Callable[[], Result]) -> Reading[Result]:
    """Run a function on Spark, and return its result with the rows, bytes and time of its jobs.

    `read_bytes` is complete only in a session with `SETTINGS`.
    """
    context = spark.sparkContext
    group = f"metered-{uuid.uuid4()}"
    context.setJobGroup(group, group)
    began = time.perf_counter()
    try:
        result = run()
        seconds = time.perf_counter() - began
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
    rows, read_bytes = _input_metrics(spark, group)
    return Reading(result=result, rows=rows, read_bytes=read_bytes, seconds=seconds)


def _input_metrics(spark: "SparkSession", group: str) -> tuple[int, int]:
    """Return the rows and bytes that the stages of a job group read."""
    scala_context = spark.sparkContext._jsc.sc()
    # Metrics arrive as events, after the result of the job.
    scala_context.listenerBus().waitUntilEmpty()
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    metrics = [scala_context.statusStore().lastStageAttempt(stage) for stage in stages]
    return sum(stage.inputRecords() for stage in metrics), sum(stage.inputBytes() for stage in metrics)


def block_count(rows: int, *, block_rows: int, short: list[int]) -> int:
    """Return the number of blocks that have `rows` in all: full ones of `block_rows`, and some `short` ones.

    Raises:
        ValueError: no choice of blocks has that many rows.
    """
    for count in range(len(short) + 1):
        for chosen in combinations(short, count):
            full, rest = divmod(rows - sum(chosen), block_rows)
            if rest == 0 and full >= 0:
                return full + count
    raise ValueError(f"{rows} rows are not made of blocks of {block_rows} and some of {short}")
