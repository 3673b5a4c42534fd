"""What truly happened, kept apart from the tables that are judged by it: nothing of it is purged or lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dynamic_tables.catalog.entities import EntityKind, State
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import SourceVersion, TableId
from dynamic_tables.values.changes import Contents


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """One refresh that was committed.

    Attributes:
        committed: Of its frontier.
        version: The number of the version that it left.
        versions: The versions of its sources that it says to have read.
        read_us: Of the dynamic tables among them the timestamps that these versions are of.
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
class Sight:
    """What a reader saw of a dynamic table."""

    at_us: int
    table: TableId
    data_us: int
    contents: Contents


@dataclass(slots=True, kw_only=True)
class Transaction:
    """One transaction of a user: the versions that it read and wrote, as `table@version`.

    Attributes:
        ended: When it was committed or, of one that only reads, came to its end; None if it was aborted.
    """

    number: int
    reads: list[tuple[TableId, str]] = field(default_factory=list)
    writes: list[tuple[TableId, str]] = field(default_factory=list)
    ended: Timestamp | None = None


class Stated(NamedTuple):
    """What a statement made of the catalog at `at_us`; `place` is how many events the trace had then."""

    place: int
    at_us: int
    committed: Timestamp
    state: State


@dataclass(slots=True)
class Record:
    """All of one run.

    Attributes:
        states: The catalog, from each statement on.
        bases: Of each base table its versions: when, and what it held then.
        inherited: Of each clone, the timestamps of its original that it has.
    """

    keeps: bool = True
    states: list[Stated] = field(default_factory=list)
    bases: dict[TableId, list[tuple[Timestamp, Contents]]] = field(default_factory=dict)
    refreshes: list[Refreshed] = field(default_factory=list)
    sights: list[Sight] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    inherited: dict[TableId, frozenset[int]] = field(default_factory=dict)

    def executed(self, place: int, at_us: int, committed: Timestamp, state: State) -> None:
        """A statement made another state."""
        before = self.states[-1].state.entities if self.states else {}
        self.states.append(Stated(place, at_us, committed, state))
        for identity, entity in state.entities.items():
            if identity in before:
                continue
            if entity.kind is EntityKind.TABLE and identity not in self.bases:
                old = self.bases.get(entity.original or "")
                self.bases[identity] = list(old) if old else [(committed, {})]
            elif (
                entity.kind is EntityKind.DYNAMIC_TABLE and entity.original and identity not in self.inherited
            ):
                own = {one.data_us for one in self.refreshes if one.table == entity.original}
                self.inherited[identity] = frozenset(own) | self.inherited.get(
                    entity.original, frozenset[int]()
                )

    def wrote(self, table: TableId, committed: Timestamp, contents: Contents) -> None:
        """A base table got a version."""
        if self.keeps:
            self.bases[table].append((committed, dict(contents)))

    def refreshed(self, one: Refreshed) -> None:
        """A dynamic table got a timestamp."""
        if self.keeps:
            self.refreshes.append(one)

    def read_us(self, source: TableId, number: int, data_us: int) -> int:
        """The timestamp that a version of a dynamic table is of: the one wanted, if it is of several."""
        of = [one for one in reversed(self.refreshes) if one.table == source and one.version == number]
        return next((one.data_us for one in of if one.data_us == data_us), of[0].data_us if of else data_us)

    def begun(self) -> Transaction:
        """A new transaction."""
        transaction = Transaction(number=len(self.transactions) + 1)
        if self.keeps:
            self.transactions.append(transaction)
        return transaction
