"""What block metadata knows of a block's values beyond bounds: an optional field `memberships`.

It stands beside `columns` and has a struct per indexed column, by its exact name. Each part may be
null, which says nothing; what is there only ever says that a value is *not* in the block.

============  ===============================  ===================================================
field         type                             meaning
============  ===============================  ===================================================
dictionary    list of coded values             every value of the block, maybe others too
filter        large_binary                     a split-block bloom filter over the values
filter_of     coded string                     how they were encoded before they were hashed
bucket        int64                            each value's hash is `bucket` modulo `modulus`
modulus       int64
rare          list of coded values             every value of the block that is not in `frequent`
frequent      coded large_binary               the values that many blocks hold, as an Arrow stream
============  ===============================  ===================================================

*Values* are those that are neither NULL nor NaN; 0.0 stands for -0.0 too. *Coded* values are Arrow's
dictionary type: blocks of one table share them.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import INTEGRAL_BITS, Type
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.schema import arrow_type, column_types, sql_type
from pruning.metadata.table.structs import field_of, made_of, whole

FIELD = "memberships"
_ROW_GROUPS_MAX = 1 << 32  # ordinals are int32


def membership_fields(type_: Type) -> pa.StructType:
    """The struct that holds what is known of the values of one column of type `type_`."""
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
    """The SQL type of the values that such a struct tells of."""
    return sql_type(struct.field("dictionary").type.value_type.value_type)


def compatible(stored: Type, asked: Type) -> bool:
    """Whether values of one type can be looked for among those of another: the same, or narrower integers."""
    if stored == asked:
        return stored.known
    return stored.integral and asked.integral and INTEGRAL_BITS[stored.kind] < INTEGRAL_BITS[asked.kind]


def indexed(metadata: pa.Table) -> frozenset[str]:
    """The columns of which a program may ask `Aspect.MAY_HOLD` with a chance of an answer."""
    if FIELD not in metadata.schema.names:
        return frozenset()
    types = column_types(metadata)
    return frozenset(
        field.name
        for field in metadata.schema.field(FIELD).type
        if field.name in types and compatible(value_type(field.type), types[field.name])
    )


def without(metadata: pa.Table, name: str) -> pa.Table:
    """The metadata with nothing known of the values of a column: for one that takes another's name."""
    if FIELD not in metadata.schema.names:
        return metadata
    place = metadata.schema.get_field_index(FIELD)
    known = whole(metadata.column(FIELD))
    kept = {field.name: field_of(known, field.name) for field in known.type if field.name != name}
    return metadata.set_column(place, FIELD, made_of(kept, len(known)))


def attach(metadata: pa.Table, parts: Iterable[Shard]) -> pa.Table:
    """The metadata with what is kept of its blocks' values, found by file and row group.

    Args:
        metadata: Block metadata without the field.
        parts: Tables with the locators `file`, `row_group` and `row_count`, and the field. A block that
            has another number of rows there is another block.
    """
    types = column_types(metadata)
    tables = [part.table for part in parts if len(part.table)]
    names = [
        name for name in types if any(_knows(table, name, types[name]) for table in tables)
    ]  # in the metadata's order
    if not names:
        return metadata
    schema = pa.struct([(name, membership_fields(types[name])) for name in names])
    locators = pa.concat_tables([table.select(["file", "row_group", "row_count"]) for table in tables])
    known = pa.concat_arrays([_conformed(table, schema) for table in tables])
    place = _places(metadata, locators)
    if not place.equals(pa.array(range(len(known)), pa.int32())):
        known = known.take(place)
    return metadata.append_column(FIELD, known)


def _knows(table: pa.Table, name: str, type_: Type) -> bool:
    struct = table.schema.field(FIELD).type
    place = struct.get_field_index(name)
    return place >= 0 and compatible(value_type(struct.field(place).type), type_)


def _conformed(table: pa.Table, schema: pa.StructType) -> pa.StructArray:
    """The memberships of a table as those of another schema; of a column of another type there is nothing."""
    known = whole(table.column(FIELD))
    structs = {}
    for field in schema:
        if _knows(table, field.name, value_type(field.type)):
            structs[field.name] = _widened(field_of(known, field.name), field.type)
        else:
            structs[field.name] = pa.nulls(len(known), field.type)
    return made_of(structs, len(known))


def _widened(column: pa.StructArray, struct: pa.StructType) -> pa.StructArray:
    """What is known of narrower integers, but for their buckets: the hash of a wider integer is another."""
    if column.type == struct:
        return column
    lanes = {field.name: field_of(column, field.name) for field in struct}
    for name in ("dictionary", "rare"):
        lanes[name] = _with_values(lanes[name], struct.field(name).type.value_type.value_type)
    for name in ("bucket", "modulus"):
        lanes[name] = pa.nulls(len(column), pa.int64())
    return pa.StructArray.from_arrays(list(lanes.values()), fields=list(struct))


def _with_values(lists: pa.ListArray, values: pa.DataType) -> pa.ListArray:
    coded = lists.values
    wide = pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary.cast(values))
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(lists.offsets, wide, mask=mask)


def _places(metadata: pa.Table, locators: pa.Table) -> pa.Array:
    """Per block its row among the locators; null where there is none."""
    files = locators.column("file").unique()
    key = _keys(metadata, files)
    known = _keys(locators, files)
    place = pc.index_in(key, value_set=known)
    same = pc.equal(locators.column("row_count").take(place), metadata.column("row_count"))
    return pc.if_else(pc.fill_null(whole(same), False), place, pa.scalar(None, pa.int32()))


def _keys(table: pa.Table, files: pa.Array) -> pa.Array:
    """Per block its file and row group as one number; null for a file that is not among `files`."""
    file = pc.index_in(whole(table.column("file")), value_set=files).cast(pa.int64())
    group = whole(table.column("row_group")).cast(pa.int64())
    return pc.add(pc.multiply(file, pa.scalar(_ROW_GROUPS_MAX)), group)
