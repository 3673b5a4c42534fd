"""The entries of a predicate cache: a query's key, the blocks that it needed, and files that keep them."""

import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pruning.errors import InputError
from pruning.expressions.plans import SortItem
from pruning.expressions.trees import Expression

BlockId: TypeAlias = Hashable
_SUFFIX = ".blocks"
# A file of another form is not read.
_FORM = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """A query, and all settings that decide which rows answer it.

    The caller must not use SQL text that means something else in each run, such as `rand() < 0.5` or
    `day = current_date()`. An expression tree with such a part is recognised and not cached.

    Attributes:
        table: The table's name.
        predicate: The filter: an expression, or its SQL in one fixed spelling.
        order: The ORDER BY items of a top-k query; empty for a filter.
        wanted: The rows of a top-k query, OFFSET's among them; None for a filter.
        ansi: True if ANSI mode is on.
        zone: The session's time zone.
        collation: The session's default collation.
        settings: Names and values of any other settings that the answer depends on, sorted.
    """

    table: str
    predicate: Expression | str
    order: tuple[SortItem, ...] = ()
    wanted: int | None = None
    ansi: bool
    zone: str
    collation: str
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FileBlock:
    """The identity of a Parquet row group, or of a whole file, whose ordinal is then -1.

    A file that is written again is another file, and so is one of which other rows are deleted. So the blocks
    of a changed file have new identities, and the cache need not be told of them. Two contents of the same
    size that are written within one tick of the file system's clock are confused.

    Attributes:
        file: The file's path or URI.
        size_bytes: Its size.
        modified: The time of its last change, in any unit; 0 where files never change.
        row_group: The ordinal in the file.
        deleted: A digest of the positions of the file's rows that are deleted; empty where none are.
    """

    file: str
    size_bytes: int
    modified: int
    row_group: int
    deleted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """The blocks of one cached query.

    Every row of `known_blocks` that may be in the answer is in a block of `contributing`, a subset of them.
    """

    known_blocks: frozenset[BlockId]
    contributing: frozenset[BlockId]
    columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class EntryFiles:
    """Entries in files of a local directory, one a query; the oldest are removed.

    Processes may share the directory: a file is written beside its place and then renamed. One that cannot be
    read, or is of another query, is as good as none.

    Attributes:
        directory: The directory, which is made when the first entry is saved.
        entries_max: The number of files to keep.
        bytes_max: The bytes of all files together.
    """

    directory: Path
    entries_max: int
    bytes_max: int

    def save(self, key: CacheKey, entry: CacheEntry) -> None:
        """Keep an entry, whose blocks are all `FileBlock`.

        Raises:
            InputError: the file cannot be written.
        """
        blocks: dict[tuple[str, int, int, str], list[tuple[int, bool]]] = {}
        for block in entry.known_blocks:
            assert isinstance(block, FileBlock), "Only blocks of files are kept in files."
            file = (block.file, block.size_bytes, block.modified, block.deleted)
            blocks.setdefault(file, []).append((block.row_group, block in entry.contributing))
        text = json.dumps(
            {
                "form": _FORM,
                "key": repr(key),
                "columns": sorted(entry.columns),
                "files": [[*file, sorted(groups)] for file, groups in sorted(blocks.items())],
            }
        )
        path = self._path(key)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.directory, delete=False) as beside:
                beside.write(zlib.compress(text.encode()))
            os.replace(beside.name, path)
            self._remove_oldest()
        except OSError as error:
            raise InputError(
                f"{path}: the predicate cache cannot be written ({error}); give another directory"
            ) from error

    def load(self, key: CacheKey) -> CacheEntry | None:
        """Return the entry of a query; None if none is kept."""
        path = self._path(key)
        try:
            kept: dict[str, Any] = json.loads(zlib.decompress(path.read_bytes()))
            if kept["form"] != _FORM or kept["key"] != repr(key):
                return None
            path.touch()
        except (OSError, zlib.error, ValueError, KeyError, TypeError):
            return None
        blocks = {
            FileBlock(file, size, modified, group, deleted): contributes
            for file, size, modified, deleted, groups in kept["files"]
            for group, contributes in groups
        }
        return CacheEntry(
            known_blocks=frozenset(blocks),
            contributing=frozenset(block for block, contributes in blocks.items() if contributes),
            columns=frozenset(kept["columns"]),
        )

    def _path(self, key: CacheKey) -> Path:
        return self.directory / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:32]}{_SUFFIX}"

    def _remove_oldest(self) -> None:
        """Remove the files that were not used for longest, until the others are within the bounds."""
        files = []
        for path in self.directory.glob(f"*{_SUFFIX}"):
            try:
                status = path.stat()
            except FileNotFoundError:
                # Another process has removed it.
                continue
            files.append((status.st_mtime_ns, path, status.st_size))
        kept_bytes = 0
        for count, (_, path, size) in enumerate(sorted(files, reverse=True), 1):
            kept_bytes += size
            if count > self.entries_max or kept_bytes > self.bytes_max:
                path.unlink(missing_ok=True)
