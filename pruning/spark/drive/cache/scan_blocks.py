"""The blocks of a scan as the predicate cache names them: row groups of files, or files of a version."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np

from pruning.spark.drive.scans import TableScan
from pruning.spark.versioned.tables import VersionTable
from pruning.techniques.cache_entries import BlockId, FileBlock

# The ordinal of a block that is a whole file.
WHOLE_FILE = -1
# Paths without a host are written with one slash or three.
_NO_HOST = re.compile(r"\A([A-Za-z][A-Za-z0-9+.-]*):///")


@dataclass(frozen=True, slots=True)
class ScanBlocks:
    """The row groups of a scan, each with its name in the cache.

    Attributes:
        ids: The block that each row group is, or is in; shape (row groups,).
        starts, ends: The rows of each row group in its file; shape (row groups,). Of whole files, all rows.
        groups_of_file: The row groups of each file, by the names that Spark may give it; none by a name that
            two files may have.
        are_files: True if each block is a whole file.
    """

    ids: tuple[FileBlock, ...]
    starts: np.ndarray
    ends: np.ndarray
    groups_of_file: Mapping[str, np.ndarray]
    are_files: bool

    @classmethod
    def of(cls, scan: TableScan) -> "ScanBlocks | None":
        """Return the blocks of a scan; None where its files do not tell which rows they hold."""
        scan_set = scan.read_scan_set()
        files = _file_identities(scan)
        if files is None or not scan_set.is_complete:
            return None
        table, places = scan_set.row_groups, scan_set.file_of_group
        is_whole = isinstance(scan.table, VersionTable)
        ordinals = [WHOLE_FILE] * len(table) if is_whole else table.column("row_group").to_pylist()
        ids = tuple(
            FileBlock(file.file, file.size_bytes, file.modified, ordinal, file.deleted)
            for file, ordinal in zip(map(files.__getitem__, places.tolist()), ordinals, strict=True)
        )
        starts = np.zeros(len(table), np.int64)
        ends = np.full(len(table), np.iinfo(np.int64).max)
        if not is_whole:
            starts = table.column("row_offset").to_numpy()
            ends = starts + table.column("row_count").to_numpy()
        groups: dict[int, list[int]] = {}
        for group, place in enumerate(places.tolist()):
            groups.setdefault(place, []).append(group)
        by_place = {place: np.array(ordinals, np.int64) for place, ordinals in groups.items()}
        return cls(ids, starts, ends, _by_names(scan.table.files, by_place), is_whole)

    @property
    def fewest_rows(self) -> int:
        """The rows of the smallest row group; 0 where there is none."""
        return int((self.ends - self.starts).min()) if self.ids else 0

    def groups_of(self, wanted: Collection[BlockId]) -> np.ndarray:
        """Mark the row groups of some blocks; shape (row groups,)."""
        return np.array([block in wanted for block in self.ids], bool)

    def groups_at(self, file: str, first: int, last: int) -> np.ndarray | None:
        """Return the row groups of a file's rows from the first to the last ordinal; None of unknown rows."""
        groups = self.groups_of_file.get(_plain(file))
        if groups is None:
            return None
        inside: np.ndarray = groups[(self.starts[groups] <= last) & (self.ends[groups] > first)]
        return inside if len(inside) else None


def _plain(file: str) -> str:
    """Return the name of a file as Spark writes that of a path: with a scheme, and no slashes for no host."""
    return f"file:{file}" if file.startswith("/") else _NO_HOST.sub(r"\1:/", file)


def _by_names(files: Sequence[str], groups: Mapping[int, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the row groups of files by their names, with and without the escapes of a URI."""
    by_name: dict[str, np.ndarray] = {}
    taken: set[str] = set()
    for place, ordinals in groups.items():
        for name in {_plain(files[place]), _plain(unquote(files[place]))}:
            if name in taken:
                by_name.pop(name, None)
            else:
                by_name[name] = ordinals
            taken.add(name)
    return by_name


def _file_identities(scan: TableScan) -> Sequence[FileBlock] | None:
    """Return each file of a scan as a block; None where rows are deleted by values, which no file tells."""
    table, stamps = scan.table, scan.all_files.stamps
    deleted = [""] * len(table.files)
    if isinstance(table, VersionTable):
        if table.opened.version.equality_deletes:
            return None
        deleted = _deletion_digests(table)
    return [
        FileBlock(file, stamp.size_bytes, stamp.modified_ms, WHOLE_FILE, digest)
        for file, stamp, digest in zip(table.files, stamps, deleted, strict=True)
    ]


def _deletion_digests(table: VersionTable) -> list[str]:
    """Return a digest of the positions of each file's deleted rows; empty where none are."""
    digests = [""] * len(table.files)
    places = np.flatnonzero(table.opened.deleted[table.places]).tolist()
    in_version = table.opened.places[table.places][places].tolist()
    for place, rows in zip(places, table.opened.version.deleted_rows.positions(in_version), strict=True):
        if rows:
            digests[place] = hashlib.sha256(np.asarray(rows.to_array()).tobytes()).hexdigest()
    return digests
