"""The rows that each commit of a Delta Lake table has changed, as its log says."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyroaring import BitMap

from pruning.errors import InputError
from pruning.metadata.delta.commits import entry_path, read_entry
from pruning.metadata.delta.created_files import root_of
from pruning.metadata.delta.deletion_vectors import VectorDescriptor
from pruning.metadata.delta.file_keys import file_key
from pruning.metadata.delta.log_actions import LogEntry
from pruning.metadata.delta.log_files import list_log
from pruning.metadata.delta.table_state import read_state
from pruning.metadata.delta.vector_files import read_vector
from pruning.metadata.versioned.commits import READ_PREDICATE, READ_VERSION, TableCommit

# Gives the number of rows of a data file, which the version has that is named.
RowCountOf = Callable[[int, str], int]
_PROPERTIES = "skipproof"


def delta_commits(path: str, row_count_of: RowCountOf) -> Iterator[TableCommit]:
    """Yield the commits of a table, oldest first.

    Where the log begins with a checkpoint, that is the first of them: one that adds all rows.

    Args:
        path: The table's directory.
        row_count_of: Gives the number of rows of a data file by its path, and a version that has the file.
    Raises:
        InputError: there is no such table, or its log is damaged.
    """
    log, root = list_log(path), root_of(path)
    paths = _Paths(log.location)
    first = log.oldest
    if first:
        state = read_state(root, first)
        added = {paths.of(file.path): (file.vector, first) for file in state.files.values()}
        yield TableCommit(
            version=first,
            added={
                name: _rows(root, name, vector, version, row_count_of)
                for name, (vector, version) in added.items()
            },
        )
    for version in range(first + 1 if first else 0, log.newest + 1):
        entry = read_entry(root, version)
        if entry is None:
            raise InputError(f"{entry_path(root, version)}: is not there; restore the commit")
        yield _commit(root, entry, paths, row_count_of)


class _Paths:
    """The paths of data files as versions of the table have them."""

    def __init__(self, location: str) -> None:
        self._location = location

    def of(self, path: str) -> str:
        """Return the path of a file, by its path in the log."""
        key = file_key(path)
        return key if key.startswith("/") or "://" in key else f"{self._location}/{key}"


def _commit(root: str, entry: LogEntry, paths: _Paths, row_count_of: RowCountOf) -> TableCommit:
    """Return the rows that an entry of the log has changed.

    A file that is removed and added with another deletion vector has lost the rows that the new one has more.
    """
    removed = {paths.of(file.path): file.vector for file in entry.removed}
    added = {paths.of(file.path): file.vector for file in entry.added}
    lost: dict[str, BitMap] = {}
    for name, vector in removed.items():
        if name in added:
            lost[name] = _deleted_rows(root, added[name]) - _deleted_rows(root, vector)
        else:
            lost[name] = _rows(root, name, vector, entry.version - 1, row_count_of)
    properties: Mapping[str, Any] = entry.commit_info.get(_PROPERTIES) or {}
    read_version = properties.get(READ_VERSION)
    return TableCommit(
        version=entry.version,
        read_version=None if read_version is None else int(read_version),
        predicate=properties.get(READ_PREDICATE),
        removed={name: rows for name, rows in lost.items() if rows},
        added={
            name: _rows(root, name, vector, entry.version, row_count_of)
            for name, vector in added.items()
            if name not in removed
        },
    )


def _rows(
    root: str, name: str, vector: VectorDescriptor | None, version: int, row_count_of: RowCountOf
) -> BitMap:
    """Return the positions of the rows of a file that its deletion vector leaves."""
    return BitMap(range(row_count_of(version, name))) - _deleted_rows(root, vector)


def _deleted_rows(root: str, vector: VectorDescriptor | None) -> BitMap:
    return BitMap() if vector is None else read_vector(root, vector)
