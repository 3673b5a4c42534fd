"""The optional field `memberships` of block metadata, which describes the values of indexed columns.

It is a sibling of `columns` and has a struct per indexed column, by its exact name. Each part may be
null, which means unknown; the other parts can only prove that a value is *not* in the block.

============  ===============================  ===================================================
field         type                             meaning
============  ===============================  ===================================================
dictionary    list of coded values             all values of the block, maybe others too
filter        large_binary                     a split-block bloom filter over the values
filter_of     coded string                     the encoding of the values before hashing
bucket        int64                            each value's hash is `bucket` modulo `modulus`
modulus       int64
rare          list of coded values             all values of the block that are not in `frequent`
frequent      coded large_binary               the values that many blocks hold, as an Arrow stream
============  ===============================  ===================================================

*Values* are neither NULL nor NaN; 0.0 stands for -0.0 too. *Coded* values have Arrow's dictionary type,
with one dictionary for all blocks of a table.
"""

from collections.abc import Iterable

import pyarrow as pa

from pruning.expressions.types import INTEGRAL_BITS, Type
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.locators import LOCATORS, locator_rows
from pruning.metadata.table.schema import arrow_type, column_types, sql_type
from pruning.metadata.table.structs import field_of, make_struct, whole

FIELD = "memberships"


def membership_fields(type_: Type) -> pa.StructType:
    """Return the struct type for the memberships of one column of type `type_`."""
    values = pa.list_(pa.dictionary(pa.int32(), arrow_type(type_)))
    return pa.struct(
        [
            ("dictionary", values),
            ("filter", pa.large_binary()),
            ("filter_of", pa.dictionary(pa.int32(), pa.string())),
            ("bucket", pa.int64()),
            ("modulus", pa.int64()),
            ("rare", values),
            ("frequent", pa.dictionary(pa.int32(), pa.large_binary())),
        ]
    )


def value_type(struct: pa.StructType) -> Type:
    """Return the SQL type of the values that such a struct describes."""
    return sql_type(struct.field("dictionary").type.value_type.value_type)


def is_compatible(stored: Type, wanted: Type) -> bool:
    """Tell whether values can be looked for among stored ones: the same type, or stored narrower integers."""
    if stored == wanted:
        return stored.has_bounds
    return stored.integral and wanted.integral and INTEGRAL_BITS[stored.kind] < INTEGRAL_BITS[wanted.kind]


def indexed_columns(metadata: pa.Table) -> frozenset[str]:
    """Return the columns with memberships, for which a program may use `Aspect.MAY_HOLD`."""
    if FIELD not in metadata.schema.names:
        return frozenset()
    types = column_types(metadata)
    return frozenset(
        field.name
        for field in metadata.schema.field(FIELD).type
        if field.name in types and is_compatible(value_type(field.type), types[field.name])
    )


def without_column(metadata: pa.Table, name: str) -> pa.Table:
    """Return the metadata without the memberships of a column, because another one takes its name."""
    if FIELD not in metadata.schema.names:
        return metadata
    place = metadata.schema.get_field_index(FIELD)
    memberships = whole(metadata.column(FIELD))
    kept = {field.name: field_of(memberships, field.name) for field in memberships.type if field.name != name}
    return metadata.set_column(place, FIELD, make_struct(kept, len(memberships)))


def attach(metadata: pa.Table, parts: Iterable[Shard]) -> pa.Table:
    """Return the metadata with the memberships of its blocks, matched by file and row group.

    Args:
        metadata: Block metadata without the field.
        parts: Tables with the locators `file`, `row_group` and `row_count`, and the field. A block with
            another number of rows there is a different block.
    """
    types = column_types(metadata)
    tables = [part.table for part in parts if len(part.table)]
    names = [
        name for name in types if any(_has_column(table, name, types[name]) for table in tables)
    ]  # in the metadata's order
    if not names:
        return metadata
    schema = pa.struct([(name, membership_fields(types[name])) for name in names])
    locators = pa.concat_tables([table.select(LOCATORS) for table in tables])
    memberships = pa.concat_arrays([_conform(table, schema) for table in tables])
    place = locator_rows(metadata, locators)
    if not place.equals(pa.array(range(len(memberships)), pa.int32())):
        memberships = memberships.take(place)
    return metadata.append_column(FIELD, memberships)


def _has_column(table: pa.Table, name: str, type_: Type) -> bool:
    struct = table.schema.field(FIELD).type
    place = struct.get_field_index(name)
    return place >= 0 and is_compatible(value_type(struct.field(place).type), type_)


def _conform(table: pa.Table, schema: pa.StructType) -> pa.StructArray:
    """Convert the memberships of a table to another schema; columns of incompatible types become null."""
    memberships = whole(table.column(FIELD))
    structs = {}
    for field in schema:
        if _has_column(table, field.name, value_type(field.type)):
            structs[field.name] = _widen(field_of(memberships, field.name), field.type)
        else:
            structs[field.name] = pa.nulls(len(memberships), field.type)
    return make_struct(structs, len(memberships))


def _widen(column: pa.StructArray, struct: pa.StructType) -> pa.StructArray:
    """Widen the values to another integer type, without the buckets, as wider integers hash differently."""
    if column.type == struct:
        return column
    lanes = {field.name: field_of(column, field.name) for field in struct}
    for name in ("dictionary", "rare"):
        lanes[name] = _cast_values(lanes[name], struct.field(name).type.value_type.value_type)
    for name in ("bucket", "modulus"):
        lanes[name] = pa.nulls(len(column), pa.int64())
    return pa.StructArray.from_arrays(list(lanes.values()), fields=list(struct))


def _cast_values(lists: pa.ListArray, values: pa.DataType) -> pa.ListArray:
    coded = lists.values
    wide = pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary.cast(values))
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(lists.offsets, wide, mask=mask)
