"""A change of an Iceberg table: the files and rows that a statement removes and adds, and what it read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

# Tells if one of these data files (`DataFile` of PyIceberg) may hold a row that the predicate selects.
MayMatch: TypeAlias = Callable[[Sequence[Any]], bool]


class Isolation(Enum):
    """The strictness with which a statement must have seen what other writers commit meanwhile."""

    SERIALIZABLE = "serializable"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDataFile:
    """A Parquet file that a change adds, with all of the table's columns by field ids or by their names.

    Attributes:
        path: Its address, as it shall be written into the table's metadata.
        beside: A data file of the snapshot that was read, in the same partition; None if `partition` is it.
        spec_id: The partition spec of `partition`; None for a table that is not partitioned.
        partition: The transformed values of the spec's fields in their order, in the form of PyIceberg's
            partition records, as days since 1970.
    """

    path: str
    beside: str | None = None
    spec_id: int | None = None
    partition: tuple[Any, ...] = ()


def _anything(data_files: Sequence[Any]) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class TableChange:
    """The effect of one DELETE, UPDATE or MERGE on the files of a table.

    Attributes:
        read_snapshot: The id of the snapshot that the statement read; None if the table had none.
        schema_id: The id of the schema by which the statement read and wrote.
        removed_files: Data files that leave the table, by their paths in its metadata. Rows of them that stay
            are in `added_files`.
        added_files: Files that enter the table.
        deleted_positions: The positions of deleted rows, counted from a file's first row, by the path of the
            data file in the table's metadata; no file is in `removed_files` too.
        isolation: What is a conflict with commits since `read_snapshot`.
        may_match: False only if no row of the data files is selected by the statement's predicate.
        properties: Further properties of the new snapshot's summary.
    """

    read_snapshot: int | None
    schema_id: int
    removed_files: frozenset[str] = frozenset()
    added_files: tuple[NewDataFile, ...] = ()
    deleted_positions: Mapping[str, Iterable[int]] = field(default_factory=dict)
    isolation: Isolation = Isolation.SERIALIZABLE
    may_match: MayMatch = _anything
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def touched_files(self) -> frozenset[str]:
        """The data files of which rows are removed."""
        return self.removed_files | frozenset(self.deleted_positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedChange:
    """A change that is in the table.

    Attributes:
        snapshot_id: The snapshot that it made.
        metadata_location: The table's metadata file of that moment.
        passed: The snapshots that other writers committed since the statement read the table, newest first.
    """

    snapshot_id: int
    metadata_location: str
    passed: tuple[int, ...]
