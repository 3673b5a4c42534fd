"""Backfilling without child processes, whose start takes most of the time of a small lake."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from pruning.metadata.backfill.measured_files import measure_files
from pruning.metadata.index import child_processes


@contextmanager
def measure_in_process() -> Iterator[None]:
    """Measure in this process inside of a `with`."""
    with patch.object(
        child_processes, "_run_process", lambda module, files, options: measure_files(files, **options)
    ):
        yield
