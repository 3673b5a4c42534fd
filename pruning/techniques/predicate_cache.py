"""The predicate cache: the blocks that contributed to an answer, for the next run to read ([P] 8.2).

Filter and top-k queries are cached. Blocks may be immutable; if they change in place, the cache must be told
of each change. Without a directory it uses no clock and no file, so that a simulator can drive it too.
"""

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from pruning.errors import InputError
from pruning.expressions.traversal import columns as columns_of
from pruning.expressions.traversal import is_repeatable
from pruning.techniques.cache_entries import BlockId, CacheEntry, CacheKey, EntryFiles

__all__ = ["PredicateCache"]

# The bytes that a directory may hold for each block that a cache may remember.
_BYTES_OF_BLOCK = 64


@dataclass(frozen=True, slots=True)
class Added:
    """A change that adds blocks, or rows to blocks under the same id."""

    blocks: frozenset[BlockId]


@dataclass(frozen=True, slots=True)
class Removed:
    """A change that removes blocks from the table."""

    blocks: frozenset[BlockId]


@dataclass(frozen=True, slots=True)
class Updated:
    """A change in place of values in some columns of blocks, which adds and removes no row."""

    blocks: frozenset[BlockId]
    columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class RowsDeleted:
    """A change that deletes rows of blocks in place, as by a deletion vector."""

    blocks: frozenset[BlockId]


Change: TypeAlias = Added | Removed | Updated | RowsDeleted


@dataclass(slots=True)
class _ChangeHistory:
    """The last changes of a table; `version` counts all of them."""

    recent: deque[Change]
    version: int = 0


@dataclass(slots=True, eq=False, weakref_slot=True)
class PredicateCache:
    """The contributing blocks of recent queries; the least recently used is evicted first.

    `pruning.prune(df, cache=cache)` asks it and adds to it. Threads may share it.

    Attributes:
        entries_max: The number of queries to remember, at least 1.
        changes_max: The number of changes of each table to remember, so that a query can be recorded that ran
            while the table changed.
        blocks_max: The number of blocks that all remembered queries together may know, at least 1.
        directory: A local directory that keeps the entries for other processes, made when it is first needed,
            of at most 64 bytes for each of `blocks_max`. None keeps them in memory alone.
    Raises:
        InputError: a number is too small.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder, cache = tempfile.TemporaryDirectory(), pruning.PredicateCache()
        >>> for file in range(4):
        ...     pq.write_table(pa.table({"x": [file, 9 - file]}), f"{folder.name}/{file}.parquet")
        >>> for _ in range(2):
        ...     df = pruning.prune(spark.read.parquet(folder.name).where("x = 3"), cache=cache)
        ...     print(len(df.inputFiles()), df.collect())
        4 [Row(x=3)]
        1 [Row(x=3)]
    """

    entries_max: int = 1_000
    changes_max: int = 1_000
    blocks_max: int = 1_000_000
    directory: str | os.PathLike[str] | None = None
    _entries: OrderedDict[CacheKey, CacheEntry] = field(default_factory=OrderedDict, repr=False)
    _histories: dict[str, _ChangeHistory] = field(default_factory=dict, repr=False)
    _files: EntryFiles | None = field(default=None, init=False, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("entries_max", 1), ("changes_max", 0), ("blocks_max", 1)):
            count = getattr(self, name)
            if type(count) is not int or count < least:
                raise InputError(f"The cache has {name}={count!r}; give a whole number of at least {least}.")
        if self.directory is not None:
            place = self.directory
            if not isinstance(place, str | os.PathLike) or not os.fspath(place) or "\0" in str(place):
                raise InputError(f"The cache has directory={place!r}; give the path of a local directory.")
            bytes_max = _BYTES_OF_BLOCK * self.blocks_max
            self._files = EntryFiles(Path(self.directory), self.entries_max, bytes_max)

    def __len__(self) -> int:
        return len(self._entries)

    def version(self, table: str) -> int:
        """Return the number of changes of a table; call it before a query lists the table's blocks."""
        return self._history(table).version

    def record(
        self,
        key: CacheKey,
        *,
        version: int,
        known_blocks: frozenset[BlockId],
        contributing: frozenset[BlockId],
        columns: Collection[str],
    ) -> bool:
        """Remember the blocks that a query needed.

        Args:
            key: The query.
            version: The result of `version` before the query listed the table's blocks.
            known_blocks: All blocks of that list, also those that the query did not read.
            contributing: The blocks among them with a row that satisfies the filter; for a top-k query, with
                a row among the first `wanted`.
            columns: The columns of the filter and of ORDER BY, as `Updated` names them.
        Returns:
            True if the query is remembered. It is not if a change since then has made it invalid, if such
            changes are forgotten, or if the filter may differ from run to run.
        Raises:
            InputError: a contributing block was not seen, or the directory cannot be written.
        """
        if not contributing <= known_blocks:
            raise InputError("Some contributing blocks were not seen; give all blocks that the query saw.")
        expressions = [
            part for part in (key.predicate, *(item.key for item in key.order)) if not isinstance(part, str)
        ]
        if not all(map(is_repeatable, expressions)) or len(known_blocks) > self.blocks_max:
            return False
        named = {name for expression in expressions for name in columns_of(expression)}
        entry: CacheEntry | None = CacheEntry(
            known_blocks=known_blocks, contributing=contributing, columns=frozenset({*columns, *named})
        )
        with self._lock:
            missed = self._since(key.table, version)
            for change in missed or ():
                entry = entry and _entry_after(entry, change, key)
            if missed is None or entry is None:
                return False
            if self._files is not None:
                self._files.save(key, entry)
            self._keep(key, entry)
        return True

    def lookup(self, key: CacheKey, blocks: frozenset[BlockId]) -> frozenset[BlockId] | None:
        """Return the blocks to scan: those that contributed, and those added since; None on a cache miss.

        Claim     The query answers the same of these blocks as of all.
        Premises  Every change in place was told before; a block's rows are those of now.
        Proof     (1) A block that was not known is scanned.
                  (2) A row of another block that does not contribute failed the filter, or k rows of
                      contributing blocks come before it or tie with it. They still do: rows and columns
                      that decide have not changed, and these blocks are there. Rows added since only
                      push it further back.
                  (3) A row that failed a filter still does where contributing blocks are gone. So these must
                      be there for a top-k query alone.

        Args:
            key: The query.
            blocks: All blocks of the table as the query will read it.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is None and self._files is not None:
                entry = self._files.load(key)
            if entry is None or (key.wanted is not None and not entry.contributing <= blocks):
                return None
            self._keep(key, entry)
            return (entry.contributing & blocks) | (blocks - entry.known_blocks)

    def knows_all(self, key: CacheKey, blocks: frozenset[BlockId]) -> bool:
        """Tell whether an entry of a query, one in memory, was made of all of these blocks."""
        with self._lock:
            entry = self._entries.get(key)
            return entry is not None and blocks <= entry.known_blocks

    def note_change(self, table: str, change: Change) -> None:
        """Apply a change of a table; each change in place must be given before the table's next query.

        Raises:
            InputError: the cache has a directory, whose entries other processes may use at any time.
        """
        if self._files is not None:
            raise InputError("A cache with a directory is of blocks that never change; give it no change.")
        with self._lock:
            history = self._history(table)
            history.version += 1
            history.recent.append(change)
            for key, entry in list(self._entries.items()):
                if key.table != table:
                    continue
                after = _entry_after(entry, change, key)
                if after is None:
                    del self._entries[key]
                else:
                    self._entries[key] = after

    def _keep(self, key: CacheKey, entry: CacheEntry) -> None:
        """Make an entry the one that was used last, and evict others until all are within the bounds."""
        self._entries[key] = entry
        self._entries.move_to_end(key)
        blocks = sum(len(kept.known_blocks) for kept in self._entries.values())
        while len(self._entries) > self.entries_max or blocks > self.blocks_max:
            blocks -= len(self._entries.popitem(last=False)[1].known_blocks)

    def _history(self, table: str) -> _ChangeHistory:
        return self._histories.setdefault(table, _ChangeHistory(deque(maxlen=self.changes_max)))

    def _since(self, table: str, version: int) -> list[Change] | None:
        """Return the changes after a version; None where some are forgotten."""
        history = self._history(table)
        count = history.version - version
        return list(history.recent)[len(history.recent) - count :] if count <= len(history.recent) else None


def _entry_after(entry: CacheEntry, change: Change, key: CacheKey) -> CacheEntry | None:
    """Return the entry of a query after a change; None where it is no longer valid."""
    is_filter = key.wanted is None
    match change:
        case Updated(blocks, columns):
            # A block that did not contribute may do so now; a block that was not known is scanned anyway.
            return None if blocks & entry.known_blocks and columns & entry.columns else entry
        case RowsDeleted(blocks):
            # A block that does not contribute still does not with fewer rows. If a contributing block of a
            # top-k query loses rows, other blocks may hold the next best ones.
            return None if blocks & entry.contributing and not is_filter else entry
        case Added(blocks) | Removed(blocks):
            # The id may come back with other rows, and is then a block that is not known.
            if blocks & entry.contributing and not is_filter:
                return None
            return replace(
                entry,
                known_blocks=entry.known_blocks - blocks,
                contributing=entry.contributing - blocks,
            )
