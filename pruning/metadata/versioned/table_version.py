"""One version of a table of Delta Lake or Apache Iceberg: its files, and how their rows become the table's.

Both formats are read into this one form, and the DataFrame over a version is made from it alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa

from pruning.metadata.footers.thrift_lanes import Mask, Numbers

if TYPE_CHECKING:
    # It is in an extra, and what knows the form of a version need not have one.
    from pyroaring import BitMap

# Gives block metadata of the files, a block for each in their order, of these top-level columns of the table.
BlocksOf: TypeAlias = Callable[[frozenset[str]], pa.Table]
# Of `EqualityDeletes.rows`: the columns beside the table's, and the partition that stands for all.
SEQUENCE, PARTITION = "`sequence", "`partition"
EVERY_PARTITION = -1


@dataclass(frozen=True, kw_only=True)
class VersionFiles:
    """The data files of a version; arrays have the shape (files,).

    Attributes:
        paths: Their URIs or absolute paths, without escapes, as Hadoop's `Path` takes them; none is twice.
        byte_counts: Their sizes.
        modified_ms: Their times, ms since 1970; 0 where the format does not keep them.
        layouts: The place of each file's layout among `TableVersion.layouts`.
        partition_values: The values of the version's partition columns, in Arrow types of the columns'.
        sequence_numbers: Iceberg's data sequence numbers; 0 where the format has none.
        partition_ids: A number for each partition, which two files have in common if they are in the same
            partition of the same partition spec.
    """

    paths: tuple[str, ...]
    byte_counts: Numbers
    modified_ms: Numbers
    layouts: Numbers
    partition_values: pa.Table
    sequence_numbers: Numbers
    partition_ids: Numbers


class DeletedRows(Protocol):
    """The rows of data files that were deleted by their positions."""

    @property
    def mask(self) -> Mask:
        """True for files of which rows may be deleted; shape (files,)."""

    def positions(self, places: Sequence[int]) -> "list[BitMap]":
        """Return the positions of deleted rows in the files at these places, counted from a file's first row.

        Raises:
            InputError: a file that lists deleted rows is missing or damaged, or rows beyond the first
                2^31 are deleted.
        """


@dataclass(frozen=True, kw_only=True)
class EqualityDeletes:
    """Rows that are deleted because some columns have given values.

    A row of a data file is deleted if for some row of `rows` its values of the columns are the same, NULL
    being the same as NULL; the file's sequence number is less than that in `SEQUENCE`; and its partition's
    number is that in `PARTITION`, or this is `EVERY_PARTITION`.

    Attributes:
        columns: The table's columns that are compared; fields of structs have more than one part.
        rows: A column for each of these, named by its place ("0", "1", ...), `SEQUENCE` and `PARTITION`.
    """

    columns: tuple[tuple[str, ...], ...]
    rows: pa.Table


@dataclass(frozen=True, kw_only=True, eq=False)
class TableVersion:
    """One version of a table.

    Attributes:
        format: "Delta Lake" or "Apache Iceberg".
        location: The table's directory.
        version: The version of Delta Lake, or the id of Iceberg's snapshot; None if the table has none yet.
        schema: The table's columns, a `StructType` of Spark as JSON.
        partition_columns: The columns whose values are not in the files; top-level ones.
        layouts: For each layout of data files, the columns in the files: a `StructType` of Spark as JSON. It
            has as many fields as the table has columns that are no partition columns, in their order; each
            may have other names, also inside, and a narrower type. A column that the files lack is NULL, or
            has the value of the key `EXISTS_DEFAULT` in the field's metadata, which no other field has.
        files: The data files.
        deleted_rows: Rows deleted by position.
        equality_deletes: Rows deleted by their values.
        blocks: The block metadata of the files, under the same names as their paths. `row_count` is the
            number of live rows, or an upper bound of it in blocks that the field `rows_deleted` marks.
        notes: Sentences that a reader of the table should know.
        widened: The columns of which some files may have a narrower type than their layout says.
    """

    format: str
    location: str
    version: int | None
    schema: str
    partition_columns: tuple[str, ...]
    layouts: tuple[str, ...]
    files: VersionFiles
    deleted_rows: DeletedRows
    equality_deletes: tuple[EqualityDeletes, ...]
    blocks: BlocksOf
    notes: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
