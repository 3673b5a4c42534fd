"""Predicate caches that forget something; each must be found in a world where that matters."""

from dataclasses import replace
from typing import Any

from pruning.techniques.cache_entries import CacheKey
from pruning.techniques.predicate_cache import (
    Added,
    Change,
    PredicateCache,
    Removed,
    RowsDeleted,
    Updated,
)


class IgnoresAdded(PredicateCache):
    """Scans what contributed and nothing else."""

    def lookup(self, key: CacheKey, blocks: frozenset[Any]) -> frozenset[Any] | None:
        scanned = super().lookup(key, blocks)
        return scanned and scanned & self._entries[key].contributing


class IgnoresVanished(PredicateCache):
    """Scans what is left of the contributing blocks."""

    def lookup(self, key: CacheKey, blocks: frozenset[Any]) -> frozenset[Any] | None:
        entry = self._entries.get(key)
        return None if entry is None else super().lookup(key, blocks | entry.contributing)


class WithoutZone(PredicateCache):
    """Takes two time zones for one."""

    def record(self, key: CacheKey, **facts: Any) -> bool:
        return super().record(replace(key, zone=""), **facts)

    def lookup(self, key: CacheKey, blocks: frozenset[Any]) -> frozenset[Any] | None:
        return super().lookup(replace(key, zone=""), blocks)


class WithoutAnsi(PredicateCache):
    """Takes sessions with and without ANSI mode for one."""

    def record(self, key: CacheKey, **facts: Any) -> bool:
        return super().record(replace(key, ansi=True), **facts)

    def lookup(self, key: CacheKey, blocks: frozenset[Any]) -> frozenset[Any] | None:
        return super().lookup(replace(key, ansi=True), blocks)


class WithoutVersion(PredicateCache):
    """Believes that nothing happened while the query ran."""

    def record(self, key: CacheKey, *, version: int, **facts: Any) -> bool:
        return super().record(key, version=self.version(key.table), **facts)


class ForgetsColumn(PredicateCache):
    """Does not see updates of one column."""

    column = ""

    def note_change(self, table: str, change: Change) -> None:
        if not isinstance(change, Updated) or self.column not in change.columns:
            super().note_change(table, change)


class ForgetsPredicateColumn(ForgetsColumn):
    """Updates of `a`, which the filter is on."""

    column = "a"


class ForgetsOrderingColumn(ForgetsColumn):
    """Updates of `b`, which the order is on."""

    column = "b"


class OnlyContributing(PredicateCache):
    """Takes an update of a block that did not contribute for harmless."""

    def note_change(self, table: str, change: Change) -> None:
        if isinstance(change, Updated):
            change = RowsDeleted(change.blocks)
        super().note_change(table, change)


class ForgetsDeletedRows(PredicateCache):
    """Takes fewer rows in a contributing block for harmless, as they are for a filter."""

    def note_change(self, table: str, change: Change) -> None:
        if not isinstance(change, RowsDeleted):
            super().note_change(table, change)


class ForgetsOldIds(PredicateCache):
    """Takes ids that come back for the blocks that they were."""

    def note_change(self, table: str, change: Change) -> None:
        if not isinstance(change, Added | Removed):
            super().note_change(table, change)
