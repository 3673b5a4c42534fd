"""The commits of a table of Delta Lake or Apache Iceberg: rows changed, and the reads behind them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyroaring import BitMap

# The names under which statements keep in a commit what they have read: its properties in Iceberg's summary
# of the snapshot, and in the `commitInfo` of Delta Lake.
READ_VERSION, READ_PREDICATE = "skipproof.read-version", "skipproof.read-predicate"


@dataclass(frozen=True, kw_only=True)
class TableCommit:
    """One commit of a table.

    Attributes:
        version: The version of Delta Lake, or the id of Iceberg's snapshot, that it has made.
        read_version: The version that its statement has read; None if that is not known.
        predicate: The condition in Spark SQL on the rows that its statement has read; None if that is not
            known.
        removed: The positions of the rows that it has taken out of each file, as its statement saw the file:
            those that another commit has taken out since are among them.
        added: The positions of the rows that it has added, by their files.
    """

    version: int
    read_version: int | None = None
    predicate: str | None = None
    removed: Mapping[str, BitMap] = field(default_factory=dict)
    added: Mapping[str, BitMap] = field(default_factory=dict)
