"""Manifests, decoded by PyIceberg and kept in memory as columns: a manifest never changes."""

import io
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pruning.errors import InputError, MissingPackage
from pruning.metadata.footers.thrift_lanes import ABSENT, Numbers
from pruning.metadata.iceberg.metadata_files import first_line, read_location
from pruning.metadata.iceberg.remembered import BoundedMemory

# The contents of files, as manifests number them.
DATA, POSITION_DELETES, EQUALITY_DELETES = range(3)
BOUNDS = ("lower_bounds", "upper_bounds")
# The ids of the fields of manifest lists and of manifests, by Iceberg's specification.
_MANIFEST_PATH, _MANIFEST_LENGTH, _SPEC_ID, _MANIFEST_NUMBER, _LIST_KEY = 500, 501, 502, 515, 519
_STATUS, _FILE, _PARTITION = 0, 2, 102
_ENTRY_FIELDS = {"sequence_number": 3, "file_sequence_number": 4}
_FILE_FIELDS = {
    "content": 134,
    "file_path": 100,
    "file_format": 101,
    "record_count": 103,
    "file_size_in_bytes": 104,
    "key_metadata": 131,
    "equality_ids": 135,
    "referenced_data_file": 143,
    "content_offset": 144,
    "content_size_in_bytes": 145,
}
_METRIC_FIELDS = {
    "column_sizes": 108,
    "value_counts": 109,
    "null_value_counts": 110,
    "nan_value_counts": 137,
    "lower_bounds": 125,
    "upper_bounds": 128,
}
# The status of an entry of a file that was removed.
_REMOVED = 2
# Files with bytes that say how a file is encrypted.
_ENCRYPTED = "{}: names encrypted files, which cannot be read; rewrite the table without encryption"
# Compressed; in memory, the columns of a manifest take about six times as much.
_BYTES_MAX = 64 << 20
# A manifest list is small, and weighs as much as so many bytes of a manifest.
_LIST_BYTES = 1 << 14
# Equal for two partitions of a spec if they are the same to Iceberg.
PartitionKey: TypeAlias = tuple[tuple[int, Any], ...]
_NAN = struct.pack("<d", float("nan"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """An entry of a manifest list."""

    location: str
    byte_count: int
    spec_id: int
    sequence_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricColumn:
    """One kind of metric: for each value its entry, its field and the value itself; shape (values,)."""

    entries: npt.NDArray[np.int32]
    fields: npt.NDArray[np.int32]
    values: pa.Array

    def of_field(self, field_id: int) -> tuple[npt.NDArray[np.int32], pa.Array]:
        """Return the entries that have a value of a field, and these values."""
        places = np.flatnonzero(self.fields == field_id)
        return self.entries[places], self.values.take(pa.array(places))


@dataclass(frozen=True, kw_only=True)
class ManifestColumns:
    """The live entries of a manifest; arrays have the shape (entries,), and ABSENT where there is no number.

    Attributes:
        partition_ids: The places of the entries' partitions in `partitions`.
        partitions: The partition values by the ids of partition fields.
        partition_keys: As `partition_key` gives them.
        sequence_numbers, file_sequence_numbers: ABSENT where they are the manifest's own.
        metrics: By the names that the specification gives them, as "value_counts".
        equality_ids: The fields that a file with equality deletes compares.
        references: The only data file of which a file deletes rows.
        blob_offsets, blob_sizes: The place of a deletion vector in its file.
    """

    contents: Numbers
    paths: tuple[str, ...]
    formats: tuple[str, ...]
    partition_ids: Numbers
    partitions: tuple[Mapping[int, Any], ...]
    partition_keys: tuple[PartitionKey, ...]
    row_counts: Numbers
    byte_counts: Numbers
    sequence_numbers: Numbers
    file_sequence_numbers: Numbers
    metrics: Mapping[str, MetricColumn]
    equality_ids: tuple[tuple[int, ...] | None, ...]
    references: tuple[str | None, ...]
    blob_offsets: Numbers
    blob_sizes: Numbers


# The memory of manifests, by their locations and lengths.
_MANIFESTS: BoundedMemory[ManifestColumns] = BoundedMemory(_BYTES_MAX)
_LISTS: BoundedMemory[tuple[Manifest, ...]] = BoundedMemory(_BYTES_MAX)


def require_pyiceberg() -> None:
    """Check that PyIceberg is installed.

    Raises:
        MissingPackage: it is not.
    """
    try:
        # Importing it is the check.
        import pyiceberg.avro.file  # noqa: F401
    except ImportError as error:
        raise MissingPackage(
            "Tables of Apache Iceberg are read with PyIceberg, which is not installed for this Python: run "
            "`pip install 'skipproof[iceberg]'`."
        ) from error


def manifests_of(manifest_list: str) -> tuple[Manifest, ...]:
    """Return the manifests that a manifest list names.

    Raises:
        InputError: it is missing, damaged or encrypted.
    """
    return _LISTS.content(manifest_list, _LIST_BYTES, lambda: _read_list(manifest_list))


def columns_of(manifest: Manifest) -> ManifestColumns:
    """Return the live entries of a manifest.

    Raises:
        InputError: it is missing, damaged or encrypted.
    """
    key = (manifest.location, manifest.byte_count)
    return _MANIFESTS.content(key, max(1, manifest.byte_count), lambda: _read_manifest(manifest.location))


def partition_key(partition: Mapping[int, Any]) -> PartitionKey:
    """Return a key that two partitions of a spec have in common if Iceberg takes them for the same.

    It takes any two NaN for the same value, and the two zeros for different ones.
    """
    return tuple([(id_, _comparable(value)) for id_, value in sorted(partition.items(), key=itemgetter(0))])


def _comparable(value: Any) -> Any:
    # Python holds that no NaN is equal to another, and that the two zeros are equal.
    if isinstance(value, float):
        return _NAN if value != value else struct.pack("<d", value)
    return value


def _read_list(location: str) -> tuple[Manifest, ...]:
    manifests = []
    for record, value_of in _records(location):
        if value_of(record, _LIST_KEY) is not None:
            raise InputError(_ENCRYPTED.format(location))
        manifests.append(
            Manifest(
                location=value_of(record, _MANIFEST_PATH),
                byte_count=value_of(record, _MANIFEST_LENGTH),
                spec_id=value_of(record, _SPEC_ID),
                # Format version 1 has none, which stands for 0.
                sequence_number=value_of(record, _MANIFEST_NUMBER) or 0,
            )
        )
    return tuple(manifests)


def _read_manifest(location: str) -> ManifestColumns:
    columns = _ColumnsBuilder()
    # Each entry is taken apart at once, because Python's collector is slow with many small objects.
    for record, value_of in _records(location):
        if value_of(record, _STATUS) != _REMOVED:
            columns.add(record, value_of)
    if any(key is not None for key in columns.values["key_metadata"]):
        raise InputError(_ENCRYPTED.format(location))
    return columns.result()


class _ColumnsBuilder:
    """Takes entries apart into columns."""

    def __init__(self) -> None:
        self.values: dict[str, list[Any]] = {name: [] for name in (*_ENTRY_FIELDS, *_FILE_FIELDS)}
        self._metrics = {name: _MetricBuilder() for name in _METRIC_FIELDS}
        self._places: dict[PartitionKey, int] = {}
        self._partitions: list[Mapping[int, Any]] = []
        self._partition_ids: list[int] = []

    def add(self, record: Any, value_of: "_Getter") -> None:
        """Add one entry."""
        for name, id_ in _ENTRY_FIELDS.items():
            self.values[name].append(value_of(record, id_))
        file, value_of_file = value_of(record, _FILE), value_of.inside(_FILE)
        for name, id_ in _FILE_FIELDS.items():
            self.values[name].append(value_of_file(file, id_))
        for name, id_ in _METRIC_FIELDS.items():
            self._metrics[name].add(value_of_file(file, id_))
        values = value_of_file(file, _PARTITION)
        partition = {id_: values[place] for id_, place in value_of_file.inside(_PARTITION).places.items()}
        place = self._places.setdefault(partition_key(partition), len(self._partitions))
        if place == len(self._partitions):
            self._partitions.append(partition)
        self._partition_ids.append(place)

    def result(self) -> ManifestColumns:
        """Return the columns of all entries that were added."""
        values = self.values
        return ManifestColumns(
            # Format version 1 has data files alone.
            contents=_numbers(content or DATA for content in values["content"]),
            paths=tuple(values["file_path"]),
            formats=tuple(name.upper() for name in values["file_format"]),
            partition_ids=_numbers(self._partition_ids),
            partitions=tuple(self._partitions),
            partition_keys=tuple(self._places),
            row_counts=_numbers(values["record_count"]),
            byte_counts=_numbers(values["file_size_in_bytes"]),
            sequence_numbers=_numbers(values["sequence_number"]),
            file_sequence_numbers=_numbers(values["file_sequence_number"]),
            metrics={
                name: metric.result(pa.binary() if name in BOUNDS else pa.int64())
                for name, metric in self._metrics.items()
            },
            equality_ids=tuple(ids and tuple(ids) for ids in values["equality_ids"]),
            references=tuple(values["referenced_data_file"]),
            blob_offsets=_numbers(values["content_offset"]),
            blob_sizes=_numbers(values["content_size_in_bytes"]),
        )


class _MetricBuilder:
    """Takes the maps of one kind of metric apart."""

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._fields: list[int] = []
        self._values: list[Any] = []

    def add(self, values: Mapping[int, Any] | None) -> None:
        """Add the map of one entry."""
        fields = list(values or ())
        self._lengths.append(len(fields))
        if values:
            self._fields += fields
            self._values += values.values() if isinstance(values, dict) else map(values.__getitem__, fields)

    def result(self, type_: pa.DataType) -> MetricColumn:
        """Return the values of all maps, in an Arrow type."""
        return MetricColumn(
            entries=np.repeat(np.arange(len(self._lengths), dtype=np.int32), self._lengths),
            fields=np.array(self._fields, np.int32),
            values=pa.array(self._values, type_),
        )


class _Getter:
    """Gives the values of records of an Iceberg type by the ids of their fields, None where there is none."""

    def __init__(self, struct_type: Any) -> None:
        self.places = {field.field_id: place for place, field in enumerate(struct_type.fields)}
        self._inside = {
            field.field_id: _Getter(field.field_type)
            for field in struct_type.fields
            if hasattr(field.field_type, "fields")
        }

    def __call__(self, record: Any, field_id: int) -> Any:
        place = self.places.get(field_id)
        return None if place is None else record[place]

    def inside(self, field_id: int) -> "_Getter":
        """Return the getter of the records that a field has as its values."""
        return self._inside[field_id]


def _numbers(values: Iterable[int | None]) -> Numbers:
    return np.array([ABSENT if value is None else value for value in values], np.int64)


def _records(location: str) -> Iterator[tuple[Any, _Getter]]:
    """Yield the records of an Avro file, with what gives their values."""
    from pyiceberg.avro.file import AvroFile

    content = read_location(location)
    try:
        with AvroFile(_OpenedContent(content)) as records:
            value_of = _Getter(records.schema)
            for record in records:
                yield record, value_of
    # PyIceberg raises errors of many classes for bytes that are no Avro file of this form.
    except Exception as error:
        raise InputError(
            f"{location}: is no manifest of an Apache Iceberg table ({type(error).__name__}: "
            f"{first_line(error)}); restore it, or open another version"
        ) from error


@dataclass(frozen=True, slots=True)
class _OpenedContent:
    """The bytes of a file, in the form in which PyIceberg opens a file."""

    content: bytes

    def open(self) -> io.BytesIO:
        return io.BytesIO(self.content)
