"""A small transactional store that records what it does, correct in one of several ways.

Clients take turns at random, a step at a time, and refreshes of dynamic tables come in between. The store
knows in which order versions were installed, so the verdict on a history is known by how it came about.
`mutants.stores` breaks it. Everything is drawn from one seed.
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


class Action(enum.Enum):
    """What a client asks for."""

    READ = "read"
    WRITE = "write"
    UPDATE = "read, then write"
    REWRITE = "write twice"
    SCAN = "read by a predicate"


class Step(NamedTuple):
    """One request: of an object, or of a predicate."""

    action: Action
    subject: str


class Stamped(NamedTuple):
    """A version and the time since which it is there, in commits."""

    since: int
    version: Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What clients ask for.

    Attributes:
        rows: How many of the objects, the last ones, predicates range over; every other one is not yet born.
        tables: Dynamic tables and what they derive from, upstream ones first.
        actions: How likely each action is, relative to the others.
        steps: The most of one transaction; there are at least two.
        is_table_read: Whether transactions that write read dynamic tables too, as if these were objects.
        reports: The share of transactions that read dynamic tables and objects, and write nothing.
        beside: How many objects a report reads beside two tables.
        refreshes: The chance of a refresh before a step of a client.
        aborts: The share of transactions that abort of their own.
    """

    objects: int = 6
    rows: int = 0
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    actions: Mapping[Action, int] = field(default_factory=lambda: {Action.READ: 3, Action.UPDATE: 2})
    clients: int = 4
    steps: int = 4
    is_table_read: bool = False
    reports: float = 0.0
    beside: int = 2
    refreshes: float = 0.0
    aborts: float = 0.1

    @property
    def names(self) -> tuple[str, ...]:
        """The objects."""
        return tuple(f"x{number}" for number in range(self.objects))

    @property
    def domains(self) -> dict[str, tuple[str, ...]]:
        """The predicates and what they range over."""
        rows = self.names[self.objects - self.rows :]
        return {"all": rows, "half": rows[: len(rows) // 2]} if rows else {}

    def program(self, random: Random, *, report: bool) -> list[Step]:
        """The requests of one transaction."""
        if report:
            tables = random.sample(sorted(self.tables), k=min(2, len(self.tables)))
            objects = random.sample(self.names, k=min(self.beside, len(self.names)))
            return [
                Step(Action.READ, name) for name in random.sample(tables + objects, k=len(tables + objects))
            ]
        actions, likely = list(self.actions), list(self.actions.values())
        chosen = random.choices(actions, likely, k=random.randint(2, self.steps))
        return [Step(action, random.choice(self._subjects(action))) for action in chosen]

    def _subjects(self, action: Action) -> tuple[str, ...]:
        if action is Action.SCAN:
            return tuple(self.domains)
        return self.names + tuple(self.tables) if action is Action.READ and self.is_table_read else self.names


@dataclass(slots=True, eq=False)
class Running:
    """A transaction under way.

    Attributes:
        start: The time as of which it reads.
        written: Its versions of each object, the oldest first.
        touched: What it has read, and what predicates of it range over.
    """

    number: int
    steps: list[Step]
    report: bool
    aborts: bool
    start: int = 0
    written: dict[str, list[Version]] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)


class Store:
    """Snapshots, of which a transaction commits only if nothing that it touched has changed: serializable.

    A transaction that writes takes effect when it commits, one that does not when it begins. Reports read as
    of the last refresh, tables and objects alike.
    """

    def __init__(self, workload: Workload, random: Random) -> None:
        self.workload, self.random = workload, random
        self.clock = self.refreshed = 0
        self.transactions = 0
        self.running: list[Running] = []
        self.operations: list[Operation] = []
        self.values: dict[Version, int] = {}
        born = [name for place, name in enumerate(workload.names) if self._is_born(place)]
        initial = {name: [Stamped(0, self._valued(Version(name, "0")))] for name in born}
        self.installed: dict[str, list[Stamped]] = initial
        self.visible = {name: list(versions) for name, versions in initial.items()}

    def _is_born(self, place: int) -> bool:
        return place < self.workload.objects - self.workload.rows or place % 2 == 0

    def _valued(self, version: Version) -> Version:
        self.values[version] = self.random.randrange(_VALUES)
        return version

    def run(self, transactions: int) -> History:
        """Run so many transactions, those that abort and not the refreshes among them, to their ends."""
        begun = 0
        while begun < transactions or self.running:
            if self.workload.tables and self.random.random() < self.workload.refreshes:
                self.refresh()
            if begun < transactions and len(self.running) < self.workload.clients:
                self._begin()
                begun += 1
            else:
                self._advance(self.random.choice(self.running))
        return self.history()

    def history(self) -> History:
        """What happened until now."""
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
        """A new transaction's."""
        self.transactions += 1
        return self.transactions

    def _begin(self) -> None:
        report = self.random.random() < self.workload.reports
        running = Running(
            self.number(),
            self.workload.program(self.random, report=report),
            report,
            self.random.random() < self.workload.aborts,
        )
        self.operations.append(Begin(running.number))
        running.start = self.start(running)
        self.running.append(running)

    def start(self, running: Running) -> int:
        """The time as of which a transaction that begins now reads."""
        return self.refreshed if running.report else self.clock

    def _advance(self, running: Running) -> None:
        if not running.steps:
            self.running.remove(running)
            if running.aborts or not self.may_commit(running):
                self.abort(running)
            else:
                self.commit(running)
            return
        action, subject = running.steps.pop(0)
        match action:
            case Action.READ:
                self.read(running, subject)
            case Action.WRITE:
                self.write(running, subject)
            case Action.UPDATE:
                self.read(running, subject)
                running.steps.insert(0, Step(Action.WRITE, subject))
            case Action.REWRITE:
                self.write(running, subject)
                running.steps.append(Step(Action.WRITE, subject))
            case Action.SCAN:
                self.scan(running, subject)

    def read(self, running: Running, name: str) -> None:
        """Read an object, if there is a version to be seen."""
        version = self.found(running, name)
        running.touched.add(name)
        if version is not None:
            self.operations.append(Read(running.number, version))

    def found(self, running: Running, name: str) -> Version | None:
        """The transaction's own last version, or what it sees of others."""
        return running.written[name][-1] if name in running.written else self.seen(running, name)

    def seen(self, running: Running, name: str) -> Version | None:
        """What a transaction sees of others' versions."""
        return newest(self.visible.get(name, []), running.start)

    def write(self, running: Running, name: str) -> None:
        """Write a new version."""
        versions = running.written.setdefault(name, [])
        versions.append(self._valued(Version(name, f"{running.number}.{len(versions) + 1}")))
        self.operations.append(Write(running.number, versions[-1]))

    def scan(self, running: Running, predicate: str) -> None:
        """Read by a predicate."""
        domain = self.workload.domains[predicate]
        running.touched.update(domain)
        found = (self.found(running, name) for name in domain)
        versions = tuple(version for version in found if version is not None)
        self.operations.append(PredicateRead(running.number, predicate, versions))

    def may_commit(self, running: Running) -> bool:
        """Whether a transaction that has done all its steps may commit."""
        return not running.written or not self.changed(running, running.touched | set(running.written))

    def changed(self, running: Running, names: set[str]) -> bool:
        """Whether another has installed a version of one of these since the transaction's start."""
        return any(order[-1].since > running.start for name in names if (order := self.installed.get(name)))

    def commit(self, running: Running) -> None:
        """Commit, and install the last version of each object that was written."""
        self.operations.append(Commit(running.number))
        self.clock += bool(running.written)
        for name, versions in running.written.items():
            self.install(name, versions)

    def install(self, name: str, versions: list[Version]) -> None:
        """Make the last of a transaction's versions of an object the newest one, for all to see."""
        for stamps in (self.installed, self.visible):
            stamps.setdefault(name, []).append(Stamped(self.clock, versions[-1]))

    def abort(self, running: Running) -> None:
        """Abort; nothing that was written is ever seen."""
        self.operations.append(Abort(running.number))

    def refresh(self) -> None:
        """Derive every dynamic table as of now, in a transaction of its own."""
        number = self.number()
        self.operations.append(Begin(number))
        for table in self.due():
            self.derive(number, table, self.clock)
        self.operations.append(Commit(number))
        self.refreshed = self.clock

    def due(self) -> Iterable[str]:
        """The dynamic tables that a refresh derives, upstream ones first."""
        return self.workload.tables

    def derive(self, number: int, table: str, time: int) -> None:
        """Derive a table from what there was at a time."""
        found = (self.source(name, time) for name in self.workload.tables[table])
        sources = tuple(version for version in found if version is not None)
        version = Version(table, str(number))
        self.operations.append(Derive(number, version, sources))
        for stamps in (self.installed, self.visible):
            stamps.setdefault(table, []).append(Stamped(time, version))

    def source(self, name: str, time: int) -> Version | None:
        """What a refresh sees of an object or table as of a time."""
        return newest(self.visible[name], time)


def newest(stamps: list[Stamped], time: int) -> Version | None:
    """The last version that was there at a time."""
    return next((stamped.version for stamped in reversed(stamps) if stamped.since <= time), None)


class SnapshotStore(Store):
    """Snapshots, of which the first to commit a version wins: snapshot isolation."""

    def may_commit(self, running: Running) -> bool:
        return not self.changed(running, set(running.written))


class CommittedStore(Store):
    """Each read sees the last version that was committed: read committed."""

    def seen(self, running: Running, name: str) -> Version | None:
        return newest(self.visible.get(name, []), self.clock)

    def may_commit(self, running: Running) -> bool:
        return True


class LockingStore(CommittedStore):
    """Locks that are kept until the end, of what was read, ranged over or written: serializable.

    A step that would have to wait is left out, so that nobody waits for ever.
    """

    def read(self, running: Running, name: str) -> None:
        if not self._is_written(running, {name}):
            super().read(running, name)

    def scan(self, running: Running, predicate: str) -> None:
        if not self._is_written(running, set(self.workload.domains[predicate])):
            super().scan(running, predicate)

    def write(self, running: Running, name: str) -> None:
        others = (other for other in self.running if other is not running)
        if not any(name in other.touched or name in other.written for other in others):
            super().write(running, name)

    def seen(self, running: Running, name: str) -> Version | None:
        if running.report:
            return newest(self.visible.get(name, []), running.start)
        return super().seen(running, name)

    def _is_written(self, running: Running, names: set[str]) -> bool:
        return not running.report and any(
            not names.isdisjoint(other.written) for other in self.running if other is not running
        )
