"""Block metadata of files as Spark reads them: partition columns with their values, and narrower types."""

import decimal
from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.footers.thrift_lanes import Numbers
from pruning.metadata.table.partial import with_columns_read
from pruning.metadata.table.schema import arrow_type, column_types
from pruning.metadata.table.structs import field_of, make_struct, whole
from pruning.metadata.versioned.table_version import TableVersion
from pruning.metadata.views.constant_columns import with_constants

_EXACT = decimal.Context(prec=40, traps=[decimal.Inexact])
_INTEGERS = frozenset({Kind.BYTE, Kind.SHORT, Kind.INTEGER, Kind.LONG})


def layout_blocks(
    version: TableVersion, places: Numbers, names: frozenset[str], types: Mapping[str, Type]
) -> pa.Table:
    """Return block metadata of some files of a version that have one layout.

    Args:
        version: The version.
        places: The places of the files.
        names: The table's top-level columns that are wanted.
        types: The types as which Spark reads the columns of the files.
    """
    blocks = version.blocks(names)
    if len(places) < len(blocks):
        blocks = blocks.take(pa.array(places))
    for name in version.partition_columns:
        if name in names and name not in column_types(blocks):
            blocks = _with_partition_values(
                blocks, version.files.partition_values[name], places, name, types[name]
            )
    return with_columns_read(_with_narrower_bounds(blocks, types), names)


def _with_partition_values(
    blocks: pa.Table, values: pa.ChunkedArray, places: Numbers, name: str, type_: Type
) -> pa.Table:
    """Return block metadata with a partition column; unchanged where Arrow cannot hold a value."""
    if not type_.has_bounds:
        return blocks
    try:
        return with_constants(blocks, name, type_, _values(values.take(pa.array(places))))
    except InputError:
        return blocks


def _values(values: pa.ChunkedArray) -> list[Value | None]:
    """Return values as `pruning.expressions.types` holds them."""
    type_ = values.type
    if pa.types.is_timestamp(type_):
        values = values.cast(pa.timestamp("us", type_.tz)).cast(pa.int64())
    elif pa.types.is_date32(type_):
        values = values.cast(pa.int32())
    elif pa.types.is_string(type_) or pa.types.is_large_string(type_):
        values = values.cast(pa.binary())
    result: list[Value | None] = values.to_pylist()
    return result


def _with_narrower_bounds(blocks: pa.Table, types: Mapping[str, Type]) -> pa.Table:
    """Return block metadata whose bounds have the types as which Spark reads the files, if they are narrower.

    Claim     The bounds that are returned bound the values that are read.
    Premises  The metadata bounds the table's values; the table's value is the one that is read, in a wider
              type.
    Proof     (1) The wider type has each value of the narrower one, in the same order.
              (2) So a bound that is a value of the narrower type bounds there what it bounds in the wider
                  one.
              (3) Any other bound is left out.
    Unsound   if a bound were rounded to the narrower type: a minimum might be rounded up.
    """
    columns = whole(blocks.column("columns"))
    fields = {field.name: field_of(columns, field.name) for field in columns.type}
    changed = False
    for name, stored in column_types(blocks).items():
        read = types.get(name)
        if read is not None and stored != read and _is_wider(stored, read):
            fields[name] = _with_bounds_of(fields[name], read)
            changed = True
    if not changed:
        return blocks
    place = blocks.schema.get_field_index("columns")
    return blocks.set_column(place, "columns", make_struct(fields, len(blocks)))


def _is_wider(stored: Type, read: Type) -> bool:
    """Tell whether a type has each value of another one, in the same order."""
    if {stored.kind, read.kind} <= _INTEGERS:
        assert stored.integer_range is not None
        assert read.integer_range is not None
        return stored.integer_range[1] > read.integer_range[1]
    if stored.kind is Kind.DECIMAL and read.kind is Kind.DECIMAL:
        return stored.scale == read.scale and stored.precision > read.precision
    return stored.kind is Kind.DOUBLE and read.kind is Kind.FLOAT


def _with_bounds_of(facts: pa.StructArray, type_: Type) -> pa.StructArray:
    lanes = {field.name: field_of(facts, field.name) for field in facts.type}
    for side in ("min", "max"):
        lanes[side] = _exactly(lanes[side], arrow_type(type_))
        lanes[f"{side}_exact"] = pc.if_else(pc.is_valid(lanes[side]), lanes[f"{side}_exact"], False)
    return pa.StructArray.from_arrays(list(lanes.values()), names=list(lanes))


def _exactly(bounds: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return the bounds that are values of a narrower type, NULL in the place of the others."""
    if pa.types.is_decimal(type_):
        # The greatest value of the narrower type.
        most = Decimal(10**type_.precision - 1).scaleb(-type_.scale, _EXACT)
        inside = pc.and_(
            pc.less_equal(bounds, pa.scalar(most, bounds.type)),
            pc.greater_equal(bounds, pa.scalar(-most, bounds.type)),
        )
        return pc.if_else(inside, bounds, pa.scalar(None, bounds.type)).cast(type_)
    narrow = bounds.cast(type_, safe=False)
    return pc.if_else(pc.equal(narrow.cast(bounds.type), bounds), narrow, pa.scalar(None, type_))
