"""Block metadata of files and of their row groups together: what a log knows of a file, its footer of parts.

A file of a version is one block, by what its log or manifest says. Where its footer was read too, its row
groups take its place. What the footer does not tell of a row group is then known from the file.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Type
from pruning.metadata.table.measured import DISTINCT, STATED
from pruning.metadata.table.schema import arrow_type, column_fields, column_types, reads_as_stored
from pruning.metadata.table.structs import field_of, make_struct, whole

_BOUNDS = ("min", "max")


def divided_files(files: pa.Table, row_groups: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Return block metadata in which the row groups of some files take the places of these files.

    Claim     Of each block, what is said is true of its rows.
    Premises  Both tables are true of the rows in the files, of which none is deleted; a column of the files
              has the table's values under another name, and in a type that has them in the same order.
    Proof     (1) Bounds of all rows of a file are bounds of the rows in each of its row groups; those of a
              row group are taken in pairs, from its footer or from the file.
              (2) If no row of a file is NULL, or NaN, none is in a row group; if each is NULL, each is there.
    Unsound   for a file with deleted rows, of whose row groups the footer counts all rows.

    Each column has the fields of measured columns: only what a footer states is stated.

    Args:
        files: The block metadata of files, a block for each.
        row_groups: That of the row groups of some of them, by the same names of files.
        names: The names in these files of the table's columns that may be taken from them.
    """
    rows_of_groups = pc.index_in(
        whole(row_groups.column("file")), value_set=whole(files.column("file"))
    ).to_numpy()
    others = np.flatnonzero(~np.isin(np.arange(len(files)), rows_of_groups))
    stored, inside = column_types(row_groups), whole(row_groups.column("columns"))
    of_files = whole(files.column("columns"))
    structs = {}
    for name, type_ in column_types(files).items():
        of_file = field_of(of_files, name)
        own = names.get(name)
        facts = (
            pa.nulls(len(row_groups), pa.struct(list(column_fields(type_))))
            if own not in stored or not reads_as_stored(stored[own], type_)
            else _in_type(field_of(inside, own), type_)
        )
        groups = _of_groups(
            facts,
            of_file.take(pa.array(rows_of_groups)),
            whole(row_groups.column("row_count")),
            whole(files.column("row_count")).take(pa.array(rows_of_groups)),
            floating=type_.floating,
        )
        structs[name] = pa.concat_arrays([_of_whole_files(of_file.take(pa.array(others))), groups])
    lanes = {
        field.name: pa.concat_arrays(
            [
                whole(files.column(field.name)).take(pa.array(others)),
                whole(row_groups.column(field.name)).cast(field.type)
                if field.name in row_groups.schema.names
                else pa.nulls(len(row_groups), field.type),
            ]
        )
        for field in files.schema
        if field.name != "columns"
    }
    count = len(others) + len(row_groups)
    order = np.argsort(np.concatenate([others, rows_of_groups]), kind="stable")
    place = files.schema.get_field_index("columns")
    arrays = list(lanes.values())
    arrays.insert(place, make_struct(structs, count))
    schema = files.schema.set(place, pa.field("columns", arrays[place].type))
    return pa.Table.from_arrays(arrays, schema=schema).take(pa.array(order)).combine_chunks()


def _in_type(facts: pa.StructArray, type_: Type) -> pa.StructArray:
    """Return the statistics of a column with its bounds in a type that has all of its values."""
    lanes = {field.name: field_of(facts, field.name) for field in column_fields(type_)}
    for side in _BOUNDS:
        lanes[side] = lanes[side].cast(arrow_type(type_))
    return pa.StructArray.from_arrays(list(lanes.values()), fields=list(column_fields(type_)))


def _of_groups(
    facts: pa.StructArray, of_file: pa.StructArray, rows: pa.Array, file_rows: pa.Array, *, floating: bool
) -> pa.StructArray:
    """Return the statistics of a column in row groups, with what is known from their files."""
    lanes = {field.name: field_of(facts, field.name) for field in facts.type}
    from_file = {field.name: field_of(of_file, field.name) for field in facts.type}
    has_both = pc.and_(lanes["min"].is_valid(), lanes["max"].is_valid())
    all_null = pc.fill_null(pc.equal(lanes["null_count"], rows), False)
    stated = pc.or_(all_null, has_both)
    for side in _BOUNDS:  # (1)
        lanes[side] = pc.if_else(has_both, lanes[side], pc.if_else(all_null, None, from_file[side]))
        lanes[f"{side}_exact"] = pc.fill_null(pc.and_(has_both, lanes[f"{side}_exact"]), False)
    for name in ("null_count", "nan_count") if floating else ("null_count",):
        lanes[name] = pc.coalesce(lanes[name], _counts_of_parts(from_file[name], file_rows, rows))
    return _with_stated_fields(lanes, stated)


def _counts_of_parts(counts: pa.Array, file_rows: pa.Array, rows: pa.Array) -> pa.Array:
    """Return the counts in row groups that those of their files imply: of none, and of each row (2)."""
    is_all = pc.fill_null(pc.equal(counts, file_rows), False)
    of_all = pc.if_else(is_all, rows, pa.scalar(None, pa.int64()))
    return pc.if_else(pc.fill_null(pc.equal(counts, 0), False), pa.scalar(0, pa.int64()), of_all)


def _of_whole_files(facts: pa.StructArray) -> pa.StructArray:
    """Return the statistics of a column in files whose footers were not read."""
    lanes = {field.name: field_of(facts, field.name) for field in facts.type}
    return _with_stated_fields(lanes, pa.array(np.zeros(len(facts), np.bool_)))


def _with_stated_fields(lanes: Mapping[str, pa.Array], stated: pa.Array) -> pa.StructArray:
    count = len(stated)
    every = {**lanes, DISTINCT: pa.nulls(count, pa.int64()), STATED: stated}
    return pa.StructArray.from_arrays(list(every.values()), names=list(every))
