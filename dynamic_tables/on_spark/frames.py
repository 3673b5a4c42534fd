"""Rows with ids as DataFrames, whose columns are named by place: the same name never means two columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from dynamic_tables.on_spark.failures import user_errors
from dynamic_tables.on_spark.physical_types import row_from_spark, row_to_spark, spark_type
from dynamic_tables.values.changes import Action, Change, Contents, Delta, Row, RowId
from dynamic_tables.values.errors import DuplicateRowId
from dynamic_tables.values.types import Type
from pruning.spark.jvm.gateway import same_active_session

ROW_ID = "row_id"
# True in deleted rows and in rows before the interval, FALSE in inserted rows and in rows after it.
DELETED = "deleted"


def cell_name(place: int) -> str:
    """Return the name of the column at a position."""
    return f"c{place}"


def cell(place: int) -> Column:
    """Return the column at a position."""
    return F.col(cell_name(place))


@dataclass(frozen=True)
class RowFrame:
    """Rows with ids, in Spark.

    Attributes:
        data: A DataFrame with the columns `ROW_ID`, `c0`, `c1` and so on, and `tags`.
        types: The types of the cells.
        tags: Columns that tell apart rows that no operator mixes: `DELETED` those of the two ends of an
            interval.
    """

    data: DataFrame
    types: tuple[Type, ...]
    tags: tuple[str, ...] = ()

    @property
    def cells(self) -> list[Column]:
        """The columns of the cells."""
        return [cell(place) for place in range(len(self.types))]

    @property
    def columns(self) -> list[str]:
        """The names of all columns, in the order of each frame with these types and tags."""
        return [*self.tags, ROW_ID, *map(cell_name, range(len(self.types)))]

    def select(
        self, cells: Iterable[Column], types: Sequence[Type], row_id: Column | None = None
    ) -> "RowFrame":
        """Return rows with other cells and, if given, other ids."""
        computed = [column.alias(cell_name(place)) for place, column in enumerate(cells)]
        identity = F.col(ROW_ID) if row_id is None else row_id.alias(ROW_ID)
        return RowFrame(self.data.select(*self.tags, identity, *computed), tuple(types), self.tags)

    def with_data(self, data: DataFrame) -> "RowFrame":
        """Return other rows of the same columns."""
        return replace(self, data=data.select(*self.columns))

    def with_end(self, deleted: bool) -> "RowFrame":
        """Return the rows as those before the interval, or as those after it."""
        tags = (DELETED, *self.tags)
        return RowFrame(self.data.withColumn(DELETED, F.lit(deleted)), self.types, tags).in_order()

    def in_order(self) -> "RowFrame":
        """Return the rows with their columns in the order of `columns`."""
        return self.with_data(self.data)

    def at(self, deleted: bool) -> "RowFrame":
        """Return the rows of one end of the interval."""
        rows = self.data.filter(F.col(DELETED) if deleted else ~F.col(DELETED))
        return RowFrame(rows, self.types, tuple(tag for tag in self.tags if tag != DELETED)).in_order()

    def without(self, others: "RowFrame") -> "RowFrame":
        """Return the rows whose ids others do not have."""
        names = [*self.tags, ROW_ID]
        return self.with_data(self.data.join(others.data.select(*names), names, "left_anti"))


def union_of(frames: Sequence[RowFrame]) -> RowFrame:
    """Return the rows of all frames, whose types and tags are those of the first."""
    first = frames[0]
    physical = [frame.data.schema for frame in frames]
    cells = []
    for place, type_ in enumerate(first.types):
        same = len({schema[cell_name(place)].dataType.simpleString() for schema in physical}) == 1
        column = cell(place)
        cells.append(column if same else column.cast(spark_type(type_)))
    data = first.select(cells, first.types).data
    for frame in frames[1:]:
        data = data.unionByName(frame.select(cells, first.types).data)
    return RowFrame(data, first.types, first.tags)


def frame_schema(types: Sequence[Type], tags: Sequence[str] = ()) -> StructType:
    """Return the schema of a frame whose columns hold any cells of these types."""
    fields = [StructField(cell_name(place), spark_type(type_)) for place, type_ in enumerate(types)]
    return StructType(
        [*[StructField(tag, BooleanType()) for tag in tags], StructField(ROW_ID, StringType()), *fields]
    )


def create_frame(spark: SparkSession, rows: Iterable[Any], schema: StructType) -> DataFrame:
    """Return rows that Python holds as a DataFrame; the active session stays the one that it is."""
    with same_active_session(spark):
        return spark.createDataFrame(rows, schema)


def frame_of(spark: SparkSession, contents: Contents, types: Sequence[Type]) -> RowFrame:
    """Return contents that Python holds as a frame."""
    convert = row_to_spark(types)
    rows = [(row_id, *convert(row)) for row_id, row in contents.items()]
    return RowFrame(create_frame(spark, rows, frame_schema(types)), tuple(types))


def changes_frame(spark: SparkSession, delta: Delta, types: Sequence[Type]) -> RowFrame:
    """Return changes that Python holds as a frame."""
    convert = row_to_spark(types)
    rows = [(change.action is Action.DELETE, change.row_id, *convert(change.row)) for change in delta]
    data = create_frame(spark, rows, frame_schema(types, (DELETED,)))
    return RowFrame(data, tuple(types), (DELETED,))


def rows_of(frame: RowFrame) -> list[tuple[RowId, Row]]:
    """Return the rows of a frame, in Python.

    Raises:
        UserError: The query failed on these rows.
    """
    convert = row_from_spark(frame.types)
    with user_errors():
        rows = frame.in_order().data.collect()
    return [(row[0], convert(row[1:])) for row in rows]


def contents_of(frame: RowFrame) -> Contents:
    """Return the rows of a frame by their ids.

    Raises:
        UserError: The query failed on these rows.
        DuplicateRowId: Two rows have the same id.
    """
    rows = rows_of(frame)
    by_id: Mapping[RowId, Row] = dict(rows)
    if len(by_id) != len(rows):
        raise DuplicateRowId(f"{len(rows)} rows have {len(by_id)} different ids")
    return by_id


def delta_of(frame: RowFrame) -> Delta:
    """Return the changes of a frame, deletions first.

    Raises:
        UserError: The query failed on these rows.
    """
    convert = row_from_spark(frame.types)
    with user_errors():
        rows: list[Any] = frame.in_order().data.collect()
    changes = [Change(Action.DELETE if row[0] else Action.INSERT, row[1], convert(row[2:])) for row in rows]
    return tuple(sorted(changes, key=lambda change: change.action is Action.INSERT))
