"""Committing a change to a Delta Lake table, after the versions that other writers write meanwhile."""

from pruning.errors import InputError
from pruning.metadata.delta.commits import (
    DeltaCommit,
    LostRace,
    commit_bytes,
    commit_time_after,
    current_ms,
    entry_path,
    newest_version,
    read_entry,
    write_version,
)
from pruning.metadata.delta.conflicts import CommitConflict, TableReads, conflict, is_blind_append
from pruning.metadata.delta.writer_protocol import (
    IN_COMMIT_TIMESTAMPS,
    check_writable,
    has_commit_times,
    has_deletion_vectors,
)


def commit_changes(root: str, commit: DeltaCommit, reads: TableReads) -> int:
    """Make a commit the table's next version, and return its number.

    Versions that other writers have written since the table was read are examined, oldest first. If none is
    in conflict, the commit follows them as it is.

    Args:
        root: The table's directory, from `created_files.root_of`.
        commit: What changes. The files that it adds have been written.
        reads: What it depends on.
    Raises:
        CommitConflict: another writer has changed what the commit depends on.
        UncertainCommit: the version may have been written.
        InputError: the table asks of its writers what is not done here, or its log cannot be read or written.
    """
    _check_commit(root, commit, reads)
    isolation, is_blind = reads.isolation, is_blind_append(commit, reads)
    version = least = reads.version
    while True:
        newest = newest_version(root)
        if newest < least:
            raise InputError(f"{root}: its log ends with version {newest}, though version {least} was there")
        for winner in range(version + 1, newest + 1):
            _check_version(root, commit, reads, winner)
        version = newest
        keeps_times = has_commit_times(reads.metadata)
        content = commit_bytes(
            commit,
            now_ms=current_ms(),
            isolation=isolation,
            is_blind_append=is_blind,
            commit_time_ms=commit_time_after(root, version) if keeps_times else None,
        )
        try:
            write_version(root, version + 1, content)
        except LostRace:
            # For each loss another writer has won, so that this ends unless others are faster for ever.
            least = version + 1
            continue
        return version + 1


def _check_commit(root: str, commit: DeltaCommit, reads: TableReads) -> None:
    """Refuse a commit that the table's protocol does not allow."""
    if commit.read_version != reads.version:
        raise InputError(
            f"{root}: the commit is of version {commit.read_version}, and {reads.version} was read"
        )
    protocol, metadata = commit.protocol or reads.protocol, commit.metadata or reads.metadata
    for before_or_after in ((reads.protocol, reads.metadata), (protocol, metadata)):
        check_writable(root, *before_or_after, commit.change, checked=commit.checked_conditions)
    if has_commit_times(metadata) != has_commit_times(reads.metadata):
        raise InputError(f"{root}: the property {IN_COMMIT_TIMESTAMPS} is not changed here")
    if any(file.vector for file in commit.added) and not has_deletion_vectors(protocol):
        raise InputError(
            f"{root}: its protocol knows no deletion vectors; set it with `with_deletion_vectors`"
        )


def _check_version(root: str, commit: DeltaCommit, reads: TableReads, version: int) -> None:
    """Refuse to follow a version that is in conflict with the commit."""
    entry = read_entry(root, version)
    if entry is None:
        cause = "cannot be examined, because its file in the log is gone"
    else:
        cause = conflict(commit, reads, entry) or ""
    if cause:
        raise CommitConflict(
            f"{entry_path(root, version)}: version {version}, written by another writer since version "
            f"{reads.version} was read, {cause}; nothing was changed, run the {commit.operation} again",
            version,
        )
