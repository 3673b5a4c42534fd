"""The log of a table of Delta Lake or Apache Iceberg as a file with its history, for `skipproof history`."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from oracles.isolation.notation import dumps
from skipproof.histories.table_recording import record_table
from skipproof.sessions import spark_session
from strategies.histories.histories import Commit

# The number of commits that a sentence names.
_NAMED = 5


@contextlib.contextmanager
def recorded_file(path: str, keys: Sequence[str]) -> Iterator[Path]:
    """Record a table in a session of its own, and give a file with its history as long as the context lasts.

    Standard error names the commits of which it is not known what their statements had read.

    Raises:
        InputError: as for `record_table`; or Spark cannot start.
    """
    with tempfile.TemporaryDirectory(prefix="skipproof-history-") as folder:
        with spark_session() as spark:
            recorded = record_table(spark, path, keys=keys)
        count = sum(isinstance(operation, Commit) for operation in recorded.history.operations)
        if recorded.unchecked:
            names = ", ".join(map(str, recorded.unchecked[:_NAMED]))
            more = ", ..." if len(recorded.unchecked) > _NAMED else ""
            print(
                f"skipproof: {path}: the reads of {len(recorded.unchecked):,} of {count:,} commits are not "
                f"known and were not checked: {names}{more}",
                file=sys.stderr,
            )
        file = Path(folder) / "history.jsonl"
        file.write_text(dumps(recorded.history) + "\n", encoding="utf-8")
        yield file
