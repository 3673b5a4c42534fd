"""Measured statistics: what was computed from the data of blocks, in the place of what their footers state.

In block metadata, a column that was measured in some block has two more fields than `column_fields` says:

====================  ============  ================================================================
distinct_count        int64         the number of distinct values, without NULL and NaN; null where the
                                    block was not measured
stated                bool          whether the footer states statistics that are believed: both bounds, or
                                    for a block that is NULL throughout, that it is
====================  ============  ================================================================

Parquet's readers go by what the file states, and know nothing of what was measured.
"""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Type
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.comparable import comparable_columns, with_comparable
from pruning.metadata.table.locators import LOCATORS, locator_rows
from pruning.metadata.table.memberships import is_compatible
from pruning.metadata.table.schema import column_fields, column_types, sql_type
from pruning.metadata.table.structs import field_of, make_typed_struct, whole

DISTINCT, STATED = "distinct_count", "stated"
_UNMEASURED = "byte_count"


def measured_fields(type_: Type) -> pa.StructType:
    """Return the struct type for the measured statistics of one column of type `type_`."""
    fields = [field for field in column_fields(type_) if field.name != _UNMEASURED]
    return pa.struct([*fields, pa.field(DISTINCT, pa.int64())])


def attach_measured(metadata: pa.Table, parts: Iterable[Shard]) -> pa.Table:
    """Return the metadata with the measured statistics of its blocks.

    A column is comparable afterwards only if the reader has the same bounds and NULL counts in its files.

    Args:
        metadata: Block metadata.
        parts: Tables with the locators and the field `columns`, which has a struct of `measured_fields` for
            each measured column. A row without the number of distinct values was not measured.
    """
    tables = [part.table for part in parts if len(part.table)]
    by_tables: dict[tuple[int, ...], list[str]] = {}
    for name, type_ in column_types(metadata).items():
        places = tuple(place for place, table in enumerate(tables) if _has_column(table, name, type_))
        if places:
            by_tables.setdefault(places, []).append(name)
    if not by_tables:
        return metadata
    columns, rows = whole(metadata["columns"]), whole(metadata["row_count"])
    structs = dict(zip(columns.type.names, columns.flatten(), strict=True))
    comparable = set(comparable_columns(metadata))
    for places, names in by_tables.items():
        of_names = [tables[place] for place in places]
        place = locator_rows(metadata, pa.concat_tables([table.select(LOCATORS) for table in of_names]))
        if place.null_count == len(place):
            continue
        for name in names:
            lanes = _widened_lanes(of_names, name, structs[name].type.field("min").type).take(place)
            if not _has_same_statistics(structs[name], lanes):
                comparable.discard(name)
            structs[name] = _overlay(structs[name], lanes, rows)
    type_ = pa.struct([(name, struct.type) for name, struct in structs.items()])
    struct = make_typed_struct(list(structs.values()), type_, len(metadata))
    position = metadata.schema.get_field_index("columns")
    return with_comparable(metadata.set_column(position, pa.field("columns", type_), struct), comparable)


def with_stated(metadata: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return the metadata with the two fields of measured columns for the columns of these names."""
    columns, rows = whole(metadata["columns"]), whole(metadata["row_count"])
    structs = dict(zip(columns.type.names, columns.flatten(), strict=True))
    for name in names:
        struct = structs[name]
        if struct.type.get_field_index(STATED) < 0:
            parts = {field.name: field_of(struct, field.name) for field in struct.type}
            parts[DISTINCT] = pa.nulls(len(struct), pa.int64())
            parts[STATED] = _is_stated(parts, rows)
            structs[name] = pa.StructArray.from_arrays(list(parts.values()), names=list(parts))
    type_ = pa.struct([(name, struct.type) for name, struct in structs.items()])
    struct = make_typed_struct(list(structs.values()), type_, len(metadata))
    position = metadata.schema.get_field_index("columns")
    return metadata.set_column(position, pa.field("columns", type_), struct)


def _is_stated(footer: Mapping[str, pa.Array], rows: pa.Array) -> pa.BooleanArray:
    """Tell of each block whether its footer states both bounds, or that all is NULL."""
    all_null = pc.fill_null(pc.equal(footer["null_count"], rows), False)
    return pc.or_(all_null, pc.and_(footer["min"].is_valid(), footer["max"].is_valid()))


def _has_column(table: pa.Table, name: str, type_: Type) -> bool:
    struct = table.schema.field("columns").type
    place = struct.get_field_index(name)
    return place >= 0 and is_compatible(sql_type(struct.field(place).type.field("min").type), type_)


def _widened_lanes(tables: Sequence[pa.Table], name: str, bound: pa.DataType) -> pa.StructArray:
    """Return the measured statistics of a column in tables, one after the other, with bounds of a type."""
    parts = [field_of(whole(table["columns"]), name) for table in tables]
    type_ = pa.struct(
        [
            pa.field(field.name, bound if field.name in ("min", "max") else field.type)
            for field in parts[0].type
        ]
    )
    return pa.concat_arrays(
        [
            make_typed_struct(
                [field_of(part, field.name).cast(field.type) for field in type_], type_, len(part)
            )
            for part in parts
        ]
    )


def _overlay(footer: pa.StructArray, lanes: pa.StructArray, rows: pa.Array) -> pa.StructArray:
    """Return the statistics of a column: the measured ones, and those of footers where none were measured.

    A measured bound that was shortened is not better than a believed one.
    """
    measured = field_of(lanes, DISTINCT).is_valid()
    has_values = pc.fill_null(pc.greater(field_of(lanes, DISTINCT), 0), False)
    parts = {field.name: field_of(footer, field.name) for field in footer.type}
    for count in ("null_count", "nan_count"):
        parts[count] = pc.if_else(measured, field_of(lanes, count), parts[count])
    stated_bounds = pc.and_(parts["min"].is_valid(), parts["max"].is_valid())
    all_null = pc.fill_null(pc.equal(parts["null_count"], rows), False)
    stated_null = pc.fill_null(pc.equal(field_of(footer, "null_count"), rows), False)
    for side in ("min", "max"):
        exact = f"{side}_exact"
        is_exact = pc.fill_null(field_of(lanes, exact), False)
        is_wider = pc.and_(pc.and_(has_values, pc.invert(is_exact)), parts[side].is_valid())
        replaced = pc.and_(measured, pc.invert(is_wider))
        for part in (side, exact):
            parts[part] = pc.if_else(replaced, field_of(lanes, part), parts[part])
    parts[DISTINCT] = field_of(lanes, DISTINCT)
    parts[STATED] = pc.if_else(all_null, stated_null, stated_bounds)
    return pa.StructArray.from_arrays(list(parts.values()), names=list(parts))


def _has_same_statistics(footer: pa.StructArray, lanes: pa.StructArray) -> bool:
    """Tell whether the bounds and the NULL counts of footers are the measured ones, where these are."""
    measured = field_of(lanes, DISTINCT).is_valid()
    for part in ("null_count", "min", "max"):
        stated, actual = field_of(footer, part), field_of(lanes, part)
        differs = pc.or_(
            pc.xor(stated.is_valid(), actual.is_valid()), pc.fill_null(pc.not_equal(stated, actual), False)
        )
        if pc.any(pc.and_(measured, differs)).as_py():
            return False
    return True
