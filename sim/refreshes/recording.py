"""The record of all contents of a run, kept apart from the tables that are judged by it; never purged or
lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dynamic_tables.catalog.entities import EntityKind, State
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import SourceVersion, TableId
from dynamic_tables.values.changes import Contents


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedRefresh:
    """One refresh that was committed.

    Attributes:
        committed: The commit timestamp of its frontier.
        version: The number of the version that it wrote.
        versions: The versions of its sources that it claims to have read.
        read_us: The data timestamps of those versions that are of dynamic tables.
    """

    at_us: int
    table: TableId
    data_us: int
    committed: Timestamp
    version: int
    contents: Contents
    versions: Mapping[TableId, SourceVersion]
    read_us: Mapping[TableId, int]
    action: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The contents of a dynamic table that a reader saw."""

    at_us: int
    table: TableId
    data_us: int
    contents: Contents


@dataclass(slots=True, kw_only=True)
class Transaction:
    """A user's transaction, with the versions that it read and wrote, as (table, version).

    Attributes:
        ended: The time of its commit or, if it only reads, of its end; None if it was aborted.
    """

    number: int
    reads: list[tuple[TableId, str]] = field(default_factory=list)
    writes: list[tuple[TableId, str]] = field(default_factory=list)
    ended: Timestamp | None = None


class CatalogState(NamedTuple):
    """The catalog after a statement at `at_us`; `place` is the number of events in the trace then."""

    place: int
    at_us: int
    committed: Timestamp
    state: State


@dataclass(slots=True)
class Record:
    """The record of one run.

    Attributes:
        states: The catalog after each statement.
        bases: The versions of each base table: commit time and contents.
        inherited: The data timestamps that each clone has from its original.
    """

    keeps: bool = True
    states: list[CatalogState] = field(default_factory=list)
    bases: dict[TableId, list[tuple[Timestamp, Contents]]] = field(default_factory=dict)
    refreshes: list[CommittedRefresh] = field(default_factory=list)
    sights: list[Observation] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    inherited: dict[TableId, frozenset[int]] = field(default_factory=dict)

    def add_state(self, place: int, at_us: int, committed: Timestamp, state: State) -> None:
        """Record the catalog after a statement."""
        before = self.states[-1].state.entities if self.states else {}
        self.states.append(CatalogState(place, at_us, committed, state))
        for identity, entity in state.entities.items():
            if identity in before:
                continue
            if entity.kind is EntityKind.TABLE and identity not in self.bases:
                old = self.bases.get(entity.original or "")
                self.bases[identity] = list(old) if old else [(committed, {})]
            elif (
                entity.kind is EntityKind.DYNAMIC_TABLE and entity.original and identity not in self.inherited
            ):
                own = {refresh.data_us for refresh in self.refreshes if refresh.table == entity.original}
                self.inherited[identity] = frozenset(own) | self.inherited.get(
                    entity.original, frozenset[int]()
                )

    def add_base_version(self, table: TableId, committed: Timestamp, contents: Contents) -> None:
        """Record a new version of a base table."""
        if self.keeps:
            self.bases[table].append((committed, dict(contents)))

    def add_refresh(self, refresh: CommittedRefresh) -> None:
        """Record a committed refresh of a dynamic table."""
        if self.keeps:
            self.refreshes.append(refresh)

    def read_us(self, source: TableId, number: int, data_us: int) -> int:
        """Return the data timestamp of a dynamic table's version; `data_us` if the version has several."""
        of = [
            refresh
            for refresh in reversed(self.refreshes)
            if refresh.table == source and refresh.version == number
        ]
        return next(
            (refresh.data_us for refresh in of if refresh.data_us == data_us),
            of[0].data_us if of else data_us,
        )

    def begin_transaction(self) -> Transaction:
        """Record the beginning of a transaction and return it."""
        transaction = Transaction(number=len(self.transactions) + 1)
        if self.keeps:
            self.transactions.append(transaction)
        return transaction
