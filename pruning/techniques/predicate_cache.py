"""The predicate cache: the blocks that contributed to an answer, for the next run to read ([P] 8.2).

Filter and top-k queries are cached. Blocks may be immutable; if they change in place, the cache must be told
of each change. It uses no clock and no file, so that a simulator can drive it too. It is not thread-safe.
"""

from collections import OrderedDict, deque
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pyarrow as pa

from pruning.errors import InputError
from pruning.expressions.plans import SortItem
from pruning.expressions.traversal import columns as columns_of
from pruning.expressions.traversal import is_repeatable
from pruning.expressions.trees import Expression

BlockId: TypeAlias = Hashable


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


@dataclass(frozen=True, slots=True)
class FileBlock:
    """The identity of a Parquet row group; a file that is written again is another file.

    So the blocks of a rewritten file have new identities, and the cache need not be told of them. Two
    contents of the same size that are written within one tick of the file system's clock are confused.
    """

    file: str
    size_bytes: int
    modified_ns: int
    row_group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _CacheEntry:
    """The blocks of one cached query.

    Every row of `known_blocks` that may be in the answer is in a block of `contributing`, a subset of them.
    """

    known_blocks: frozenset[BlockId]
    contributing: frozenset[BlockId]
    columns: frozenset[str]


@dataclass(slots=True)
class _ChangeHistory:
    """The last changes of a table; `version` counts all of them."""

    recent: deque[Change]
    version: int = 0


@dataclass(slots=True)
class PredicateCache:
    """The contributing blocks of recent queries; the least recently used is evicted first.

    Attributes:
        entries_max: The number of queries to remember, at least 1.
        changes_max: The number of changes of each table to remember, so that a query can be recorded that ran
            while the table changed.
    """

    entries_max: int
    changes_max: int = 1_000
    _entries: OrderedDict[CacheKey, _CacheEntry] = field(default_factory=OrderedDict)
    _histories: dict[str, _ChangeHistory] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.entries_max < 1 or self.changes_max < 0:
            raise InputError(
                f"The cache has entries_max={self.entries_max} and changes_max={self.changes_max}; "
                "give at least 1 and 0."
            )

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
            InputError: a contributing block was not seen.
        """
        if not contributing <= known_blocks:
            raise InputError("Some contributing blocks were not seen; give all blocks that the query saw.")
        expressions = [
            part for part in (key.predicate, *(item.key for item in key.order)) if not isinstance(part, str)
        ]
        missed = self._since(key.table, version)
        if missed is None or not all(map(is_repeatable, expressions)):
            return False
        named = {name for expression in expressions for name in columns_of(expression)}
        entry: _CacheEntry | None = _CacheEntry(
            known_blocks=known_blocks, contributing=contributing, columns=frozenset({*columns, *named})
        )
        for change in missed:
            entry = entry and _entry_after(entry, change)
        if entry is None:
            return False
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if len(self._entries) > self.entries_max:
            self._entries.popitem(last=False)
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

        Args:
            key: The query.
            blocks: All blocks of the table as the query will read it.
        """
        entry = self._entries.get(key)
        if entry is None or not entry.contributing <= blocks:
            return None
        self._entries.move_to_end(key)
        return entry.contributing | (blocks - entry.known_blocks)

    def note_change(self, table: str, change: Change) -> None:
        """Apply a change of a table; each change in place must be given before the table's next query."""
        history = self._history(table)
        history.version += 1
        history.recent.append(change)
        for key, entry in list(self._entries.items()):
            if key.table != table:
                continue
            after = _entry_after(entry, change)
            if after is None:
                del self._entries[key]
            else:
                self._entries[key] = after

    def _history(self, table: str) -> _ChangeHistory:
        return self._histories.setdefault(table, _ChangeHistory(deque(maxlen=self.changes_max)))

    def _since(self, table: str, version: int) -> list[Change] | None:
        """Return the changes after a version; None where some are forgotten."""
        history = self._history(table)
        count = history.version - version
        return list(history.recent)[len(history.recent) - count :] if count <= len(history.recent) else None


def blocks_of(metadata: pa.Table, stamps: Mapping[str, tuple[int, int]]) -> list[FileBlock]:
    """Return the identity of each block of `pruning.collect`.

    Args:
        metadata: The block metadata.
        stamps: The bytes of each file and the time of its last change in ns.
    """
    files, groups = metadata["file"].to_pylist(), metadata["row_group"].to_pylist()
    return [FileBlock(file, *stamps[file], group) for file, group in zip(files, groups, strict=True)]


def _entry_after(entry: _CacheEntry, change: Change) -> _CacheEntry | None:
    """Return the entry after a change; None where it is no longer valid."""
    match change:
        case Updated(blocks, columns):
            # A block that did not contribute may do so now; a block that was not known is scanned anyway.
            return None if blocks & entry.known_blocks and columns & entry.columns else entry
        case RowsDeleted(blocks):
            # A block that does not contribute still does not with fewer rows. If a contributing block loses
            # rows, other blocks may hold the next best ones.
            return None if blocks & entry.contributing else entry
        case Added(blocks) | Removed(blocks):
            # The id may come back with other rows, and is then a block that is not known.
            return (
                None
                if blocks & entry.contributing
                else replace(entry, known_blocks=entry.known_blocks - blocks)
            )
