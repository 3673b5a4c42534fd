"""Conversion of a history to rows of a columnar file."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oracles.isolation.columns import Columns, Kind
from oracles.isolation.lists import Flags, Ints, Lists
from oracles.isolation.parquet import (
    HISTORY_NAME,
    OBJECT_NAME,
    ORDER,
    PREDICATE,
    PREDICATE_NAME,
    SCHEMA,
    VERSION_NAME,
)


def table_of(columns: Columns, number: int = 0) -> pa.Table:
    """Return the rows of a history, with `number` in their column `history`."""
    objects, object_names = _ids_and_names(columns.objects)
    versions, version_names = _ids_and_names(columns.tags)
    predicates, predicate_names = _ids_and_names(columns.predicates)
    ordered = np.unique(np.concatenate((columns.object_of, columns.orders.all()[0])))
    every = np.arange(len(predicates), dtype=np.int64)
    tables = [
        _rows(HISTORY_NAME, 1, name=[columns.id]),
        *_name_rows(OBJECT_NAME, "object", objects, object_names),
        *_name_rows(VERSION_NAME, "version", versions, version_names),
        *_name_rows(PREDICATE_NAME, "predicate", predicates, predicate_names),
        _rows(
            PREDICATE,
            len(predicates),
            predicate=predicates,
            objects=_lists_of_ids(columns.domains, every, objects),
            versions=_lists_of_ids(columns.matching, every, versions),
        ),
        _rows(
            ORDER,
            len(ordered),
            object=objects[ordered],
            versions=_lists_of_ids(columns.orders, ordered, versions),
        ),
        _operation_rows(columns, objects, versions, predicates),
    ]
    table = pa.concat_tables(tables)
    return table.set_column(0, SCHEMA.field("history"), pa.array(np.full(len(table), number, np.int64)))


def _ids_and_names(names: Sequence[object]) -> tuple[Ints, list[str] | None]:
    """Return ids and names: distinct integers are ids themselves, other names get ids."""
    if all(isinstance(name, int) for name in names) and len(set(names)) == len(names):
        return np.array(names, np.int64).reshape(len(names)), None
    return np.arange(len(names), dtype=np.int64), [str(name) for name in names]


def _name_rows(kind: int, column: str, ids: Ints, names: list[str] | None) -> list[pa.Table]:
    return [] if names is None else [_rows(kind, len(ids), **{column: ids, "name": names})]


def _lists_of_ids(lists: Lists, rows: Ints, ids: Ints, chosen: Flags | None = None) -> pa.ListArray:
    """Return the lists of some rows, with ids as values; null where a row is not chosen."""
    _, values = lists.expand(rows)
    ends = pa.array(np.concatenate(([0], np.cumsum(lists.lengths[rows]))), pa.int32())
    nulls = None if chosen is None else pa.array(~chosen)
    return pa.ListArray.from_arrays(ends, pa.array(ids[values], pa.int64()), mask=nulls)


def _operation_rows(columns: Columns, objects: Ints, versions: Ints, predicates: Ints) -> pa.Table:
    kind, subject = columns.kind, columns.subject
    making = np.isin(kind, (Kind.WRITE, Kind.DERIVE))
    created_versions = np.where(making, subject, 0)
    of_version = making | (kind == Kind.READ)
    listing = np.isin(kind, (Kind.DERIVE, Kind.PREDICATE_READ))
    return _rows(
        kind,
        len(kind),
        transaction=columns.transaction,
        object=_ids_where(
            making, columns.object_of[created_versions] if making.any() else created_versions, objects
        ),
        version=_ids_where(of_version, subject, versions),
        predicate=_ids_where(kind == Kind.PREDICATE_READ, subject, predicates),
        versions=_lists_of_ids(columns.lists, np.arange(len(kind), dtype=np.int64), versions, listing),
    )


def _ids_where(chosen: Flags, indexes: Ints, ids: Ints) -> pa.Array:
    """Return the ids of the chosen indexes, and null elsewhere."""
    chosen_ids = np.zeros(len(indexes), np.int64)
    chosen_ids[chosen] = ids[indexes[chosen]]
    return pa.array(chosen_ids, pa.int64(), mask=~chosen)


def _rows(kind: int | Ints, count: int, **columns: object) -> pa.Table:
    """Return rows of one kind, or of one kind each; columns that are not given are null."""
    kinds = np.broadcast_to(np.asarray(kind, np.int8), count)
    columns = {"kind": kinds, **columns}
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
