"""Netting, inverting and applying changes; rows are distinguished by id and content."""

from collections.abc import Iterable, Mapping

from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Action, Change, Contents, Delta, Row, RowId


class MissingRow(AssertionError):
    """A change deletes a row that does not exist, or exists with another content (R-DVS-92)."""


class RepeatedRow(AssertionError):
    """A change inserts a row whose id exists already, or inserts one id twice (R-DVS-92)."""


def same_row(left: Row, right: Row) -> bool:
    """Tell whether no expression can distinguish the rows."""
    return left is right or exact_key(left) == exact_key(right)


def delta_between(before: Mapping[RowId, Row | None], after: Mapping[RowId, Row | None]) -> Delta:
    """Return the delta from `before` to `after`, which have the same ids; None is no row."""
    deletions = []
    insertions = []
    for row_id, old in before.items():
        new = after[row_id]
        if old is not None and new is not None and same_row(old, new):
            continue
        if old is not None:
            deletions.append(Change(Action.DELETE, row_id, old))
        if new is not None:
            insertions.append(Change(Action.INSERT, row_id, new))
    return (*deletions, *insertions)


def net(deltas: Iterable[Delta]) -> Delta:
    """Combine deltas, oldest first, into one; a row that is back in its first state is not in it."""
    before: dict[RowId, Row | None] = {}
    after: dict[RowId, Row | None] = {}
    for delta in deltas:
        for change in delta:
            deleted = change.action is Action.DELETE
            before.setdefault(change.row_id, change.row if deleted else None)
            after[change.row_id] = None if deleted else change.row
    return delta_between(before, after)


def difference(before: Contents, after: Contents) -> Delta:
    """Return the delta that turns one content into another."""
    ids = {**dict.fromkeys(before), **dict.fromkeys(after)}
    return delta_between(
        {row_id: before.get(row_id) for row_id in ids}, {row_id: after.get(row_id) for row_id in ids}
    )


def inverse(delta: Delta) -> Delta:
    """Return the delta that undoes a delta."""
    deletions = (Change(Action.DELETE, c.row_id, c.row) for c in delta if c.action is Action.INSERT)
    insertions = (Change(Action.INSERT, c.row_id, c.row) for c in delta if c.action is Action.DELETE)
    return (*deletions, *insertions)


def apply(contents: dict[RowId, Row], delta: Delta) -> None:
    """Apply a delta to contents, in place.

    Raises:
        MissingRow, RepeatedRow: The delta does not fit the contents, which are left half changed.
    """
    for change in delta:
        if change.action is Action.DELETE:
            if change.row_id not in contents:
                raise MissingRow(f"row {change.row_id} is deleted but does not exist")
            del contents[change.row_id]
        else:
            if change.row_id in contents:
                raise RepeatedRow(f"row {change.row_id} is inserted but exists")
            contents[change.row_id] = change.row


def reshape(contents: Contents, positions: tuple[int, ...] | None) -> Contents:
    """Return rows in the present column layout, with NULL where a row is too short; None: as stored."""
    if positions is None:
        return contents
    return {row_id: _reshape_row(row, positions) for row_id, row in contents.items()}


def reshape_delta(delta: Delta, positions: tuple[int, ...] | None) -> Delta:
    """Return changes in the present column layout, without changes of other columns only (trap 50)."""
    if positions is None:
        return delta
    return net([tuple(reshape_change(change, positions) for change in delta)])


def reshape_change(change: Change, positions: tuple[int, ...]) -> Change:
    """Return a change in the present column layout."""
    return Change(change.action, change.row_id, _reshape_row(change.row, positions))


def _reshape_row(row: Row, positions: tuple[int, ...]) -> Row:
    return tuple(row[place] if place < len(row) else None for place in positions)
