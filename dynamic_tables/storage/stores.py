"""The protocol of the stores that keep the versions of one table; `versions.Table` is one in memory."""

from typing import Any, Protocol

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import Frontier, SourceVersion
from dynamic_tables.storage.staging import StagedChanges


class StoredVersion(Protocol):
    """The result of one commit to a table."""

    @property
    def source_version(self) -> SourceVersion:
        """The version's number and commit time; versions count from 0, the empty table."""

    @property
    def number(self) -> int:
        """The number of the version."""

    @property
    def commit_time(self) -> Timestamp:
        """The time of the commit."""


class TableStore(Protocol):
    """The versions of one table and, if it is a dynamic table, its frontier.

    Contents, intervals and changes are in a form that the store and the backend agree on: rows in Python, or
    files and DataFrames. A commit makes contents and frontier visible at once (R-DVS-38).
    """

    @property
    def frontier(self) -> Frontier | None:
        """The frontier of the newest version; None before the first refresh and for base tables."""

    @property
    def read_us(self) -> int:
        """The greatest data timestamp at which the table was read."""

    @property
    def columns_since(self) -> int:
        """The number of the first version of a dynamic table whose rows have the present columns."""

    @property
    def latest(self) -> StoredVersion:
        """The newest version."""

    @property
    def readable_from_us(self) -> int:
        """The least data timestamp at which the table can be read."""

    def read_at(self, data_us: int) -> StoredVersion:
        """Return the version at a data timestamp, which no later commit will change (R-DVS-83).

        Raises:
            NoVersion: The table was created later.
            Purged: The version of that time is not retained.
        """

    def refreshed_at(self, data_us: int) -> StoredVersion:
        """Return the version that the refresh with exactly this data timestamp left (R-DVS-82).

        Raises:
            NoVersion: No refresh had this timestamp.
            Purged: One had it, but its version is not retained.
        """

    def refresh_timestamps(self) -> tuple[int, ...]:
        """Return the data timestamps of the refreshes, oldest first."""

    def changed_count(self, old: int, new: int) -> int:
        """Return the number of rows changed after version `old`, up to `new`, from metadata only.

        Raises:
            Purged: The old version is not retained.
        """

    def rows(self, number: int, positions: tuple[int, ...] | None = None) -> Any:
        """Return the contents of a version in a column layout; None: as stored."""

    def interval(self, old: int, new: int, positions: tuple[int, ...] | None) -> Any:
        """Return the table over the interval between two versions, in a column layout."""

    def stage(self, changes: Any) -> StagedChanges:
        """Prepare changes of the newest version for a commit, validated (R-DVS-92).

        Raises:
            InvalidChanges: They do not fit its contents.
        """

    def stage_whole(self, contents: Any) -> StagedChanges:
        """Prepare other contents for a commit.

        Raises:
            DuplicateRowId: Two rows have the same id.
        """

    def commit_refresh(self, frontier: Frontier, staged: StagedChanges) -> None:
        """Give a dynamic table its contents at a data timestamp, and the frontier of these contents."""
