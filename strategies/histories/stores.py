"""A small transactional store that records its operations, correct in one of several ways.

Clients take turns at random, a step at a time, and refreshes of dynamic tables come in between. The store
knows the order in which versions were installed, so the right verdict on a history is known. `mutants.stores`
breaks it. Everything is drawn from one seed.

"""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from strategies.histories.histories import (
    Abort,
    Begin,
    Commit,
    Derive,
    History,
    Operation,
    Predicate,
    PredicateRead,
    Read,
    Version,
    Write,
)

_VALUES, _MATCHING = 10, 5


class ClientAction(enum.Enum):
    """The actions that a client requests."""

    READ = "read"
    WRITE = "write"
    UPDATE = "read, then write"
    REWRITE = "write twice"
    SCAN = "read by a predicate"


class Request(NamedTuple):
    """One request: of an object, or of a predicate."""

    action: ClientAction
    subject: str


class StampedVersion(NamedTuple):
    """A version, and the time in commits from which it is visible."""

    since: int
    version: Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The requests of clients.

    Attributes:
        rows: The number of objects, the last ones, that predicates range over; every other one is not yet
            born.
        tables: Dynamic tables and the objects that they derive from, upstream ones first.
        actions: The relative frequency of each action.
        steps: The most requests of one transaction; there are at least two.
        is_table_read: True if transactions that write read dynamic tables, too, as if these were objects.
        reports: The share of transactions that read dynamic tables and objects, and write nothing.
        beside: The number of objects that a report reads beside two tables.
        refreshes: The chance of a refresh before a step of a client.
        aborts: The share of transactions that abort of their own accord.
    """

    objects: int = 6
    rows: int = 0
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    actions: Mapping[ClientAction, int] = field(
        default_factory=lambda: {ClientAction.READ: 3, ClientAction.UPDATE: 2}
    )
    clients: int = 4
    steps: int = 4
    is_table_read: bool = False
    reports: float = 0.0
    beside: int = 2
    refreshes: float = 0.0
    aborts: float = 0.1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the objects."""
        return tuple(f"x{number}" for number in range(self.objects))

    @property
    def domains(self) -> dict[str, tuple[str, ...]]:
        """The predicates and the objects that they range over."""
        rows = self.names[self.objects - self.rows :]
        return {"all": rows, "half": rows[: len(rows) // 2]} if rows else {}

    def program(self, random: Random, *, report: bool) -> list[Request]:
        """Draw the requests of one transaction."""
        if report:
            tables = random.sample(sorted(self.tables), k=min(2, len(self.tables)))
            objects = random.sample(self.names, k=min(self.beside, len(self.names)))
            return [
                Request(ClientAction.READ, name)
                for name in random.sample(tables + objects, k=len(tables + objects))
            ]
        actions, likely = list(self.actions), list(self.actions.values())
        chosen = random.choices(actions, likely, k=random.randint(2, self.steps))
        return [Request(action, random.choice(self._subjects(action))) for action in chosen]

    def _subjects(self, action: ClientAction) -> tuple[str, ...]:
        if action is ClientAction.SCAN:
            return tuple(self.domains)
        return (
            self.names + tuple(self.tables)
            if action is ClientAction.READ and self.is_table_read
            else self.names
        )


@dataclass(slots=True, eq=False)
class OpenTransaction:
    """A transaction that has not ended.

    Attributes:
        start: The time as of which it reads.
        written: Its versions of each object, the oldest first.
        touched: The objects that it has read, and those that its predicates range over.
    """

    number: int
    steps: list[Request]
    report: bool
    aborts: bool
    start: int = 0
    written: dict[str, list[Version]] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)


class Store:
    """Snapshots; a transaction commits only if nothing that it touched has changed: serializable.

    A transaction that writes takes effect when it commits, another one when it begins. Reports read as of the
    last refresh, tables and objects alike.

    """

    def __init__(self, workload: Workload, random: Random) -> None:
        self.workload, self.random = workload, random
        self.clock = self.refreshed = 0
        self.transactions = 0
        self.open_transactions: list[OpenTransaction] = []
        self.operations: list[Operation] = []
        self.values: dict[Version, int] = {}
        born = [name for place, name in enumerate(workload.names) if self._is_born(place)]
        initial = {name: [StampedVersion(0, self._with_value(Version(name, "0")))] for name in born}
        self.installed: dict[str, list[StampedVersion]] = initial
        self.visible = {name: list(versions) for name, versions in initial.items()}

    def _is_born(self, place: int) -> bool:
        return place < self.workload.objects - self.workload.rows or place % 2 == 0

    def _with_value(self, version: Version) -> Version:
        self.values[version] = self.random.randrange(_VALUES)
        return version

    def run(self, transactions: int) -> History:
        """Run so many transactions to their ends, including those that abort, excluding refreshes."""
        begun = 0
        while begun < transactions or self.open_transactions:
            if self.workload.tables and self.random.random() < self.workload.refreshes:
                self.refresh()
            if begun < transactions and len(self.open_transactions) < self.workload.clients:
                self._begin()
                begun += 1
            else:
                self._advance(self.random.choice(self.open_transactions))
        return self.history()

    def history(self) -> History:
        """Return the history until now."""
        domains = self.workload.domains
        return History(
            operations=tuple(self.operations),
            orders={
                name: tuple(stamped.version for stamped in order) for name, order in self.installed.items()
            },
            predicates={name: self._predicate(domain) for name, domain in domains.items()},
        )

    def _predicate(self, domain: tuple[str, ...]) -> Predicate:
        return Predicate(
            frozenset(domain),
            frozenset(
                version
                for version, value in self.values.items()
                if version.object in domain and value < _MATCHING
            ),
        )

    def number(self) -> int:
        """Return the number of a new transaction."""
        self.transactions += 1
        return self.transactions

    def _begin(self) -> None:
        report = self.random.random() < self.workload.reports
        transaction = OpenTransaction(
            self.number(),
            self.workload.program(self.random, report=report),
            report,
            self.random.random() < self.workload.aborts,
        )
        self.operations.append(Begin(transaction.number))
        transaction.start = self.start(transaction)
        self.open_transactions.append(transaction)

    def start(self, transaction: OpenTransaction) -> int:
        """Return the time as of which a transaction that begins now reads."""
        return self.refreshed if transaction.report else self.clock

    def _advance(self, transaction: OpenTransaction) -> None:
        if not transaction.steps:
            self.open_transactions.remove(transaction)
            if transaction.aborts or not self.may_commit(transaction):
                self.abort(transaction)
            else:
                self.commit(transaction)
            return
        action, subject = transaction.steps.pop(0)
        match action:
            case ClientAction.READ:
                self.read(transaction, subject)
            case ClientAction.WRITE:
                self.write(transaction, subject)
            case ClientAction.UPDATE:
                self.read(transaction, subject)
                transaction.steps.insert(0, Request(ClientAction.WRITE, subject))
            case ClientAction.REWRITE:
                self.write(transaction, subject)
                transaction.steps.append(Request(ClientAction.WRITE, subject))
            case ClientAction.SCAN:
                self.scan(transaction, subject)

    def read(self, transaction: OpenTransaction, name: str) -> None:
        """Read an object, if a version of it is visible."""
        version = self.visible_version(transaction, name)
        transaction.touched.add(name)
        if version is not None:
            self.operations.append(Read(transaction.number, version))

    def visible_version(self, transaction: OpenTransaction, name: str) -> Version | None:
        """Return the transaction's own last version, or the visible one of others."""
        return (
            transaction.written[name][-1]
            if name in transaction.written
            else self.version_of_others(transaction, name)
        )

    def version_of_others(self, transaction: OpenTransaction, name: str) -> Version | None:
        """Return the version of others that a transaction sees."""
        return newest(self.visible.get(name, []), transaction.start)

    def write(self, transaction: OpenTransaction, name: str) -> None:
        """Write a new version."""
        versions = transaction.written.setdefault(name, [])
        versions.append(self._with_value(Version(name, f"{transaction.number}.{len(versions) + 1}")))
        self.operations.append(Write(transaction.number, versions[-1]))

    def scan(self, transaction: OpenTransaction, predicate: str) -> None:
        """Read by a predicate."""
        domain = self.workload.domains[predicate]
        transaction.touched.update(domain)
        candidates = (self.visible_version(transaction, name) for name in domain)
        versions = tuple(version for version in candidates if version is not None)
        self.operations.append(PredicateRead(transaction.number, predicate, versions))

    def may_commit(self, transaction: OpenTransaction) -> bool:
        """Tell whether a transaction that has done all its steps may commit."""
        return not transaction.written or not self.is_changed(
            transaction, transaction.touched | set(transaction.written)
        )

    def is_changed(self, transaction: OpenTransaction, names: set[str]) -> bool:
        """Tell whether another one has installed a version of one of these since the transaction's start."""
        return any(
            order[-1].since > transaction.start for name in names if (order := self.installed.get(name))
        )

    def commit(self, transaction: OpenTransaction) -> None:
        """Commit, and install the last version of each object that was written."""
        self.operations.append(Commit(transaction.number))
        self.clock += bool(transaction.written)
        for name, versions in transaction.written.items():
            self.install(name, versions)

    def install(self, name: str, versions: list[Version]) -> None:
        """Make the last of a transaction's versions of an object the newest one, for all to see."""
        for stamps in (self.installed, self.visible):
            stamps.setdefault(name, []).append(StampedVersion(self.clock, versions[-1]))

    def abort(self, transaction: OpenTransaction) -> None:
        """Abort; no version that was written is ever seen."""
        self.operations.append(Abort(transaction.number))

    def refresh(self) -> None:
        """Derive every dynamic table as of now, in a transaction of its own."""
        number = self.number()
        self.operations.append(Begin(number))
        for table in self.tables_to_refresh():
            self.derive(number, table, self.clock)
        self.operations.append(Commit(number))
        self.refreshed = self.clock

    def tables_to_refresh(self) -> Iterable[str]:
        """Return the dynamic tables that a refresh derives, upstream ones first."""
        return self.workload.tables

    def derive(self, number: int, table: str, time: int) -> None:
        """Derive a table from the versions at a time."""
        candidates = (self.source(name, time) for name in self.workload.tables[table])
        sources = tuple(version for version in candidates if version is not None)
        version = Version(table, str(number))
        self.operations.append(Derive(number, version, sources))
        for stamps in (self.installed, self.visible):
            stamps.setdefault(table, []).append(StampedVersion(time, version))

    def source(self, name: str, time: int) -> Version | None:
        """Return the version of an object or table that a refresh sees as of a time."""
        return newest(self.visible[name], time)


def newest(stamps: list[StampedVersion], time: int) -> Version | None:
    """Return the last version that was visible at a time."""
    return next((stamped.version for stamped in reversed(stamps) if stamped.since <= time), None)


class SnapshotStore(Store):
    """Snapshots; the first transaction to commit a version wins: snapshot isolation."""

    def may_commit(self, transaction: OpenTransaction) -> bool:
        return not self.is_changed(transaction, set(transaction.written))


class CommittedStore(Store):
    """Each read sees the last version that was committed: read committed."""

    def version_of_others(self, transaction: OpenTransaction, name: str) -> Version | None:
        return newest(self.visible.get(name, []), self.clock)

    def may_commit(self, transaction: OpenTransaction) -> bool:
        return True


class LockingStore(CommittedStore):
    """Locks that are kept until the end, on all objects that were read, ranged over or written: serializable.

    A step that would have to wait is left out, so that there is no deadlock.

    """

    def read(self, transaction: OpenTransaction, name: str) -> None:
        if not self._is_written(transaction, {name}):
            super().read(transaction, name)

    def scan(self, transaction: OpenTransaction, predicate: str) -> None:
        if not self._is_written(transaction, set(self.workload.domains[predicate])):
            super().scan(transaction, predicate)

    def write(self, transaction: OpenTransaction, name: str) -> None:
        others = (other for other in self.open_transactions if other is not transaction)
        if not any(name in other.touched or name in other.written for other in others):
            super().write(transaction, name)

    def version_of_others(self, transaction: OpenTransaction, name: str) -> Version | None:
        if transaction.report:
            return newest(self.visible.get(name, []), transaction.start)
        return super().version_of_others(transaction, name)

    def _is_written(self, transaction: OpenTransaction, names: set[str]) -> bool:
        return not transaction.report and any(
            not names.isdisjoint(other.written)
            for other in self.open_transactions
            if other is not transaction
        )
