"""The commits that may follow versions of other writers, and those that may not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

# The package is in the extra `delta`.
pytest.importorskip("pyroaring")
from mutants.metadata.delta_writing import CONFLICT_MUTANTS
from pruning.errors import InputError
from pruning.metadata.delta.commits import DeltaCommit
from pruning.metadata.delta.conflicts import (
    SERIALIZABLE,
    WRITE_SERIALIZABLE,
    TableReads,
    conflict,
    every_file,
    is_blind_append,
    no_file,
)
from pruning.metadata.delta.deletion_vectors import VectorDescriptor
from pruning.metadata.delta.log_actions import (
    AddedFile,
    DeltaMetadata,
    LogEntry,
    TableProtocol,
    TransactionId,
)
from pruning.metadata.delta.writer_protocol import RowChange

PROTOCOL = TableProtocol(reader_version=1, writer_version=2)
VECTOR = VectorDescriptor(
    storage="u", path_or_inline="s%}eS-)v7!HZsdGKHJhi", offset=1, size_bytes=34, cardinality=1
)


def file(path: str, vector: VectorDescriptor | None = None) -> AddedFile:
    return AddedFile(
        path=path,
        partition_values={"p": path[0]},
        size_bytes=1,
        modified_ms=0,
        statistics='{"numRecords":2}',
        vector=vector,
    )


def metadata(isolation: str) -> DeltaMetadata:
    return DeltaMetadata(fields={"configuration": {"delta.isolationLevel": isolation}})


def is_in_first_partition(added: Sequence[AddedFile]) -> bool:
    """The question of a statement about the rows of partition `1`."""
    return any(addition.partition_values["p"] == "1" for addition in added)


READ_NOTHING = {"whole_table": False, "may_match": no_file}
READ_FIRST = {
    "whole_table": False,
    "files": frozenset({"1/a"}),
    "may_match": is_in_first_partition,
}
READ_FILE_ALONE = READ_FIRST | {"may_match": no_file}
NEW_METADATA = metadata("none of these")
# For each commit: what it changes, and what it depends on.
COMMITS = {
    "append": ({"added": (file("1/mine"),)}, READ_NOTHING),
    "append of an application": (
        {"added": (file("1/mine"),), "transactions": (TransactionId(application="a", number=3),)},
        READ_NOTHING,
    ),
    "delete by a condition": ({"removed": (file("1/a").removal(0),)}, READ_FIRST),
    "update by a condition": ({"removed": (file("1/a").removal(0),), "added": (file("1/mine"),)}, READ_FIRST),
    "deletion vector": ({"removed": (file("1/a").removal(0),), "added": (file("1/a", VECTOR),)}, READ_FIRST),
    "compaction": ({"removed": (file("1/a").removal(0),), "added": (file("1/mine"),)}, READ_FILE_ALONE),
    "rewriting of all rows": ({"removed": (file("1/a").removal(0),)}, {"whole_table": True}),
    "new properties": ({"metadata": NEW_METADATA}, READ_NOTHING),
    "new schema and rows": ({"metadata": NEW_METADATA, "added": (file("1/mine"),)}, {"whole_table": True}),
    "reading of an application": ({"added": (file("2/mine"),)}, READ_NOTHING | {"applications": {"a"}}),
}
BLIND = {"isBlindAppend": True}
VERSIONS = {
    "A": LogEntry(version=2, added=(file("1/new"),), commit_info=BLIND),
    "B": LogEntry(version=2, added=(file("2/new"),), commit_info=BLIND),
    "C": LogEntry(version=2, added=(file("1/new"),), commit_info={"isBlindAppend": False}),
    "D": LogEntry(version=2, added=(file("2/new"),)),
    "1": LogEntry(version=2, removed=(file("1/a").removal(0),)),
    "2": LogEntry(version=2, removed=(file("2/a").removal(0),)),
    "V": LogEntry(version=2, removed=(file("1/a").removal(0),), added=(file("1/a", VECTOR),)),
    "W": LogEntry(version=2, removed=(file("2/a").removal(0),), added=(file("2/a", VECTOR),)),
    "M": LogEntry(version=2, metadata=metadata(SERIALIZABLE)),
    "P": LogEntry(version=2, protocol=PROTOCOL),
    "X": LogEntry(version=2, transactions=(TransactionId(application="a", number=4),)),
    "Y": LogEntry(version=2, transactions=(TransactionId(application="b", number=4),)),
    "N": LogEntry(version=2),
}
# For each commit and version: `x` in conflict, `s` if the table is serializable, `.` never.
#   A, B   files were added without reading the table, which may match or not
#   C, D   files were added after reading it, or perhaps after that
#   1, 2   a file that matches was removed, or another
#   V, W   rows were deleted in a file that matches, or in another
#   M, P   the metadata changed, the protocol changed
#   X, Y   progress of the application, of another
#   N      nothing changed
CONFLICTS = """
                             ABCD12VWMPXYN
append                       ........xx...
append of an application     ........xxx..
delete by a condition        s.x.x.x.xx...
update by a condition        s.x.x.x.xx...
deletion vector              s.x.x.x.xx...
compaction                   ....x.x.xx...
rewriting of all rows        ssxxxxxxxx...
new properties               ........xx...
new schema and rows          xxxxxxxxxx...
reading of an application    ........xxx..
"""


def reads_of(isolation: str, options: dict[str, object]) -> TableReads:
    # The options are checked by the class itself.
    return TableReads(version=1, protocol=PROTOCOL, metadata=metadata(isolation), **options)  # type: ignore[arg-type]


def conflicts_table() -> str:
    """Return the table of conflicts as they are found."""
    lines = ["", " " * 29 + "".join(VERSIONS)]
    for name, (changes, options) in COMMITS.items():
        # The fields of a commit have different types.
        commit = DeltaCommit(operation="X", change=RowChange.UPDATE, read_version=1, **changes)  # type: ignore[arg-type]
        signs = ""
        for entry in VERSIONS.values():
            strict, loose = (
                conflict(commit, reads_of(isolation, options), entry) is not None
                for isolation in (SERIALIZABLE, WRITE_SERIALIZABLE)
            )
            assert strict or not loose
            signs += "x" if loose else "s" if strict else "."
        lines.append(f"{name:29}{signs}")
    return "\n".join([*lines, ""])


def check_conflicts() -> None:
    assert conflicts_table() == CONFLICTS


def test_conflicts_are_those_of_the_table() -> None:
    """COMMIT-3."""
    check_conflicts()


def test_files_are_compared_however_they_are_spelled() -> None:
    """An absolute path may be any file of its last name."""
    removed = [file(path).removal(0) for path in ("p=a%20b/f", "p=c/../p=a b/f", "s3://lake/t/x/f", "/t/f")]
    for other in removed:
        commit = DeltaCommit(
            operation="DELETE", change=RowChange.DELETE, read_version=1, removed=(file("p=a b/f").removal(0),)
        )
        entry = LogEntry(version=2, removed=(other,))
        reads = reads_of(SERIALIZABLE, READ_NOTHING)
        assert conflict(commit, reads, entry) == "removed p=a b/f, which this commit removes", other.path
    commit = replace(commit, removed=(file("p=d/f").removal(0),))
    assert conflict(commit, reads, LogEntry(version=2, removed=(removed[0],))) is None
    same = LogEntry(version=2, added=(file("p=d/f"),), commit_info=BLIND)
    assert conflict(commit, reads, same) == "changed p=d/f, which this commit adds or removes"


def test_only_an_append_that_read_nothing_is_blind() -> None:
    """Other writers may put it after theirs."""
    append = DeltaCommit(operation="WRITE", change=RowChange.INSERT, read_version=1, added=(file("1/mine"),))
    assert is_blind_append(append, reads_of(SERIALIZABLE, READ_NOTHING))
    for options in (READ_FIRST, READ_FILE_ALONE, {}, {"whole_table": False, "may_match": every_file}):
        assert not is_blind_append(append, reads_of(SERIALIZABLE, options))
    changed = replace(append, change=RowChange.UPDATE, removed=(file("1/a").removal(0),))
    assert not is_blind_append(changed, reads_of(SERIALIZABLE, READ_NOTHING))


def test_an_isolation_level_that_is_none_is_refused() -> None:
    """Its name may be in any letter case."""
    assert reads_of("serializable", {}).isolation == SERIALIZABLE
    assert TableReads(version=1, protocol=PROTOCOL, metadata=DeltaMetadata(fields={})).isolation == (
        WRITE_SERIALIZABLE
    )
    with pytest.raises(InputError, match="is 'Snapshot', which is no isolation level of Delta"):
        _ = reads_of("Snapshot", {}).isolation


def test_commits_that_the_protocol_forbids_are_refused() -> None:
    """Of each file there is one removal and one addition, and these differ in the deletion vector."""
    for changes, message in (
        ({"added": (file("a%20b"), file("a b"))}, "two actions of a file"),
        ({"removed": (file("a").removal(0),) * 2}, "two actions of a file"),
        ({"transactions": (TransactionId(application="a", number=1),) * 2}, "or of an application"),
        ({"added": (file("a"),), "removed": (file("a").removal(0),)}, "removes a and adds it as it was"),
        ({"change": RowChange.NONE, "added": (file("a"),)}, "change rows in other ways than RowChange.NONE"),
        (
            {"change": RowChange.INSERT, "removed": (file("a").removal(0),)},
            "in other ways than RowChange.INSERT",
        ),
        ({"added": (replace(file("a", VECTOR), statistics="{}"),)}, "do not say how many rows"),
        ({"added": (replace(file("a", VECTOR), statistics="?"),)}, "do not say how many rows"),
    ):
        with pytest.raises(InputError, match=message):
            # The fields of a commit have different types.
            DeltaCommit(**{"operation": "X", "change": RowChange.UPDATE, "read_version": 1, **changes})  # type: ignore[arg-type]
    moved = replace(file("a"), data_change=False)
    DeltaCommit(operation="OPTIMIZE", change=RowChange.NONE, read_version=1, added=(moved,))


@pytest.mark.parametrize("mutant", CONFLICT_MUTANTS)
def test_a_mutant_of_conflicts_is_found_out(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*CONFLICT_MUTANTS[mutant])
    spelled_apart = mutant == "files are the same if spelled alike"
    check = test_files_are_compared_however_they_are_spelled if spelled_apart else check_conflicts
    with pytest.raises(AssertionError):
        check()
