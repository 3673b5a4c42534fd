"""Knowledge about a field's values from the partition value of each file."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa

from pruning.expressions import types
from pruning.expressions.types import Kind
from pruning.metadata.footers.chunk_facts import without
from pruning.metadata.footers.thrift_lanes import Mask, Numbers
from pruning.metadata.iceberg.bounds import decode_values
from pruning.metadata.iceberg.fields import IcebergField
from pruning.metadata.iceberg.planned_files import PartitionValues
from pruning.metadata.table.schema import arrow_type
from pruning.rules.sets.primitives import prefix_end

_IDENTITY = "identity"
_TRUNCATE = re.compile(r"truncate\[(\d+)\]")
# The units of time that transforms count since 1970, as numpy names them. The starts of units nearer than
# this many years to 1970 are days of 32 bits, and microseconds of 64.
_UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_YEARS_MAX = 200_000
_UNITS_IN_YEAR = {"year": 1, "month": 12, "day": 365, "hour": 365 * 24}
# Enough digits for any decimal.
_WIDE = Context(prec=80)
_INTEGER = IcebergField(id=0, stored="int", type=types.INTEGER)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionKnowledge:
    """The knowledge about one field from partition values; arrays have the shape (files,).

    Attributes:
        lower, upper: Bounds of all values; NULL where there is none.
        is_null: True where all rows are NULL.
        is_value: True where no row is NULL.
        is_constant: True where all rows have the value of the partition, so that metrics do not matter.
    """

    lower: pa.Array
    upper: pa.Array
    is_null: Mask
    is_value: Mask
    is_constant: Mask


def partition_knowledge(partition: PartitionValues, field: IcebergField) -> PartitionKnowledge | None:
    """Return the knowledge from the values of one transform; None for a transform that gives none.

    Claim     Each row of a file has a value within the bounds, and NULL or not as the masks say.
    Premises  Each row of a file gives the file's partition value by the transform, and of an identity
              transform Iceberg reads the partition value itself.
    Proof     (1) These transforms give NULL for NULL alone.
              (2) Iceberg reads the value of an identity transform for each row.
              (3) Truncated to W: an integer v gives v - (v mod W); a text its first W characters, or itself
              where it is shorter.
              (4) A time transform counts the units before the one that a value lies in.
    Unsound   for integers of which v - (v mod W) overflows: a value that is no multiple of W gives nothing;
              and for times before 1970, which early releases of Iceberg put into the next unit: the unit
              before counts, too.
    """
    bounds_of = _bounds_of(partition.transform, field)
    if bounds_of is None:
        return None
    lower, upper = bounds_of(partition, field)
    is_constant = np.full(len(partition.is_null), partition.transform == _IDENTITY)
    present = partition.values.present
    return PartitionKnowledge(
        lower=lower,
        upper=upper,
        is_null=partition.is_null,  # (1)
        is_value=present,
        is_constant=is_constant & (present | partition.is_null),
    )


_Bounds = Callable[[PartitionValues, IcebergField], tuple[pa.Array, pa.Array]]


def _bounds_of(transform: str, field: IcebergField) -> _Bounds | None:
    if transform == _IDENTITY:
        return _identity_bounds
    if _TRUNCATE.fullmatch(transform):
        return _truncated_bounds
    is_instant = field.type.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ)
    if transform in _UNITS and (is_instant or (field.type.kind is Kind.DATE and transform != "hour")):
        return _time_bounds
    return None


def _identity_bounds(partition: PartitionValues, field: IcebergField) -> tuple[pa.Array, pa.Array]:
    values = decode_values(partition.values, field)  # (2)
    return values, values


def _truncated_bounds(partition: PartitionValues, field: IcebergField) -> tuple[pa.Array, pa.Array]:
    match = _TRUNCATE.fullmatch(partition.transform)
    assert match is not None
    width, bound = int(match[1]), arrow_type(field.type)
    values = decode_values(partition.values, field)
    ranges = [_truncated_range(value, width, field) for value in values.to_pylist()]
    return tuple(pa.array(side, bound) for side in zip(*ranges, strict=True)) if ranges else (values, values)


def _truncated_range(value: object, width: int, field: IcebergField) -> tuple[object, object]:
    """Return the least and greatest value that is truncated to a value; None where nothing is known."""
    if isinstance(value, int) and field.type.integer_range is not None and value % width == 0:
        return value, min(value + width - 1, field.type.integer_range[1])  # (3)
    if isinstance(value, Decimal):
        unscaled = int(value.scaleb(field.type.scale, context=_WIDE))
        if unscaled % width == 0:
            most = min(unscaled + width - 1, 10**field.type.precision - 1)
            return value, Decimal(most).scaleb(-field.type.scale, context=_WIDE)
    if isinstance(value, str):
        # Shorter by any way to count characters.
        is_whole = len(value.encode("utf-16-le")) // 2 < width
        return value, value if is_whole else _text_end(value)
    return None, None


def _text_end(prefix: str) -> str | None:
    """Return a text above all that start with a prefix; None if no such text is at hand."""
    end = prefix_end(prefix.encode())
    try:
        return None if end is None else end.decode()
    except UnicodeDecodeError:
        return None


def _time_bounds(partition: PartitionValues, field: IcebergField) -> tuple[pa.Array, pa.Array]:
    transform, bound = partition.transform, arrow_type(field.type)
    values = decode_values(partition.values, _INTEGER)
    units = values.fill_null(0).to_numpy().astype(np.int64)
    is_far = np.abs(units) > _YEARS_MAX * _UNITS_IN_YEAR[transform]
    units = np.where(is_far, 0, units)
    resolution = "D" if field.type.kind is Kind.DATE else "us"
    lower = _starts(units - (units <= 0), transform, resolution)  # (4), before 1970
    upper = _starts(units + 1, transform, resolution) - 1  # (4)
    is_unknown = is_far | values.is_null().to_numpy(zero_copy_only=False)
    layout = np.int32 if resolution == "D" else np.int64
    return tuple(without(pa.array(side.astype(layout)).view(bound), is_unknown) for side in (lower, upper))


def _starts(units: Numbers, transform: str, resolution: str) -> Numbers:
    """Return the first day or microsecond of each unit since 1970."""
    times = units.astype(f"M8[{_UNITS[transform]}]").astype(f"M8[{resolution}]")
    starts: Numbers = times.astype(np.int64)
    return starts
