"""Estimates of the first task of a scan that are wrong in one way each."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mutants.replacements import Replacement
from pruning.spark.drive import limits
from pruning.spark.lake.first_task import TaskSizes, first_task

FirstTask = Callable[[np.ndarray, TaskSizes], tuple[np.ndarray, float]]


def _without_opening(sizes: np.ndarray, settings: TaskSizes) -> tuple[np.ndarray, float]:
    """Count the bytes of files alone."""
    return first_task(sizes, replace(settings, open_bytes=1))


def _in_order_of_names(sizes: np.ndarray, settings: TaskSizes) -> tuple[np.ndarray, float]:
    """Fill the task with the first files of the listing."""
    places, share = first_task(sizes, settings)
    return np.arange(len(places)), share


def _of_whole_files(sizes: np.ndarray, settings: TaskSizes) -> tuple[np.ndarray, float]:
    """Take a file that is cut into tasks for one task."""
    return first_task(sizes, settings)[0], 1.0


def _all_in_the_largest_task(sizes: np.ndarray, settings: TaskSizes) -> tuple[np.ndarray, float]:
    """Fill tasks up to the most bytes that one may have, however many tasks are wanted."""
    return first_task(sizes, replace(settings, task_count=1))


MUTANTS: tuple[FirstTask, ...] = (
    _without_opening,
    _in_order_of_names,
    _of_whole_files,
    _all_in_the_largest_task,
)
ALWAYS_ENOUGH = Replacement(limits, "_first_task_has", lambda scan, wanted: True)
