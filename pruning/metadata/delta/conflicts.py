"""Conflicts of a commit with the versions that other writers have written since it read the table.

Claim     If `conflict` returns None for each such version, the table after this commit is one that the
          writers could have reached one after the other. "Serializable" takes the order of the versions;
          "WriteSerializable" may put this commit before a version that only adds files and has read nothing.
Premises  `TableReads` names every file that was read, and its `may_match` is true of every file that would
          have been read. A version says truly that it has read nothing (`isBlindAppend`).
Proof     The commit depends on the protocol, the metadata, the files read, and on there being no other files
          that match. A version without a conflict changes none of them. Nor does the commit undo it: the two
          have no file and no application in common.
Unsound   for what is not known: an absolute path, which may be any file of its last name, is a conflict, and
          so is a version whose file is gone (`committing`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pruning.errors import InputError
from pruning.metadata.delta.commits import DeltaCommit
from pruning.metadata.delta.file_keys import file_key, may_share
from pruning.metadata.delta.log_actions import AddedFile, DeltaMetadata, LogEntry, TableProtocol

SERIALIZABLE, WRITE_SERIALIZABLE = "Serializable", "WriteSerializable"
_ISOLATION = "delta.isolationLevel"

# Tells of files that other writers have added whether any of them may have rows that the commit depends on.
MayMatch: TypeAlias = Callable[[Sequence[AddedFile]], bool]


class CommitConflict(InputError):
    """Another writer has changed what a commit depends on; nothing was changed.

    Attributes:
        version: The number of its version.
    """

    def __init__(self, message: str, version: int) -> None:
        super().__init__(message)
        self.version = version


def every_file(added: Sequence[AddedFile]) -> bool:
    """The `MayMatch` of a commit that depends on all rows."""
    return bool(added)


def no_file(added: Sequence[AddedFile]) -> bool:
    """The `MayMatch` of a commit that depends on no row."""
    return False


@dataclass(frozen=True, kw_only=True, eq=False)
class TableReads:
    """The parts of a table that a commit depends on.

    Attributes:
        version: The version of the table that was read.
        protocol: The table's protocol then.
        metadata: The table's metadata then.
        whole_table: True if the commit depends on all files of the table.
        files: The paths in the log of the data files that were read; all files that may match.
        may_match: Tells of files that were added since whether they would have been read, too; `no_file` for
            a commit that depends on no row. It may always say True.
        applications: The applications whose progress was read.
    """

    version: int
    protocol: TableProtocol
    metadata: DeltaMetadata
    whole_table: bool = True
    files: frozenset[str] = frozenset()
    may_match: MayMatch = every_file
    applications: frozenset[str] = frozenset()

    @property
    def isolation(self) -> str:
        """The isolation level that the table's property asks for.

        Raises:
            InputError: it is none.
        """
        name = self.metadata.properties.get(_ISOLATION, WRITE_SERIALIZABLE)
        for level in (SERIALIZABLE, WRITE_SERIALIZABLE):
            if name.lower() == level.lower():
                return level
        raise InputError(
            f"the table's property {_ISOLATION} is {name!r}, which is no isolation level of Delta"
        )

    @property
    def is_nothing(self) -> bool:
        """True if the commit depends on no row of the table."""
        return not self.whole_table and not self.files and self.may_match is no_file


def is_blind_append(commit: DeltaCommit, reads: TableReads) -> bool:
    """Tell whether a commit only adds files, and depends on no row."""
    return bool(commit.added) and not commit.removed and reads.is_nothing


def conflict(commit: DeltaCommit, reads: TableReads, entry: LogEntry) -> str | None:
    """Return why a commit cannot follow a version that was written since it read the table; None if it can.

    Args:
        commit: The commit.
        reads: What it depends on.
        entry: The actions of the version.
    """
    if entry.protocol is not None:
        return "changed the table's protocol"
    if entry.metadata is not None:
        return "changed the table's schema or properties"
    application = _shared_application(commit, reads, entry)
    if application is not None:
        return f"noted progress of the application {application!r}"
    removed = frozenset(file_key(file.path) for file in entry.removed)
    own_removed = frozenset(file_key(file.path) for file in commit.removed)
    twice = may_share(removed, own_removed)
    if twice is not None:
        return f"removed {twice}, which this commit removes"
    if removed and reads.whole_table:
        return f"removed {min(removed)}, which this commit depends on, as on all files"
    read = may_share(removed, frozenset(map(file_key, reads.files)))
    if read is not None:
        return f"removed {read}, which this commit depends on"
    added = frozenset(file_key(file.path) for file in entry.added)
    own_added = frozenset(file_key(file.path) for file in commit.added)
    same = may_share(added | removed, own_added) or may_share(added, own_removed)
    if same is not None:
        return f"changed {same}, which this commit adds or removes"
    if entry.added and not _comes_after(commit, reads, entry) and _may_match(reads, entry.added):
        return f"added {len(entry.added)} files, in which this commit may have to change rows, too"
    return None


def _shared_application(commit: DeltaCommit, reads: TableReads, entry: LogEntry) -> str | None:
    """Return an application whose progress a version notes and the commit notes or depends on."""
    own = reads.applications | {transaction.application for transaction in commit.transactions}
    return min((note.application for note in entry.transactions if note.application in own), default=None)


def _comes_after(commit: DeltaCommit, reads: TableReads, entry: LogEntry) -> bool:
    """Tell whether a version may be ordered after this commit, since it has read nothing."""
    blind = entry.commit_info.get("isBlindAppend") is True and not entry.removed
    return blind and reads.isolation == WRITE_SERIALIZABLE and commit.metadata is None


def _may_match(reads: TableReads, added: Sequence[AddedFile]) -> bool:
    return reads.whole_table or reads.may_match(added)
