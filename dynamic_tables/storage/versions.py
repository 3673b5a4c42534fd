"""The versions of a table: its contents at each time, the changes between them, and its refreshes.

A version keeps only its changes; contents are computed when they are needed. A data timestamp is a whole
microsecond: it sees every commit of that microsecond and of earlier ones.
"""

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import Frontier, SourceVersion, differ_in_columns
from dynamic_tables.storage.intervals import TableInterval
from dynamic_tables.storage.netting import apply, inverse, net, reshape
from dynamic_tables.storage.staging import StagedChanges, stage_delta, stage_difference
from dynamic_tables.values.changes import Contents, Delta, Row, RowId

# The number of versions whose contents are kept: the newest, and one that a slow reader works on.
CONTENTS_KEPT = 2


class NoVersion(LookupError):
    """The table has no version for the data timestamp (R-DVS-82)."""


class Purged(LookupError):
    """The version is older than what is retained (trap 32)."""


@dataclass(frozen=True, slots=True)
class Version:
    """The result of one commit to a table.

    Attributes:
        source_version: The version's number and commit time; versions count from 0, the empty table.
        changes: The changes from the previous version; empty after maintenance such as compaction.
        changed_count: The number of changed rows in all versions up to this one.
    """

    source_version: SourceVersion
    changes: Delta
    changed_count: int

    @property
    def number(self) -> int:
        """The number of the version."""
        return self.source_version.number

    @property
    def commit_time(self) -> Timestamp:
        """The time of the commit."""
        return self.source_version.committed


class Table:
    """The versions of one table and, if it is a dynamic table, its frontier.

    A commit adds the version, its frontier and the entry for its data timestamp at once: no reader ever
    sees one without the others (R-DVS-38).

    Attributes:
        frontier: The frontier of the newest version; None before the first refresh and for base tables.
        read_us: The greatest data timestamp at which the table was read.
        columns_since: The number of the first version whose rows have the present columns; for base tables
            the catalog keeps them.
    """

    def __init__(self, created: Timestamp) -> None:
        """Create an empty table."""
        self.frontier: Frontier | None = None
        self.read_us = -1
        self.columns_since = 0
        self._versions = [Version(SourceVersion(0, created), (), 0)]
        self._first = 0
        self._contents: dict[int, Contents] = {0: {}}
        # The data timestamps of refreshes, and the number of the version that each of them left.
        self._refresh_us = array("q")
        self._refresh_versions = array("q")

    @property
    def latest(self) -> Version:
        """The newest version."""
        return self._versions[-1]

    @property
    def oldest(self) -> Version:
        """The oldest version that is retained."""
        return self._versions[0]

    @property
    def readable_from_us(self) -> int:
        """The least data timestamp at which the table can be read; a clone has its original's history."""
        return self._versions[0].commit_time.physical_us

    # Reading

    def as_of(self, data_us: int) -> Version:
        """Return the newest version committed at or before a data timestamp (R-DVS-81).

        Raises:
            NoVersion: The table was created later.
            Purged: The version of that time is not retained.
        """
        latest = self._versions[-1]
        if latest.source_version.committed.physical_us <= data_us:
            return latest
        place = bisect_right(self._versions, data_us, key=_physical_us)
        if place > 0:
            return self._versions[place - 1]
        if self._first > 0:
            raise Purged(f"what the table was at {data_us} us is not retained")
        raise NoVersion(f"the table was created after {data_us} us")

    def read_at(self, data_us: int) -> Version:
        """Return the version at a data timestamp, which no later commit will change (R-DVS-83)."""
        if data_us > self.read_us:
            self.read_us = data_us
        return self.as_of(data_us)

    def refreshed_at(self, data_us: int) -> Version:
        """Return the version that the refresh with exactly this data timestamp left (R-DVS-82).

        Raises:
            NoVersion: No refresh had this timestamp.
            Purged: One had it, but its version is not retained.
        """
        frontier = self.frontier
        if frontier is not None and frontier.data_us == data_us:
            return self._versions[-1]
        place = bisect_left(self._refresh_us, data_us)
        if place == len(self._refresh_us) or self._refresh_us[place] != data_us:
            raise NoVersion(f"no refresh had the data timestamp {data_us} us")
        return self.version(self._refresh_versions[place])

    def refresh_timestamps(self) -> tuple[int, ...]:
        """Return the data timestamps of the refreshes, oldest first."""
        return tuple(self._refresh_us)

    def version(self, number: int) -> Version:
        """Return the version with a number.

        Raises:
            Purged: The version is not retained.
        """
        if number < self._first:
            raise Purged(f"version {number} is not retained; the oldest is {self._first}")
        return self._versions[number - self._first]

    def contents(self, number: int) -> Contents:
        """Return the contents of a version, which the caller must not change."""
        kept_contents = self._contents.get(number)
        if kept_contents is not None:
            return kept_contents
        self.version(number)
        near = min(self._contents, key=lambda other: abs(other - number))
        rows: dict[RowId, Row] = dict(self._contents[near])
        if near < number:
            for version in self._between(near, number):
                apply(rows, version.changes)
        else:
            for version in reversed(self._between(number, near)):
                apply(rows, inverse(version.changes))
        self._keep(number, rows)
        return rows

    def rows(self, number: int, positions: tuple[int, ...] | None = None) -> Contents:
        """Return the contents of a version in a column layout; None: as stored."""
        return reshape(self.contents(number), positions)

    def interval(self, old: int, new: int, positions: tuple[int, ...] | None) -> TableInterval:
        """Return the table over the interval between two versions, in a column layout."""
        return TableInterval(self, old, new, positions)

    # Reading changes

    def changed_count(self, old: int, new: int) -> int:
        """Return the number of rows changed after version `old`, up to `new`, from metadata only.

        It is 0 after maintenance only (trap 29). A row that was added and removed again counts twice.

        Raises:
            Purged: The old version is not retained.
        """
        return 0 if old == new else self.version(new).changed_count - self.version(old).changed_count

    def changes(self, old: int, new: int) -> Delta:
        """Return the changes between two versions, netted by id and content (traps 15, 16, 49, 50).

        Raises:
            Purged: The old version is not retained.
        """
        self.version(old)
        changing = [version.changes for version in self._between(old, new) if version.changes]
        return changing[0] if len(changing) == 1 else net(changing)

    # Writing

    def commit(self, committed: Timestamp, changes: Delta) -> Version:
        """Add a version; one without changes is maintenance."""
        assert committed > self.latest.commit_time, "commit timestamps go forward"
        assert committed.physical_us > self.read_us, "a reader has seen that there is no such commit"
        changes = net([changes])
        latest = self.latest
        consumed = SourceVersion(latest.number + 1, committed)
        version = Version(consumed, changes, latest.changed_count + len(changes))
        self._versions.append(version)
        return version

    def stage(self, changes: Delta) -> StagedChanges:
        """Validate changes of the newest version (R-DVS-92).

        Raises:
            InvalidChanges: They do not fit its contents.
        """
        return stage_delta(changes, self.contents(self.latest.number))

    def stage_whole(self, contents: Contents) -> StagedChanges:
        """Return the changes that turn the newest version into other contents."""
        return stage_difference(self.contents(self.latest.number), contents)

    def commit_refresh(self, frontier: Frontier, staged: StagedChanges) -> None:
        """Give a dynamic table its contents at a data timestamp, and the frontier of these contents.

        Without changes no version is added: the newest version then belongs to both data timestamps.
        """
        old = self.frontier
        assert old is None or frontier.data_us > old.data_us, "data timestamps go forward"
        if staged.changes:
            self.commit(frontier.committed, staged.changes)
        if old is not None and differ_in_columns(frontier.dependencies, old.dependencies):
            self.columns_since = self.latest.number
        self._refresh_us.append(frontier.data_us)
        self._refresh_versions.append(self._versions[-1].source_version.number)
        self.frontier = frontier

    def purge(self, horizon_us: int) -> None:
        """Remove versions that were replaced before a time; the version valid at that time stays readable."""
        kept = max(0, bisect_right(self._versions, horizon_us, key=_physical_us) - 1)
        if kept == 0:
            return
        first = self._first + kept
        self.contents(self.latest.number)
        self._contents = {number: rows for number, rows in self._contents.items() if number >= first}
        del self._versions[:kept]
        self._first = first
        place = bisect_left(self._refresh_versions, first)
        del self._refresh_us[:place], self._refresh_versions[:place]

    def clone(self) -> "Table":
        """Return another table with the same versions; only metadata is copied (R-DVS-46)."""
        clone = type(self)(self.oldest.commit_time)
        clone.frontier = self.frontier
        clone.read_us = self.read_us
        clone.columns_since = self.columns_since
        clone._versions = list(self._versions)
        clone._first = self._first
        clone._contents = dict(self._contents)
        clone._refresh_us = self._refresh_us[:]
        clone._refresh_versions = self._refresh_versions[:]
        return clone

    def _between(self, old: int, new: int) -> list[Version]:
        return self._versions[old + 1 - self._first : new + 1 - self._first]

    def _keep(self, number: int, rows: Contents) -> None:
        """Keep the contents of a version, in place of the oldest contents kept."""
        if len(self._contents) >= CONTENTS_KEPT:
            del self._contents[min(self._contents)]
        self._contents[number] = rows


def _physical_us(version: Version) -> int:
    return version.source_version.committed.physical_us
