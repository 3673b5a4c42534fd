"""The facts about planned data files, as the class `IcebergFacts` writes them for many files at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pruning.metadata.footers.chunk_facts import ByteStrings
from pruning.metadata.footers.thrift_lanes import ABSENT, PADDING, Numbers

# The state of a partition value that is NULL.
_NULL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldMetrics:
    """The metrics of one field, a lane per file; a number is ABSENT where the file's metadata has none.

    They are of the rows as they were written: rows that were deleted since count, too.

    Attributes:
        value_counts: The values, NULL and NaN among them.
        byte_counts: The compressed bytes.
    """

    value_counts: Numbers
    null_counts: Numbers
    nan_counts: Numbers
    byte_counts: Numbers
    lower: ByteStrings
    upper: ByteStrings


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionValues:
    """The values of one transform of a source field, a lane per file.

    Attributes:
        field_id: The source field.
        transform: Iceberg's name of the transform, such as "truncate[4]".
        is_null: True where the partition value is NULL.
        values: The other values, in Iceberg's form of single values. A file whose partition spec has no such
            transform has none.
    """

    field_id: int
    transform: str
    is_null: np.ndarray
    values: ByteStrings


@dataclass(frozen=True, kw_only=True)
class PlannedFiles:
    """The data files that Iceberg has planned for a scan; arrays have the shape (files,).

    Attributes:
        files: Their locations.
        row_counts: The rows that were written; negative where the writer did not know.
        live_counts: The rows that are not deleted; ABSENT where the number is not known.
        byte_counts: Their sizes.
        schema_ids: The table's schema when the file was added; ABSENT where that is not known.
        schema_fields: The ids of all fields of each schema, by its id.
        metrics: By the field's id.
        total_files: The data files of the snapshot, planned or not; ABSENT where its manifests do not say.
        has_name_mapping: True if files without field ids are read by the names of their columns.
    """

    files: tuple[str, ...]
    row_counts: Numbers
    live_counts: Numbers
    byte_counts: Numbers
    schema_ids: Numbers
    schema_fields: Mapping[int, frozenset[int]] = field(default_factory=dict)
    metrics: Mapping[int, FieldMetrics] = field(default_factory=dict)
    partitions: tuple[PartitionValues, ...] = ()
    total_files: int = ABSENT
    has_name_mapping: bool = False


def read_facts(answer: bytes) -> PlannedFiles:
    """Return the planned files from the bytes that `IcebergFacts.facts` gives."""
    reader = _Reader(answer + PADDING)
    count = reader.integer("i4")
    total_files, has_name_mapping = reader.integer("i8"), bool(reader.integer("u1"))
    files = tuple(text.decode() for text in reader.texts(count).to_arrow().to_pylist())
    row_counts = reader.array("i8", count)
    live_counts, byte_counts, schema_ids = (reader.numbers(count) for _ in range(3))
    return PlannedFiles(
        files=files,
        row_counts=row_counts,
        live_counts=live_counts,
        byte_counts=byte_counts,
        schema_ids=schema_ids,
        schema_fields=dict(reader.schema() for _ in range(reader.integer("i4"))),
        metrics=dict(reader.metrics(count) for _ in range(reader.integer("i4"))),
        partitions=tuple(reader.partition(count) for _ in range(reader.integer("i4"))),
        total_files=ABSENT if total_files < 0 else total_files,
        has_name_mapping=has_name_mapping,
    )


@dataclass(slots=True)
class _Reader:
    """Reads Java's big-endian numbers one after the other."""

    buffer: bytes
    position: int = 0

    def array(self, layout: str, count: int) -> np.ndarray[Any, Any]:
        """Return so many numbers of a numpy layout, as 64-bit integers."""
        values = np.frombuffer(self.buffer, f">{layout}", count, self.position)
        self.position += values.nbytes
        return values.astype(np.int64)

    def integer(self, layout: str) -> int:
        return int(self.array(layout, 1)[0])

    def numbers(self, count: int) -> Numbers:
        """Return so many numbers; a negative one stands for ABSENT."""
        values = self.array("i8", count)
        return np.where(values < 0, ABSENT, values)

    def texts(self, count: int) -> ByteStrings:
        sizes = self.numbers(count)
        lengths = np.maximum(sizes, 0)
        starts = self.position + np.cumsum(lengths) - lengths
        self.position += int(lengths.sum())
        return ByteStrings(self.buffer, starts, sizes)

    def schema(self) -> tuple[int, frozenset[int]]:
        schema_id = self.integer("i4")
        return schema_id, frozenset(self.array("i4", self.integer("i4")).tolist())

    def metrics(self, count: int) -> tuple[int, FieldMetrics]:
        return self.integer("i4"), FieldMetrics(
            value_counts=self.numbers(count),
            null_counts=self.numbers(count),
            nan_counts=self.numbers(count),
            byte_counts=self.numbers(count),
            lower=self.texts(count),
            upper=self.texts(count),
        )

    def partition(self, count: int) -> PartitionValues:
        field_id = self.integer("i4")
        (transform,) = self.texts(1).to_arrow().to_pylist()
        states = self.array("u1", count)
        return PartitionValues(
            field_id=field_id,
            transform=transform.decode(),
            is_null=states == _NULL,
            values=self.texts(count),
        )
