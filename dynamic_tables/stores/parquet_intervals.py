"""The reading of a table in Parquet files over one interval: few rows in Python, any number by Spark."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dynamic_tables.bags.intervals import WantedKeys
from dynamic_tables.bags.operators import Pair, Pairs
from dynamic_tables.maintenance.plans import Moment
from dynamic_tables.on_spark import frames
from dynamic_tables.on_spark.changes import remove_unchanged
from dynamic_tables.on_spark.few_changes import check_count
from dynamic_tables.on_spark.frames import RowFrame, cell_name, create_frame, union_of
from dynamic_tables.on_spark.key_conditions import key_condition
from dynamic_tables.on_spark.physical_types import row_from_spark
from dynamic_tables.storage.netting import difference
from dynamic_tables.stores.arrow_rows import LONG, ROW_ID, VERSION, in_layout, types_of, wanted_rows
from dynamic_tables.stores.frame_files import stored_type
from dynamic_tables.stores.manifests import DataFile, Layout, Manifest
from dynamic_tables.stores.parquet_table import ParquetTable
from dynamic_tables.values.changes import Contents, Delta, Row, RowId
from dynamic_tables.values.types import Type

# The most rows of row groups that are searched in Python for wanted ones.
SEARCHED_MAX = 5_000_000
# The name, in conditions on files, of columns that files do not have.
NOWHERE = "_nowhere"


class VersionRows:
    """The rows of one version of a table.

    Args:
        table: The table.
        manifest: The version.
        layout: The columns of the rows, NULL where the version has none; None: those of the version.
    """

    def __init__(self, table: ParquetTable, manifest: Manifest, layout: Layout | None = None) -> None:
        self.table = table
        self.manifest = manifest
        self.layout = manifest.layout if layout is None else layout
        self.columns = list(self.layout.values())
        # The position of each column that the version has, by its name.
        self.stored = {
            column.field.name: place
            for place, (number, column) in enumerate(self.layout.items())
            if number in manifest.layout
        }

    @property
    def types(self) -> list[Type]:
        """The types of the columns."""
        return types_of(self.columns)

    @cached_property
    def deletions(self) -> dict[RowId, int]:
        """The last version in which each id was deleted."""
        return self.table.deletions(self.manifest)

    @property
    def written_count(self) -> int:
        """The number of rows in the files of the version, of which some may be deleted."""
        return sum(file.rows for file in self.manifest.data)

    def few_contents(self, rows_max: int) -> Contents:
        """Return all rows, by id.

        Raises:
            TooManyRows: There are more than `rows_max`.
        """
        return dict(self.few_rows(range(len(self.types)), None, rows_max))

    def few_rows(self, places: Sequence[int], wanted: WantedKeys | None, rows_max: int) -> Pairs:
        """Return the cells at some positions, of all rows or at least of the wanted ones.

        Raises:
            TooManyRows: There are more than `rows_max`, or too many to be searched.
        """
        numbers = list(self.layout)
        layout = {numbers[place]: self.columns[place] for place in places}
        columns = [ROW_ID, VERSION, *(self.columns[place].field.name for place in places)]
        if wanted is None:
            check_count(self.written_count, rows_max)
        convert = row_from_spark([self.types[place] for place in places])
        pairs: list[Pair] = []
        for path, groups in self.groups_with(wanted):
            read = pq.ParquetFile(path).read_row_groups(groups, columns=columns)
            rows = in_layout(read, self.manifest.layout, layout)
            if wanted is not None:
                rows = wanted_rows(rows, wanted, self.columns)
            check_count(len(pairs) + len(rows), rows_max)
            row_ids, versions, *cells = (rows[name].to_pylist() for name in columns)
            tuples = zip(*cells, strict=True) if cells else [()] * len(row_ids)
            for row_id, version, row in zip(row_ids, versions, tuples, strict=True):
                if self.deletions.get(row_id, -1) <= version:
                    pairs.append((row_id, convert(row)))
        return pairs

    def with_ids(self, row_ids: Collection[RowId], rows_max: int) -> Mapping[RowId, Row]:
        """Return the rows with these ids.

        Raises:
            TooManyRows: There are more than `rows_max`, or too many rows have to be searched.
        """
        wanted = WantedKeys((), frozenset(), frozenset(row_ids))
        return dict(self.few_rows(range(len(self.types)), wanted, rows_max))

    def groups_with(self, wanted: WantedKeys | None) -> list[tuple[str, list[int]]]:
        """Return the files, each with its row groups, that may have wanted rows.

        Raises:
            TooManyRows: They have too many rows to be searched.
        """
        if not self.manifest.data:
            return []
        condition = None
        if wanted is not None:
            # A file may have a dropped column of the same name as one that its version has not.
            names = [NOWHERE] * len(self.columns)
            for name, place in self.stored.items():
                names[place] = name
            longs = [place for place, column in enumerate(self.columns) if column.stored == LONG]
            condition = key_condition(wanted, names, longs, ROW_ID)
        possible = self.table.groups(self.manifest.data, condition)
        check_count(pc.sum(possible["row_count"]).as_py() or 0, SEARCHED_MAX)
        groups: dict[str, list[int]] = {}
        for path, group in zip(possible["file"].to_pylist(), possible["row_group"].to_pylist(), strict=True):
            groups.setdefault(path, []).append(group)
        return list(groups.items())

    def frame(self, spark: SparkSession) -> RowFrame:
        """Return the rows as a frame."""
        data, deletions = (self.read(spark, files) for files in (self.manifest.data, self.manifest.deletions))
        if self.manifest.deletions:
            gone = deletions.select(F.col(ROW_ID).alias("gone_id"), F.col(VERSION).alias("gone_version"))
            is_gone = (F.col("gone_id") == F.col(ROW_ID)) & (F.col("gone_version") > F.col(VERSION))
            data = data.join(gone, is_gone, "left_anti")
        return self.as_frame(data)

    def read(self, spark: SparkSession, files: Sequence[DataFile]) -> DataFrame:
        """Return the rows of files as they are stored."""
        schema = StructType(
            [StructField(ROW_ID, StringType()), StructField(VERSION, LongType())]
            + [StructField(name, stored_type(self.columns[place])) for name, place in self.stored.items()]
        )
        if not files:
            return create_frame(spark, [], schema)
        return spark.read.schema(schema).parquet(*[str(self.table.path(file)) for file in files])

    def as_frame(self, data: DataFrame) -> RowFrame:
        """Return stored rows as a frame."""
        there = {place: F.col(f"`{name}`") for name, place in self.stored.items()}
        cells = [
            there.get(place, F.lit(None).cast(stored_type(column))).alias(cell_name(place))
            for place, column in enumerate(self.columns)
        ]
        return RowFrame(data.select(F.col(ROW_ID).alias(frames.ROW_ID), *cells), tuple(self.types))


@dataclass(frozen=True)
class ParquetInterval:
    """One table over one interval.

    Attributes:
        spark: Returns the session that reads what is too much for Python.
        old, new: The versions at the ends of the interval.
        layout: The columns of the rows; None: those of each version.
    """

    spark: Callable[[], SparkSession]
    table: ParquetTable
    old: Manifest
    new: Manifest
    layout: Layout | None = None

    @property
    def width(self) -> int:
        """The number of cells of a row."""
        return len(self.snapshots[1].columns)

    @cached_property
    def snapshots(self) -> tuple[VersionRows, VersionRows]:
        """The rows at the ends of the interval."""
        return VersionRows(self.table, self.old, self.layout), VersionRows(self.table, self.new, self.layout)

    @cached_property
    def before(self) -> RowFrame:
        """The rows at the start of the interval."""
        return self.snapshots[0].frame(self.spark())

    @cached_property
    def after(self) -> RowFrame:
        """The rows at the end of the interval."""
        return self.snapshots[1].frame(self.spark())

    def few_rows(
        self, moment: Moment, places: Sequence[int], wanted: WantedKeys | None, rows_max: int
    ) -> Pairs:
        """Return the cells at some positions of all rows at a moment, or at least of the wanted ones."""
        return self.snapshots[0 if moment is Moment.BEFORE else 1].few_rows(places, wanted, rows_max)

    def few_changes(self, rows_max: int) -> Delta:
        """Return the net changes: those that the versions recorded, else the difference of the contents."""
        if not self.was_overwritten:
            check_count(self.new.changed_count - self.old.changed_count, rows_max)
            changes = self.table.changes(self.old.number, self.new.number, self.layout)
            assert changes is not None
            return changes
        return difference(*(snapshot.few_contents(rows_max) for snapshot in self.snapshots))

    @cached_property
    def was_overwritten(self) -> bool:
        """True if a version in the interval was overwritten."""
        between = self.table.versions_between(self.old.number, self.new.number)
        return any(manifest.overwritten for manifest in between)

    @cached_property
    def changes(self) -> RowFrame:
        """The net changes: of the rows whose ids changed, or of all rows where a version was overwritten."""
        before, after = self.before, self.after
        if not self.was_overwritten:
            between = self.table.versions_between(self.old.number, self.new.number)
            files = [file for manifest in between for file in (*manifest.inserted, *manifest.deleted)]
            ids = self.snapshots[1].read(self.spark(), files).select(F.col(ROW_ID).alias(frames.ROW_ID))
            before, after = (
                rows.with_data(rows.data.join(ids, frames.ROW_ID, "left_semi")) for rows in (before, after)
            )
        return remove_unchanged(union_of([before.with_end(True), after.with_end(False)]))
