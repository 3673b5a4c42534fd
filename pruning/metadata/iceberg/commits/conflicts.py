"""Conflicts of a change with the snapshots that other writers committed since it read the table.

The checks are those of Iceberg's own `RowDelta` and `OverwriteFiles`, as Spark uses them. Where a change adds
rows under serializable isolation, removed rows count as well as added ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyiceberg.manifest import DataFileContent
from pyiceberg.table.snapshots import Operation

from pruning.errors import InputError
from pruning.metadata.iceberg.commits.changes import Isolation, TableChange
from pruning.metadata.iceberg.commits.position_files import path_bounds
from pruning.metadata.iceberg.commits.snapshot_files import Manifests, SnapshotEffect


class SnapshotConflict(InputError):
    """A change that was not committed, because other writers committed what it should have seen.

    Attributes:
        snapshots: The ids of the snapshots since the change read the table, newest first; empty if the
            table's history no longer leads to what it read.
    """

    def __init__(self, message: str, snapshots: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.snapshots = tuple(snapshots)


def snapshots_since(
    name: str, metadata: Any, read_snapshot: int | None, manifests: Manifests
) -> list[SnapshotEffect]:
    """Return the snapshots of the main branch since one, newest first.

    Raises:
        SnapshotConflict: the branch's history does not lead to that one.
    """
    effects = []
    snapshot = metadata.current_snapshot()
    while (None if snapshot is None else snapshot.snapshot_id) != read_snapshot:
        parent_id = None if snapshot is None else snapshot.parent_snapshot_id
        parent = None if parent_id is None else metadata.snapshot_by_id(parent_id)
        if snapshot is None or (parent is None and parent_id is not None):
            raise SnapshotConflict(
                f"{name}: the table's history no longer leads to snapshot {read_snapshot}, which the "
                "statement read; run the statement again."
            )
        effects.append(SnapshotEffect(snapshot, parent, manifests))
        snapshot = parent
    return effects


def check_conflicts(
    name: str,
    change: TableChange,
    touched: Mapping[str, Any],
    read: Any | None,
    effects: Sequence[SnapshotEffect],
    manifests: Manifests,
) -> frozenset[str]:
    """Check that a change means the same after the snapshots since it read the table.

    Claim     The table after these snapshots and then the change has the rows of some order of the
              statements, of which each saw what the earlier ones left (serializable), or no two of which
              wrote one row (snapshot).
    Premises  Snapshots of the kind `replace` keep the table's rows, and those of the kind `delete` add none;
              `may_match` is false only for files without selected rows; bounds of paths are true.
    Proof     (1) A row that the change removes is in its file still, in the same version, or a `delete`
                  removed the file and the change adds no row that is made from one of it.
              (2) A change that adds rows made from removed ones finds each of these not deleted by another.
                  Under snapshot isolation, no row that it only deletes was replaced by another.
              (3) Serializable: no row that the statement would have selected was added since.
              (4) Serializable, with added rows: no row that the statement selected was removed since. So the
                  statement had the same result if it ran last.
    Unsound   if a writer calls a change of rows `replace`.
    Args:
        name: The table's name, for messages.
        change: The change.
        touched: The entries of its touched files in the snapshot that was read, by path.
        read: The snapshot that was read.
        effects: The snapshots since then, newest first.
        manifests: Where their files are read.
    Returns:
        The touched files that are no longer in the table, and need not be: another DELETE removed them.
    Raises:
        SnapshotConflict: the change may mean something else, or that is not certain.
    """
    if not effects:
        return frozenset()
    conflict = _Conflict(name, effects)
    _check_not_committed(name, change, effects)
    gone = _check_files_exist(change, touched, effects, conflict)
    logical = [effect for effect in effects if not effect.keeps_rows]
    _check_no_new_deletes(change, touched, logical, conflict)  # (2)
    if change.isolation is Isolation.SERIALIZABLE:
        for effect in logical:
            if _may_match(change, effect.added_data):  # (3)
                raise conflict.error("added rows that the statement may select", effect)
        if change.added_files:
            for effect in logical:
                deletes = effect.added_deletes
                affected = [
                    *effect.removed_data.values(),
                    *_concerned_files(deletes, manifests.data_files(read)),
                ]
                if _may_match(change, affected):  # (4)
                    raise conflict.error("removed rows that the statement may have selected", effect)
    return gone


class _Conflict:
    """The wording of errors about one change."""

    def __init__(self, name: str, effects: Sequence[SnapshotEffect]) -> None:
        self._name = name
        self._snapshots = [effect.snapshot.snapshot_id for effect in effects]

    def error(self, reason: str, effect: SnapshotEffect) -> SnapshotConflict:
        return SnapshotConflict(
            f"{self._name}: snapshot {effect.snapshot.snapshot_id}, committed since the statement read the "
            f"table, {reason}; run the statement again.",
            self._snapshots,
        )


def _check_not_committed(name: str, change: TableChange, effects: Sequence[SnapshotEffect]) -> None:
    paths = {added.path for added in change.added_files}
    for effect in effects:
        common = paths.intersection(entry.data_file.file_path for entry in effect.added_data)
        if common:
            number = effect.snapshot.snapshot_id
            raise SnapshotConflict(
                f"{name}: snapshot {number} has added the file {min(common)} already; if that was an earlier "
                "attempt of this change, it is in the table.",
                [effect.snapshot.snapshot_id for effect in effects],
            )


def _check_files_exist(
    change: TableChange, touched: Mapping[str, Any], effects: Sequence[SnapshotEffect], conflict: _Conflict
) -> frozenset[str]:
    gone = set()
    for effect in effects:
        removed = effect.removed_data
        for path in touched.keys() & removed.keys():
            if change.added_files or effect.operation != Operation.DELETE:  # (1)
                raise conflict.error(f"removed the file {path}, of which the statement removes rows", effect)
            gone.add(path)
    return frozenset(gone)


def _check_no_new_deletes(
    change: TableChange, touched: Mapping[str, Any], effects: Sequence[SnapshotEffect], conflict: _Conflict
) -> None:
    for effect in effects:
        replaces = change.isolation is Isolation.SNAPSHOT and effect.added_data
        if not (change.added_files or replaces):
            continue
        for entry in _concerned_files(effect.added_deletes, touched.values()):
            path = entry.data_file.file_path
            raise conflict.error(
                f"deleted rows of the file {path}, of which the statement rewrites rows", effect
            )


def _may_match(change: TableChange, entries: Sequence[Any]) -> bool:
    return bool(entries) and bool(change.may_match([entry.data_file for entry in entries]))


def _concerned_files(deletes: Iterable[Any], data: Iterable[Any]) -> list[Any]:
    """Return the entries of data files of which delete files may delete rows."""
    deletes = [entry.data_file for entry in deletes]
    if not deletes:
        return []
    return [
        entry for entry in data if any(may_concern(delete_file, entry.data_file) for delete_file in deletes)
    ]


def may_concern(delete_file: Any, data_file: Any) -> bool:
    """Tell if a delete file may delete rows of a data file.

    Claim     False only if no reader applies the delete file to the data file.
    Premises  The bounds of `file_path` are true of the delete file's rows, and may be shortened.
    Proof     (1) A position delete names its data file's path, which is within the bounds.
              (2) A delete file concerns data files of its partition alone; an equality delete without
                  partition concerns all, and so may a position delete that names a file by equal bounds.
    Unsound   if a reader takes other spellings of a path for the same.
    """
    same_partition = bool(
        delete_file.spec_id == data_file.spec_id and delete_file.partition == data_file.partition
    )
    if delete_file.content == DataFileContent.POSITION_DELETES:
        bounds = path_bounds(delete_file)
        if bounds is None:
            return same_partition
        lower, upper = bounds
        path: bytes = data_file.file_path.encode()
        return lower <= path <= upper and (same_partition or lower == upper)  # (1)
    return same_partition or not len(delete_file.partition)  # (2)


def names_only(delete_file: Any, paths: frozenset[str]) -> bool:
    """Tell if a delete file is certain to concern one data file alone, which is among these paths.

    Equal bounds that are the whole path are not shortened, so that every row of the file names this path.
    """
    bounds = path_bounds(delete_file)
    return (
        delete_file.content == DataFileContent.POSITION_DELETES
        and bounds is not None
        and bounds[0] == bounds[1]
        and bounds[0].decode() in paths
    )
