"""Results of refreshes, written to files of a table: changes or all rows, which Python or Spark computed."""

from collections.abc import Callable

from pyspark.sql import SparkSession

from dynamic_tables.on_spark.few_changes import TooManyRows
from dynamic_tables.on_spark.frames import RowFrame, changes_frame, contents_of
from dynamic_tables.on_spark.key_conditions import KEYS_MAX
from dynamic_tables.storage.netting import difference
from dynamic_tables.storage.staging import NO_CHANGES, StagedChanges, stage_delta
from dynamic_tables.stores.arrow_rows import stored_field, types_of
from dynamic_tables.stores.frame_files import write_frame
from dynamic_tables.stores.manifests import Manifest
from dynamic_tables.stores.parquet_intervals import VersionRows
from dynamic_tables.stores.parquet_table import ParquetTable, Staged
from dynamic_tables.values.changes import Delta
from dynamic_tables.warehouse.frame_checks import check_changes, check_rows, computed_once
from dynamic_tables.warehouse.limits import Limits
from dynamic_tables.warehouse.results import ComputedChanges, ComputedRows
from dynamic_tables.warehouse.table_versions import live_rows


class ResultFiles:
    """The files of the version that follows the newest one of a table.

    Args:
        files: The table.
        spark: Returns the session that reads and writes what is too much for Python.
        limits: The numbers of rows above which that is so.
    """

    def __init__(self, files: ParquetTable, spark: Callable[[], SparkSession], limits: Limits) -> None:
        self.files = files
        self.spark = spark
        self.limits = limits

    def stage(self, computed: ComputedChanges) -> StagedChanges:
        """Write changes of the newest version to files, validated (R-DVS-92).

        Raises:
            InvalidChanges: They do not fit its contents.
        """
        parent = self.files.latest()
        if isinstance(computed.changes, RowFrame):
            return self.stage_frame(computed.changes, parent)
        try:
            return self.stage_delta(computed.changes, parent)
        except TooManyRows:
            frame = changes_frame(self.spark(), computed.changes, types_of(parent.columns))
            return self.stage_frame(frame, parent)

    def stage_delta(self, delta: Delta, parent: Manifest) -> StagedChanges:
        """Write changes that Python holds.

        Raises:
            TooManyRows: They change more rows than are looked for in Python.
        """
        row_ids = {change.row_id for change in delta}
        if len(row_ids) > KEYS_MAX:
            raise TooManyRows
        held = VersionRows(self.files, parent).with_ids(row_ids, self.limits.read_rows) if row_ids else {}
        stage_delta(delta, held)
        return as_staged(self.files.stage(delta, parent)) if delta else NO_CHANGES

    def stage_frame(self, frame: RowFrame, parent: Manifest) -> StagedChanges:
        """Write changes that Spark computes."""
        changes = computed_once(frame)
        check_changes(changes, VersionRows(self.files, parent).frame(self.spark()))
        version = parent.number + 1
        inserted, deleted = (
            write_frame(self.files, changes.at(end), parent.columns, version) for end in (False, True)
        )
        if not inserted and not deleted:
            return NO_CHANGES
        return as_staged(self.files.stage_files(inserted, deleted, parent))

    def stage_whole(self, computed: ComputedRows) -> StagedChanges:
        """Write other contents to files; of a few rows, only what differs.

        Raises:
            DuplicateRowId: Two rows have the same id.
        """
        parent = self.files.latest()
        columns = tuple(map(stored_field, computed.fields))
        live_count = live_rows(parent)
        contents = computed.rows
        if isinstance(contents, RowFrame):
            rows = computed_once(contents)
            if rows.data.count() <= self.limits.read_rows:
                contents = contents_of(rows)
        if isinstance(contents, RowFrame):
            check_rows(rows)
            version = parent.number + 1
            written = write_frame(self.files, rows, columns, version)
            staged = Staged(version, written, overwrites=True, columns=columns)
            return StagedChanges(staged, staged.row_counts[0], live_count)
        if columns == parent.columns and live_count <= self.limits.read_rows:
            before = VersionRows(self.files, parent).few_contents(2 * self.limits.read_rows)
            delta = difference(before, contents)
            if not delta:
                return NO_CHANGES
            if len(delta) <= len(contents):
                return as_staged(self.files.stage(delta, parent))
        staged = self.files.stage_whole(contents, parent, columns)
        return StagedChanges(staged, staged.row_counts[0], live_count)


def as_staged(files: Staged) -> StagedChanges:
    """Return written files as staged changes."""
    return StagedChanges(files, *files.row_counts)
