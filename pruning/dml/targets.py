"""Tables that statements change: the version that is read, and the commit of what changes."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyroaring import BitMap
from pyspark.sql import SparkSession

from pruning.dml.changed_rows import WrittenFile
from pruning.errors import InputError
from pruning.metadata.versioned.table_version import TableVersion
from pruning.techniques.dml.rewriting import Then

# The codecs that tables ask for and that each Spark can write, by their names in Spark.
_CODECS = {"none": "none", "uncompressed": "none", "snappy": "snappy", "gzip": "gzip", "zstd": "zstd"}


def spark_codec(name: str | None) -> str | None:
    """Return the name that Spark has for a codec of Parquet; None for one that it may not have."""
    return None if name is None else _CODECS.get(name.strip().lower())


class StatementConflict(InputError):
    """Another writer has changed what a statement has read; the table was not changed by the statement."""


class UncertainStatement(InputError):
    """A statement may or may not have changed the table; the message tells how to find out."""


class Statement(enum.Enum):
    """The kind of a statement."""

    DELETE = "DELETE"
    UPDATE = "UPDATE"
    MERGE = "MERGE"


class WriteMode(enum.Enum):
    """The way in which rows leave a file of which other rows stay: by a new file, or by their positions."""

    COPY_ON_WRITE = "copy-on-write"
    MERGE_ON_READ = "merge-on-read"


@dataclass(frozen=True, kw_only=True)
class StatementChange:
    """The files and rows that a statement changes in the version that it has read.

    Attributes:
        statement: Its kind.
        effects: What its clauses may do to rows.
        condition: The condition in Spark SQL on the rows that it depends on.
        directory: The directory of new files, from `Target.new_directory`.
        read: The places of all files that may have such rows.
        removed: The places of the files that leave the table.
        deleted: The positions of the rows that leave the other files, by the places of these.
        written: The files that enter the table.
        partitions: For the groups of written files: the place of a file in the same partition, or the values
            of the partition sources that all their rows have.
    """

    statement: Statement
    effects: frozenset[Then]
    condition: str
    directory: str
    read: tuple[int, ...]
    removed: tuple[int, ...] = ()
    deleted: Mapping[int, BitMap] = field(default_factory=dict)
    written: tuple[WrittenFile, ...] = ()
    partitions: Mapping[int, int | Mapping[str, Any]] = field(default_factory=dict)


class Target(Protocol):
    """A table at the version that a statement reads."""

    @property
    def version(self) -> TableVersion:
        """The version."""

    @property
    def file_fields(self) -> str:
        """The columns in new files, a `StructType` of Spark as JSON."""

    @property
    def file_columns(self) -> tuple[str, ...]:
        """The table's columns that these have, in their order."""

    @property
    def partition_sources(self) -> tuple[str, ...]:
        """The top-level columns that decide which partition a new row is in."""

    @property
    def placing_columns(self) -> tuple[str, ...]:
        """The top-level columns that decide which partition a row of any file is in."""

    @property
    def row_conditions(self) -> tuple[str, ...]:
        """The conditions in Spark SQL that must be TRUE on each new row."""

    @property
    def compression(self) -> str | None:
        """The codec of new files by its name in Spark; None where the table asks for none that is known."""

    def default_mode(self, statement: Statement) -> WriteMode:
        """Return the mode that the table's properties ask for."""

    def check(self, statement: Statement, effects: frozenset[Then], mode: WriteMode) -> None:
        """Refuse a statement that the table does not allow, before anything is read.

        Args:
            statement: Its kind.
            effects: What its clauses may do to rows.
            mode: The way in which rows leave files.
        Raises:
            InputError: as the first line says.
        """

    def has_row_count(self, place: int) -> bool:
        """Tell whether positions of a file's rows can be deleted: the number of its rows is known."""

    def new_directory(self) -> str:
        """Return the path or URI of a directory for new files, which is not there yet."""

    def commit(self, spark: SparkSession, change: StatementChange) -> int:
        """Commit a change as the table's next version, and return that.

        Raises:
            StatementConflict: another writer has changed what the statement has read.
            UncertainStatement: the change may have been committed.
            InputError: the table cannot be written, and was not.
        """
