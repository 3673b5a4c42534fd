"""Stores that are broken in one way each; `mutants.store_histories` has what their histories show."""

from collections.abc import Iterable
from random import Random

from strategies.histories.histories import Version
from strategies.histories.stores import (
    CommittedStore,
    Running,
    SnapshotStore,
    Stamped,
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
    """What an aborted transaction wrote is seen until the next commit."""

    def abort(self, running: Running) -> None:
        super().abort(running)
        for name, versions in running.written.items():
            self.visible.setdefault(name, []).append(Stamped(self.clock, versions[-1]))


class FirstWritesShow(Store):
    """Of several writes of a transaction the first is seen, though the last is installed."""

    def install(self, name: str, versions: list[Version]) -> None:
        super().install(name, versions)
        self.visible[name][-1] = Stamped(self.clock, versions[0])


class UncommittedShow(CommittedStore):
    """The last version is seen, committed or not; only one transaction at a time writes an object."""

    def seen(self, running: Running, name: str) -> Version | None:
        return self.uncommitted(name) or super().seen(running, name)

    def uncommitted(self, name: str) -> Version | None:
        """What a transaction under way has written of an object."""
        found = (other.written[name][-1] for other in self.running if name in other.written)
        return next(found, None)

    def write(self, running: Running, name: str) -> None:
        if self.uncommitted(name) is None:
            super().write(running, name)


class SnapshotsMove(SnapshotStore):
    """Each read takes a snapshot of its own."""

    def seen(self, running: Running, name: str) -> Version | None:
        return newest(self.visible.get(name, []), self.clock)


class PredicatesUnwatched(Store):
    """What predicates range over may change until a transaction commits."""

    def scan(self, running: Running, predicate: str) -> None:
        touched = set(running.touched)
        super().scan(running, predicate)
        running.touched = touched


class LastCommitterWins(SnapshotStore):
    """A transaction commits over versions that it did not see."""

    def may_commit(self, running: Running) -> bool:
        return True


class ShardsDisagree(SnapshotStore):
    """Every other object is in a second shard, whose snapshot is taken when it is first read."""

    def __init__(self, workload: Workload, random: Random) -> None:
        super().__init__(workload, random)
        self.second: dict[int, int] = {}

    def start(self, running: Running) -> int:
        return self.clock

    def seen(self, running: Running, name: str) -> Version | None:
        if self.workload.names.index(name) % 2 == 0:
            return super().seen(running, name)
        start = self.second.setdefault(running.number, self.clock)
        return newest(self.visible.get(name, []), start)


class SnapshotsLate(Store):
    """A transaction's snapshot is taken at its first step, after commits that came after its begin."""

    def seen(self, running: Running, name: str) -> Version | None:
        if not running.touched and not running.written:
            running.start = self.clock
        return super().seen(running, name)


class SnapshotsStale(Store):
    """Some transactions' snapshots are of some commits ago."""

    def start(self, running: Running) -> int:
        return max(0, self.clock - self.random.choice((0, 0, _LATE_AT_MOST)))


class SitesLag(SnapshotStore):
    """Two sites, each of which sees its own commits at once and those of the other later, in their order."""

    def __init__(self, workload: Workload, random: Random) -> None:
        super().__init__(workload, random)
        self.committed: dict[Version, tuple[int, int]] = {}
        self.commits = [0, 0]
        self.known = [0, 0]
        self.snapshots: dict[int, tuple[int, int]] = {}

    def start(self, running: Running) -> int:
        here = running.number % 2
        if self.random.random() < 0.2:
            self.known[here] = self.commits[1 - here]
        seen = (self.commits[here], self.known[here])
        self.snapshots[running.number] = seen if here == 0 else (seen[1], seen[0])
        return self.clock

    def seen(self, running: Running, name: str) -> Version | None:
        versions = (stamped.version for stamped in reversed(self.visible.get(name, [])))
        return next((version for version in versions if self._is_seen(running, version)), None)

    def _is_seen(self, running: Running, version: Version) -> bool:
        site, place = self.committed.get(version, (0, 0))
        return place <= self.snapshots[running.number][site]

    def changed(self, running: Running, names: set[str]) -> bool:
        last = (self.installed[name][-1].version for name in names if name in self.installed)
        return not all(self._is_seen(running, version) for version in last)

    def commit(self, running: Running) -> None:
        site = running.number % 2
        self.commits[site] += 1
        for versions in running.written.values():
            self.committed[versions[-1]] = (site, self.commits[site])
        super().commit(running)


class ReportsMix(Store):
    """Reports read objects as they are beside dynamic tables as they were at the last refresh."""

    def start(self, running: Running) -> int:
        return self.clock


class TablesSkewed(ReportsMix):
    """Each refresh takes one dynamic table only."""

    def due(self) -> Iterable[str]:
        return (self.random.choice(sorted(self.workload.tables)),)


class RefreshesOvertake(Store):
    """Some refreshes derive from what was there before others that came earlier."""

    def derive(self, number: int, table: str, time: int) -> None:
        super().derive(number, table, max(0, time - self.random.choice((0, _LATE_AT_MOST))))


class RefreshesSeeAborts(Store):
    """A refresh takes what an aborted transaction wrote for the last version."""

    def __init__(self, workload: Workload, random: Random) -> None:
        super().__init__(workload, random)
        self.lingering: dict[str, Version] = {}

    def abort(self, running: Running) -> None:
        super().abort(running)
        self.lingering |= {name: versions[-1] for name, versions in running.written.items()}

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
        found = super().source(name, time)
        return None if found is None else self.first.get(found, found)


class RefreshesSeeUncommitted(UncommittedShow):
    """A refresh sees the last version, committed or not, and transactions read the newest tables."""

    def seen(self, running: Running, name: str) -> Version | None:
        return newest(self.visible.get(name, []), self.clock)

    def source(self, name: str, time: int) -> Version | None:
        return self.uncommitted(name) or super().source(name, time)
