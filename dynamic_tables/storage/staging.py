"""Changes that are computed for a table, before a commit makes them a version."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dynamic_tables.storage.netting import difference
from dynamic_tables.values.changes import Action, Contents, Delta, Row, RowId


class InvalidChanges(Exception):
    """Changes fail one of the validations used in production: a defect of the code (R-DVS-92).

    Attributes:
        validation: 2 an id is repeated, 3 a row is deleted that does not exist, 4 a row is inserted that
            exists.
    """

    def __init__(self, validation: int, message: str) -> None:
        super().__init__(message)
        self.validation = validation


class StagedChanges(NamedTuple):
    """Changes that no reader sees yet.

    Attributes:
        changes: The changes in the form of the table's store: rows, or files that belong to no version.
        inserted_count, deleted_count: The numbers of rows that they insert and delete.
    """

    changes: Any
    inserted_count: int
    deleted_count: int


NO_CHANGES = StagedChanges((), 0, 0)


def stage_delta(delta: Delta, held: Mapping[RowId, Row]) -> StagedChanges:
    """Return changes of rows as staged, after their validation.

    Args:
        held: At least those rows of the table before the changes that the changes name.

    Raises:
        InvalidChanges: An id occurs twice with one action, a missing row is deleted, or a row is inserted
            that exists.
    """
    deleted = [change.row_id for change in delta if change.action is Action.DELETE]
    inserted = [change.row_id for change in delta if change.action is Action.INSERT]
    gone = set(deleted)
    if len(gone) != len(deleted) or len(set(inserted)) != len(inserted):
        raise InvalidChanges(2, "a delta has one row id twice with one action")
    missing = next((row_id for row_id in deleted if row_id not in held), None)
    if missing is not None:
        raise InvalidChanges(3, f"a delta deletes row {missing}, which does not exist")
    repeated = next((row_id for row_id in inserted if row_id in held and row_id not in gone), None)
    if repeated is not None:
        raise InvalidChanges(4, f"a delta inserts row {repeated}, which exists")
    return StagedChanges(delta, len(inserted), len(deleted))


def stage_difference(before: Contents, after: Contents) -> StagedChanges:
    """Return the changes that turn one content into another, as staged."""
    delta = difference(before, after)
    inserted_count = sum(change.action is Action.INSERT for change in delta)
    return StagedChanges(delta, inserted_count, len(delta) - inserted_count)
