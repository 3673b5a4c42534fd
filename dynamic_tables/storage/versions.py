"""A table as its versions: what it held when, what changed between, and which refresh made which.

A version keeps its changes; contents are put together when they are asked for. A data timestamp is a
whole microsecond: it sees every commit of that microsecond or before.
"""

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import Consumed, Frontier
from dynamic_tables.storage.netting import apply, inverse, net
from dynamic_tables.values.changes import Contents, Delta, Row, RowId

# How many versions are kept put together: the newest, and one that a slow reader works on.
CONTENTS_KEPT = 2


class NoVersion(LookupError):
    """The table has no version for the data timestamp that was asked for (R-DVS-82)."""


class Purged(LookupError):
    """The version is older than what is retained (trap 32)."""


@dataclass(frozen=True, slots=True)
class Version:
    """What one commit made of a table.

    Attributes:
        consumed: How a frontier names it: versions of a table are counted from 0, in which it is empty.
        changes: From the version before. Empty if it was maintained only: compacted, clustered anew.
        changed_count: Of rows, in all versions up to this one.
    """

    consumed: Consumed
    changes: Delta
    changed_count: int

    @property
    def number(self) -> int:
        """Which version it is."""
        return self.consumed.number

    @property
    def committed(self) -> Timestamp:
        """When it was committed."""
        return self.consumed.committed


class Table:
    """The versions of one table and, if it is a dynamic table, its frontier.

    A commit gives a table its version, its frontier and the entry for its data timestamp at once: there
    is no moment at which a reader sees one without the others (R-DVS-38).

    Attributes:
        frontier: What the newest version of a dynamic table holds; None before its first refresh, and of
            base tables.
        read_us: The greatest data timestamp that was read.
        columns_since: The number of the version since which rows have the present columns; base tables
            keep theirs in the catalog.
    """

    def __init__(self, created: Timestamp) -> None:
        """An empty table."""
        self.frontier: Frontier | None = None
        self.read_us = -1
        self.columns_since = 0
        self._versions = [Version(Consumed(0, created), (), 0)]
        self._first = 0
        self._contents: dict[int, Contents] = {0: {}}
        # Entry by entry: a data timestamp of a refresh, and the version that it left.
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
        """The least data timestamp at which it can be read; a clone's history is that of its original."""
        return self._versions[0].committed.physical_us

    # Reading

    def as_of(self, data_us: int) -> Version:
        """The newest version committed at a data timestamp or before (R-DVS-81).

        Raises:
            NoVersion: The table came later.
            Purged: What it was then is not retained.
        """
        latest = self._versions[-1]
        if latest.consumed.committed.physical_us <= data_us:
            return latest
        place = bisect_right(self._versions, data_us, key=_physical_us)
        if place > 0:
            return self._versions[place - 1]
        if self._first > 0:
            raise Purged(f"what the table was at {data_us} us is not retained")
        raise NoVersion(f"the table was created after {data_us} us")

    def read_at(self, data_us: int) -> Version:
        """The version as of a data timestamp; no commit will change what that is (R-DVS-83)."""
        if data_us > self.read_us:
            self.read_us = data_us
        return self.as_of(data_us)

    def refreshed_at(self, data_us: int) -> Version:
        """The version that the refresh of exactly this data timestamp left (R-DVS-82).

        Raises:
            NoVersion: No refresh had it.
            Purged: One had, but its version is not retained.
        """
        frontier = self.frontier
        if frontier is not None and frontier.data_us == data_us:
            return self._versions[-1]
        place = bisect_left(self._refresh_us, data_us)
        if place == len(self._refresh_us) or self._refresh_us[place] != data_us:
            raise NoVersion(f"no refresh had the data timestamp {data_us} us")
        return self.version(self._refresh_versions[place])

    def refresh_timestamps(self) -> tuple[int, ...]:
        """The data timestamps of its refreshes, oldest first."""
        return tuple(self._refresh_us)

    def version(self, number: int) -> Version:
        """A version by its number.

        Raises:
            Purged: It is not retained.
        """
        if number < self._first:
            raise Purged(f"version {number} is not retained; the oldest is {self._first}")
        return self._versions[number - self._first]

    def contents(self, number: int) -> Contents:
        """What a version holds; not to be changed."""
        known = self._contents.get(number)
        if known is not None:
            return known
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

    # What changed

    def changed_count(self, old: int, new: int) -> int:
        """How many rows the versions after `old`, up to `new`, say to have changed: metadata only.

        0 if they were maintained only (trap 29). A row that came and went counts twice here.

        Raises:
            Purged: The old version is not retained.
        """
        return 0 if old == new else self.version(new).changed_count - self.version(old).changed_count

    def changes(self, old: int, new: int) -> Delta:
        """What lies between two versions, netted by id and content (traps 15, 16, 49, 50).

        Raises:
            Purged: The old version is not retained.
        """
        self.version(old)
        changing = [version.changes for version in self._between(old, new) if version.changes]
        return changing[0] if len(changing) == 1 else net(changing)

    # Writing

    def commit(self, committed: Timestamp, changes: Delta) -> Version:
        """Add a version; without changes it is one of maintenance."""
        assert committed > self.latest.committed, "commit timestamps go forward"
        assert committed.physical_us > self.read_us, "a reader has seen that there is no such commit"
        changes = net([changes])
        latest = self.latest
        consumed = Consumed(latest.number + 1, committed)
        version = Version(consumed, changes, latest.changed_count + len(changes))
        self._versions.append(version)
        return version

    def commit_refresh(self, frontier: Frontier, changes: Delta) -> None:
        """Give a dynamic table its contents at a data timestamp, and the frontier that says so.

        Without changes there is no new version; the newest is that of two data timestamps then.
        """
        old = self.frontier
        assert old is None or frontier.data_us > old.data_us, "data timestamps go forward"
        if changes:
            self.commit(frontier.committed, changes)
        if old is not None and frontier.dependencies.has_other_columns(old.dependencies):
            self.columns_since = self.latest.number
        self._refresh_us.append(frontier.data_us)
        self._refresh_versions.append(self._versions[-1].consumed.number)
        self.frontier = frontier

    def purge(self, horizon_us: int) -> None:
        """Forget what was overwritten before a time; what the table was then stays readable."""
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
        """Another table with the same versions; only metadata is copied (R-DVS-46)."""
        clone = type(self)(self.oldest.committed)
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
        """Keep a version put together, in place of the older of those kept."""
        if len(self._contents) >= CONTENTS_KEPT:
            del self._contents[min(self._contents)]
        self._contents[number] = rows


def _physical_us(version: Version) -> int:
    return version.consumed.committed.physical_us
