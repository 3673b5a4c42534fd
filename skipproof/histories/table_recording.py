"""The history of a table of Delta Lake or Apache Iceberg, from its log, with its rows read by Spark."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import coalesce, expr, lit

from pruning.dml.changed_rows import PLACE, POSITION, column, rows_at
from pruning.errors import InputError
from pruning.metadata.delta.opening import open_delta_version
from pruning.metadata.delta.row_changes import delta_commits
from pruning.metadata.files.locations import path_below
from pruning.metadata.files.table_formats import arrow_has_markers
from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.iceberg.opening import open_iceberg_version
from pruning.metadata.iceberg.row_changes import iceberg_commits
from pruning.metadata.versioned.table_version import TableVersion
from pruning.spark.jvm.gateway import first_line
from skipproof.histories.table_histories import TableHistory, table_history

_NUMBER = "`number"


def record_table(spark: SparkSession, path: str, *, keys: Sequence[str] = ()) -> TableHistory:
    """Return the history of a table's commits.

    Args:
        spark: The session that reads the table's rows and evaluates the conditions of its statements.
        path: The table's directory.
        keys: As for `table_history`.
    Raises:
        InputError: there is no such table, its metadata is damaged, or it is not known which rows a commit
            has changed.
    """
    (is_delta,) = arrow_has_markers([(path_below(path, "_delta_log"), "")])
    rows = _RowsOfFiles(spark, path, is_delta=is_delta)
    commits = list((delta_commits if is_delta else iceberg_commits)(path, rows.row_count))
    for key in keys:
        if any(key not in table.column_names for table in rows.tables.values()):
            raise InputError(f"--key {key}: {path} has no such column, or has not had it always")
    return table_history(commits, rows.tables.__getitem__, rows.matches, name=path, keys=keys)


@dataclass(frozen=True)
class _NoDeletedRows:
    """The deleted rows of files of which all rows are read."""

    count: int

    @property
    def mask(self) -> Mask:
        return np.zeros(self.count, np.bool_)

    def positions(self, places: Sequence[int]) -> list[BitMap]:
        return [BitMap() for _ in places]


@dataclass(slots=True)
class _RowsOfFiles:
    """The rows of a table's data files, deleted or not, in their order.

    Attributes:
        tables: By the paths of the files that have been asked for.
    """

    spark: SparkSession
    path: str
    is_delta: bool
    tables: dict[str, pa.Table] = field(default_factory=dict)

    def row_count(self, version: int, file: str) -> int:
        """Return the number of rows of a file, which is in a version of the table."""
        if file not in self.tables:
            self._read(version)
        return int(self.tables[file].num_rows)

    def matches(self, conditions: Sequence[str], rows: pa.Table) -> np.ndarray:
        """Return on which rows conditions are TRUE, as Spark evaluates them; shape (conditions, rows)."""
        numbered = rows.append_column(_NUMBER, pa.array(range(len(rows)), pa.int64()))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.parquet"
            pq.write_table(numbered, file)
            truths = [coalesce(expr(text), lit(False)) for text in conditions]
            frame = self.spark.read.parquet(str(file)).select(*truths, column(_NUMBER))
            try:
                answers = frame.collect()
            except PySparkException as error:
                raise InputError(
                    f"{self.path}: Spark cannot evaluate a condition in its log ({first_line(error)})"
                ) from error
        mask = np.zeros((len(conditions), len(rows)), np.bool_)
        for *values, number in answers:
            mask[:, number] = values
        return mask

    def _read(self, version: int) -> None:
        """Read the files of a version that were not read."""
        opened: TableVersion
        if self.is_delta:
            zone = str(self.spark.conf.get("spark.sql.session.timeZone"))
            opened = open_delta_version(self.path, version=version, zone=zone)
        else:
            opened = open_iceberg_version(self.path, version=version)
        paths = opened.files.paths
        places = [place for place, path in enumerate(paths) if path not in self.tables]
        whole = replace(opened, deleted_rows=_NoDeletedRows(len(paths)), equality_deletes=())
        frame = rows_at(self.spark, whole, places)
        batches = frame._collect_as_arrow()
        rows = pa.Table.from_batches(batches) if batches else None
        for place in places:
            self.tables[paths[place]] = _rows_of_place(rows, place)


def _rows_of_place(rows: pa.Table | None, place: int) -> pa.Table:
    """Return the rows of one file in its order, without their places; no rows if none was read."""
    if rows is None:
        return pa.table({})
    of_file = rows.filter(pc.equal(rows[PLACE], place)).sort_by(POSITION)
    return of_file.drop_columns([PLACE, POSITION])
