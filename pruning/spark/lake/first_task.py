"""The first task of a scan of files: a LIMIT at the top of a query reads it before any other."""

from dataclasses import dataclass

import numpy as np
from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class TaskSizes:
    """The settings by which Spark packs files into tasks.

    Attributes:
        bytes_max: The most bytes of a task.
        open_bytes: The bytes that opening a file counts as.
        task_count: The tasks that Spark wants at least.
    """

    bytes_max: int
    open_bytes: int
    task_count: int

    @classmethod
    def of(cls, spark: SparkSession) -> "TaskSizes":
        """Return the settings of a session."""
        conf = spark._jsparkSession.sessionState().conf()
        count = conf.filesMinPartitionNum()
        return cls(
            bytes_max=int(conf.filesMaxPartitionBytes()),
            open_bytes=int(conf.filesOpenCostInBytes()),
            task_count=int(count.get()) if count.isDefined() else spark.sparkContext.defaultParallelism,
        )


def first_task(sizes: np.ndarray, settings: TaskSizes) -> tuple[np.ndarray, float]:
    """Return the files that the first task of a scan reads, and the share of them that it reads.

    Spark sorts files by their bytes, largest first, cuts those that are larger than a task, and fills one
    task after the other. The result decides about costs alone: it is an estimate, since a release may pack
    otherwise.

    Args:
        sizes: The bytes of each file; shape (files,).
        settings: The settings of the session.
    Returns:
        The places of the files, in the order in which they are read; and 1, or less where the first task
        reads a part of one file.
    """
    if not len(sizes):
        return np.zeros(0, np.int64), 1.0
    wanted = (int(sizes.sum()) + len(sizes) * settings.open_bytes) // max(1, settings.task_count)
    task_bytes = min(settings.bytes_max, max(settings.open_bytes, wanted))
    order = np.argsort(-sizes, kind="stable")
    largest = int(sizes[order[0]])
    if largest > task_bytes:
        return order[:1], task_bytes / largest
    sorted_sizes = sizes[order]
    before = np.cumsum(sorted_sizes + settings.open_bytes) - (sorted_sizes + settings.open_bytes)
    beyond = before + sorted_sizes > task_bytes
    return order[: int(beyond.argmax()) if beyond.any() else len(order)], 1.0
