"""Stores that are wrong in one way each; `mutants.store_histories` tells the phenomena that they show."""

from collections.abc import Iterable
from random import Random

from strategies.histories.histories import Version
from strategies.histories.stores import (
    CommittedStore,
    OpenTransaction,
    SnapshotStore,
    StampedVersion,
    Store,
    Workload,
    newest,
)

_LATE_AT_MOST = 6


class WritesInterleave(CommittedStore):
    """Versions are ordered as they were written, not as they were committed: dirty writes."""

    def install(self, name: str, versions: list[Version]) -> None:
        super().install(name, versions)
        places = {version: place for place, version in enumerate(self.values)}
        self.installed[name].sort(key=lambda stamped: places[stamped.version])


class AbortsLinger(Store):
    """Versions of an aborted transaction are visible until the next commit."""

    def abort(self, transaction: OpenTransaction) -> None:
        super().abort(transaction)
        for name, versions in transaction.written.items():
            self.visible.setdefault(name, []).append(StampedVersion(self.clock, versions[-1]))


class FirstWritesShow(Store):
    """The first of several writes of a transaction is visible, though the last is installed."""

    def install(self, name: str, versions: list[Version]) -> None:
        super().install(name, versions)
        self.visible[name][-1] = StampedVersion(self.clock, versions[0])


class UncommittedShow(CommittedStore):
    """The last version is visible, committed or not; only one transaction at a time writes an object."""

    def version_of_others(self, transaction: OpenTransaction, name: str) -> Version | None:
        return self.uncommitted_version(name) or super().version_of_others(transaction, name)

    def uncommitted_version(self, name: str) -> Version | None:
        """Return the version of an object that an open transaction has written."""
        versions = (other.written[name][-1] for other in self.open_transactions if name in other.written)
        return next(versions, None)

    def write(self, transaction: OpenTransaction, name: str) -> None:
        if self.uncommitted_version(name) is None:
            super().write(transaction, name)


class SnapshotsMove(SnapshotStore):
    """Each read takes a snapshot of its own."""

    def version_of_others(self, transaction: OpenTransaction, name: str) -> Version | None:
        return newest(self.visible.get(name, []), self.clock)


class PredicatesUnwatched(Store):
    """Objects that predicates range over may change until a transaction commits."""

    def scan(self, transaction: OpenTransaction, predicate: str) -> None:
        touched = set(transaction.touched)
        super().scan(transaction, predicate)
        transaction.touched = touched


class LastCommitterWins(SnapshotStore):
    """A transaction commits over versions that it did not see."""

    def may_commit(self, transaction: OpenTransaction) -> bool:
        return True


class ShardsDisagree(SnapshotStore):
    """Every other object is in a second shard, whose snapshot is taken when it is first read."""

    def __init__(self, workload: Workload, random: Random) -> None:
        super().__init__(workload, random)
        self.second: dict[int, int] = {}

    def start(self, transaction: OpenTransaction) -> int:
        return self.clock

    def version_of_others(self, transaction: OpenTransaction, name: str) -> Version | None:
        if self.workload.names.index(name) % 2 == 0:
            return super().version_of_others(transaction, name)
        start = self.second.setdefault(transaction.number, self.clock)
        return newest(self.visible.get(name, []), start)


class SnapshotsLate(Store):
    """A transaction's snapshot is taken at its first step, after commits that came after its begin."""

    def version_of_others(self, transaction: OpenTransaction, name: str) -> Version | None:
        if not transaction.touched and not transaction.written:
            transaction.start = self.clock
        return super().version_of_others(transaction, name)


class SnapshotsStale(Store):
    """Some transactions' snapshots are several commits old."""

    def start(self, transaction: OpenTransaction) -> int:
        return max(0, self.clock - self.random.choice((0, 0, _LATE_AT_MOST)))


class SitesLag(SnapshotStore):
    """Two sites; each sees its own commits at once and those of the other later, in their order."""

    def __init__(self, workload: Workload, random: Random) -> None:
        super().__init__(workload, random)
        self.committed: dict[Version, tuple[int, int]] = {}
        self.commits = [0, 0]
        self.synced = [0, 0]
        self.snapshots: dict[int, tuple[int, int]] = {}

    def start(self, transaction: OpenTransaction) -> int:
        here = transaction.number % 2
        if self.random.random() < 0.2:
            self.synced[here] = self.commits[1 - here]
        visible = (self.commits[here], self.synced[here])
        self.snapshots[transaction.number] = visible if here == 0 else (visible[1], visible[0])
        return self.clock

    def version_of_others(self, transaction: OpenTransaction, name: str) -> Version | None:
        versions = (stamped.version for stamped in reversed(self.visible.get(name, [])))
        return next((version for version in versions if self._is_seen(transaction, version)), None)

    def _is_seen(self, transaction: OpenTransaction, version: Version) -> bool:
        site, place = self.committed.get(version, (0, 0))
        return place <= self.snapshots[transaction.number][site]

    def is_changed(self, transaction: OpenTransaction, names: set[str]) -> bool:
        last = (self.installed[name][-1].version for name in names if name in self.installed)
        return not all(self._is_seen(transaction, version) for version in last)

    def commit(self, transaction: OpenTransaction) -> None:
        site = transaction.number % 2
        self.commits[site] += 1
        for versions in transaction.written.values():
            self.committed[versions[-1]] = (site, self.commits[site])
        super().commit(transaction)


class ReportsMix(Store):
    """Reports read objects as they are beside dynamic tables as they were at the last refresh."""

    def start(self, transaction: OpenTransaction) -> int:
        return self.clock


class TablesSkewed(ReportsMix):
    """Each refresh takes one dynamic table only."""

    def tables_to_refresh(self) -> Iterable[str]:
        return (self.random.choice(sorted(self.workload.tables)),)


class RefreshesOvertake(Store):
    """Some refreshes derive from older versions than refreshes that came earlier."""

    def derive(self, number: int, table: str, time: int) -> None:
        super().derive(number, table, max(0, time - self.random.choice((0, _LATE_AT_MOST))))


class RefreshesSeeAborts(Store):
    """A refresh takes an aborted transaction's version for the last one."""

    def __init__(self, workload: Workload, random: Random) -> None:
        super().__init__(workload, random)
        self.lingering: dict[str, Version] = {}

    def abort(self, transaction: OpenTransaction) -> None:
        super().abort(transaction)
        self.lingering |= {name: versions[-1] for name, versions in transaction.written.items()}

    def install(self, name: str, versions: list[Version]) -> None:
        super().install(name, versions)
        self.lingering.pop(name, None)

    def source(self, name: str, time: int) -> Version | None:
        return self.lingering.get(name) or super().source(name, time)


class RefreshesSeeFirstWrites(Store):
    """A refresh takes the first of a transaction's writes of an object for its last."""

    def __init__(self, workload: Workload, random: Random) -> None:
        super().__init__(workload, random)
        self.first: dict[Version, Version] = {}

    def install(self, name: str, versions: list[Version]) -> None:
        super().install(name, versions)
        self.first[versions[-1]] = versions[0]

    def source(self, name: str, time: int) -> Version | None:
        version = super().source(name, time)
        return None if version is None else self.first.get(version, version)


class RefreshesSeeUncommitted(UncommittedShow):
    """A refresh sees the last version, committed or not, and transactions read the newest tables."""

    def version_of_others(self, transaction: OpenTransaction, name: str) -> Version | None:
        return newest(self.visible.get(name, []), self.clock)

    def source(self, name: str, time: int) -> Version | None:
        return self.uncommitted_version(name) or super().source(name, time)
