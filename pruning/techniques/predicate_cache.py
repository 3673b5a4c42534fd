"""The predicate cache: which blocks contributed to an answer, for the next run to read ([P] 8.2).

Filter and top-k queries are cached. Blocks may be immutable, or change in place, which the cache must then
be told. It knows no clock and no file, so that a simulator can drive it too, and is for one thread.
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
    """A query, and whatever else decides which rows answer it.

    The caller keeps out predicates that are not the same from one run to the next, such as `rand() < 0.5`
    or `day = current_date()`: of these the text says nothing. An expression with such a part is not cached.

    Attributes:
        table: The table's name.
        predicate: The filter: an expression, or its SQL in one fixed spelling.
        order: The ORDER BY items of a top-k query; none of a filter.
        wanted: The rows of a top-k query, OFFSET's among them; None of a filter.
        ansi: Whether ANSI mode is on.
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
    """Blocks that are new, or that have more rows than before under the same id."""

    blocks: frozenset[BlockId]


@dataclass(frozen=True, slots=True)
class Removed:
    """Blocks that are no longer the table's."""

    blocks: frozenset[BlockId]


@dataclass(frozen=True, slots=True)
class Updated:
    """Blocks some rows of which have other values in these columns, in place; no row came or went."""

    blocks: frozenset[BlockId]
    columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class RowsDeleted:
    """Blocks that lost rows in place, as by a deletion vector."""

    blocks: frozenset[BlockId]


Change: TypeAlias = Added | Removed | Updated | RowsDeleted


@dataclass(frozen=True, slots=True)
class FileBlock:
    """The identity of a Parquet row group: a file that is written anew is another file.

    So a rewritten file is blocks removed and blocks added, of which the cache need not be told. Two
    contents of one size written within one tick of the file system's clock would be one.
    """

    file: str
    size_bytes: int
    modified_ns: int
    row_group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _CacheEntry:
    """What is known of one query.

    Every row of `seen` that may be among the answer is in `contributing`, which is part of `seen`.
    """

    seen: frozenset[BlockId]
    contributing: frozenset[BlockId]
    columns: frozenset[str]


@dataclass(slots=True)
class _ChangeHistory:
    """A table's last changes; `version` counts all of them."""

    recent: deque[Change]
    version: int = 0


@dataclass(slots=True)
class PredicateCache:
    """The contributing blocks of recent queries; the least recently used goes first.

    Attributes:
        entries_max: Queries to remember, at least 1.
        changes_max: Changes of each table to remember, so that a query may be recorded that ran meanwhile.
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
        """How often the table was changed: to be asked before a query reads which blocks there are."""
        return self._history(table).version

    def record(
        self,
        key: CacheKey,
        *,
        version: int,
        seen: frozenset[BlockId],
        contributing: frozenset[BlockId],
        columns: Collection[str],
    ) -> bool:
        """Remember which blocks a query needed.

        Args:
            key: The query.
            version: What `version` said before the query read which blocks the table has.
            seen: All of these blocks, whether it read them or not.
            contributing: Those of them that hold a row that satisfies the filter; of a top-k query, a row
                among the first `wanted`.
            columns: The columns of the filter and of ORDER BY, as `Updated` names them.
        Returns:
            Whether it is remembered: not if what happened since has made it invalid, or is forgotten, or
            the filter may be another one each time.
        Raises:
            InputError: a contributing block was not seen.
        """
        if not contributing <= seen:
            raise InputError("Some contributing blocks were not seen; give all blocks that the query saw.")
        expressions = [
            part for part in (key.predicate, *(item.key for item in key.order)) if not isinstance(part, str)
        ]
        missed = self._since(key.table, version)
        if missed is None or not all(map(is_repeatable, expressions)):
            return False
        named = {name for expression in expressions for name in columns_of(expression)}
        entry: _CacheEntry | None = _CacheEntry(
            seen=seen, contributing=contributing, columns=frozenset({*columns, *named})
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
        """The blocks to scan: those that contributed, and those added since; None where that is not known.

        Claim     The query answers the same of these blocks as of all.
        Premises  Every change in place was told before; a block's rows are those of now.
        Proof     (1) A block that was not seen is scanned.
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
        return entry.contributing | (blocks - entry.seen)

    def changed(self, table: str, change: Change) -> None:
        """Take note of a change; each one in place must be told before the next query of the table."""
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
        """The changes after a version; None where some are forgotten."""
        history = self._history(table)
        count = history.version - version
        return list(history.recent)[len(history.recent) - count :] if count <= len(history.recent) else None


def blocks_of(metadata: pa.Table, stamps: Mapping[str, tuple[int, int]]) -> list[FileBlock]:
    """The identity of each block of `pruning.collect`; stamps are bytes and time of change in ns."""
    files, groups = metadata["file"].to_pylist(), metadata["row_group"].to_pylist()
    return [FileBlock(file, *stamps[file], group) for file, group in zip(files, groups, strict=True)]


def _entry_after(entry: _CacheEntry, change: Change) -> _CacheEntry | None:
    """What is known after a change; None where the entry is no longer valid."""
    match change:
        case Updated(blocks, columns):
            # A block that did not contribute may do so now; one that was not seen is scanned anyway.
            return None if blocks & entry.seen and columns & entry.columns else entry
        case RowsDeleted(blocks):
            # What does not contribute does not with fewer rows; other blocks may have the next best rows.
            return None if blocks & entry.contributing else entry
        case Added(blocks) | Removed(blocks):
            # The id may come back with other rows: then it is a block that was not seen.
            return None if blocks & entry.contributing else replace(entry, seen=entry.seen - blocks)
