"""The validations used in production, of changes and rows in frames (R-DVS-92)."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dynamic_tables.on_spark.failures import user_errors
from dynamic_tables.on_spark.frames import DELETED, ROW_ID, RowFrame
from dynamic_tables.storage.staging import InvalidChanges
from dynamic_tables.values.errors import DuplicateRowId


def computed_once(frame: RowFrame) -> RowFrame:
    """Return a frame whose rows are computed once, now.

    Raises:
        UserError: The query of the frame failed on its rows.
    """
    with user_errors():
        return frame.with_data(frame.data.localCheckpoint())


def check_rows(frame: RowFrame) -> None:
    """Raise DuplicateRowId if two rows have the same id."""
    twice = first_id(frame.data.groupBy(ROW_ID).count().filter("count > 1"))
    if twice is not None:
        raise DuplicateRowId(f"two rows have the id {twice}")


def check_changes(changes: RowFrame, held: RowFrame) -> None:
    """Check changes of a table before their commit.

    Raises:
        InvalidChanges: They do not fit the rows that the table holds.
    """
    twice = first_id(changes.data.groupBy(DELETED, ROW_ID).count().filter("count > 1"))
    if twice is not None:
        raise InvalidChanges(2, f"a delta has one row id twice with one action: {twice}")
    deleted, inserted = changes.at(True).data, changes.at(False).data
    held_ids = held.data.select(ROW_ID)
    missing = first_id(deleted.join(held_ids, ROW_ID, "left_anti"))
    if missing is not None:
        raise InvalidChanges(3, f"a delta deletes row {missing}, which does not exist")
    new_ids = inserted.join(deleted.select(ROW_ID), ROW_ID, "left_anti")
    repeated = first_id(new_ids.join(held_ids, ROW_ID, "left_semi"))
    if repeated is not None:
        raise InvalidChanges(4, f"a delta inserts row {repeated}, which exists")


def first_id(rows: DataFrame) -> Any:
    """Return the id of one row; None if there is no row."""
    first = rows.select(F.col(ROW_ID)).head()
    return None if first is None else first[0]
