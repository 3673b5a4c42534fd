"""The partition values of data files: of columns that are not read from files, and as knowledge of fields."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from pruning.errors import InputError
from pruning.metadata.footers.thrift_lanes import Mask, Numbers
from pruning.metadata.iceberg.equality_deletes import arrow_type_of
from pruning.metadata.iceberg.metadata_files import first_line
from pruning.metadata.iceberg.planned_files import PartitionValues
from pruning.metadata.iceberg.schema_fields import Json
from pruning.metadata.iceberg.snapshot_files import SnapshotFiles, byte_strings
from pruning.metadata.iceberg.table_metadata import PartitionField

_IDENTITY = "identity"
_INT_RANGE = range(-(1 << 31), 1 << 31)
# The types of which partition values have 32 bits.
_SHORT = ("int", "date")
_KEEPING_TYPE = (_IDENTITY, "truncate")


@dataclass(frozen=True, slots=True)
class DataPartitions:
    """The partitions of the data files.

    Attributes:
        files: All files of the snapshot.
        data: The places of the data files among them.
        specs: The partition specs by their ids.
    """

    files: SnapshotFiles
    data: Numbers
    specs: Mapping[int, Sequence[PartitionField]]

    @property
    def spec_ids(self) -> Numbers:
        """The partition specs of the data files."""
        return self.files.spec_ids[self.data]

    def has_identity(self, field: Json) -> Mask:
        """Mark the data files whose spec has a top-level field itself as a partition."""
        with_field = [
            spec_id
            for spec_id, fields in self.specs.items()
            if any(_is_identity(partition, field["id"]) for partition in fields)
        ]
        mask: Mask = np.isin(self.spec_ids, with_field)
        return mask

    def column(self, field: Json, location: str) -> pa.Array:
        """Return the partition values of a field in the data files, in the Arrow type of the field.

        Args:
            field: A field that each data file's spec has as a partition.
            location: The table's location, for the error.

        Raises:
            InputError: a value is of another type.
        """
        try:
            # Each field of a spec has a value in the partitions of the spec, maybe NULL.
            values = [
                next((part[partition.id] for partition in self._identities(spec_id, field["id"])), None)
                for spec_id, part in self.files.partitions
            ]
            array = pa.array(values, arrow_type_of(field["type"]))
        except (pa.ArrowException, KeyError, TypeError, OverflowError) as error:
            raise InputError(
                f"{location}: a partition value of the column {field['name']!r} is no {field['type']} "
                f"({first_line(error)}); restore the table's manifests"
            ) from error
        return array.take(pa.array(self.files.partition_ids[self.data]))

    def _identities(self, spec_id: int, source_id: int) -> list[PartitionField]:
        return [partition for partition in self.specs[spec_id] if _is_identity(partition, source_id)]

    def values_of(self, fields: Mapping[int, str]) -> tuple[PartitionValues, ...]:
        """Return the values of each transform of some fields, for block metadata.

        Args:
            fields: Iceberg's names of the fields' types, by the fields' ids.
        """
        transforms = dict.fromkeys(
            (partition.source_id, partition.transform)
            for spec in self.specs.values()
            for partition in spec
            if partition.source_id in fields
        )
        return tuple(
            self._values_by_transform(source_id, transform, fields[source_id])
            for source_id, transform in transforms
            if source_id is not None
        )

    def _values_by_transform(self, source_id: int, transform: str, stored: str) -> PartitionValues:
        ids = {
            spec_id: partition.id
            for spec_id, spec in self.specs.items()
            for partition in spec
            if (partition.source_id, partition.transform) == (source_id, transform)
        }
        keeps_type = transform.partition("[")[0] in _KEEPING_TYPE
        states, texts = [], []
        for spec_id, partition in self.files.partitions:
            has_value = spec_id in ids and ids[spec_id] in partition
            value = partition[ids[spec_id]] if has_value else None
            states.append(has_value and value is None)
            texts.append(single_value(value, stored if keeps_type else "int"))
        lanes = self.files.partition_ids[self.data]
        return PartitionValues(
            field_id=source_id,
            transform=transform,
            is_null=np.array(states, np.bool_)[lanes],
            values=byte_strings(texts).take(lanes),
        )


def _is_identity(partition: PartitionField, source_id: int) -> bool:
    return partition.source_id == source_id and partition.transform == _IDENTITY


def single_value(value: Any, stored: str) -> bytes | None:
    """Return a value in the form that the specification calls binary single-value serialization.

    Args:
        value: A value as Avro has it; None has no form, and neither has a value of an unknown class.
        stored: Iceberg's name of its type.
    """
    match value:
        case bool():
            return b"\1" if value else b"\0"
        case int():
            is_short = stored in _SHORT and value in _INT_RANGE
            return struct.pack("<i" if is_short else "<q", value)
        case float():
            return struct.pack("<f" if stored == "float" else "<d", value)
        case str():
            return value.encode()
        case Decimal():
            unscaled = int(value.scaleb(-int(value.as_tuple().exponent)))
            return unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
        case UUID():
            return value.bytes
        case bytes():
            return value
        case _:
            return None
