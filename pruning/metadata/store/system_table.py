"""The system table of blocks: a row for each row group and column, with what is believed and what is not.

Version 2 of its schema (the number stands in the Arrow schema's metadata under `skipproof.blocks`):

==============  =================  ===================================================================
field           type               meaning
==============  =================  ===================================================================
file            string             the file's path or URI, as `pruning.collect` gives it
row_group       int32              ordinal inside the file
row_count       int64              live rows of the row group
column          string             the column's name in block metadata
type            string             its SQL type
byte_count      int64              compressed bytes of the column in the row group
min, max        string             believed bounds as text, of binary columns in hexadecimal digits
min_exact       bool               True if a row has the minimum, False if it may lie below all values
max_exact       bool               the same of the maximum
null_count      int64              rows in which the column is NULL
nan_count       int64              rows in which it is NaN
distinct_count  int64              the number of its distinct values, if `pruning.backfill` counted them
measured        bool               True if the statistics were computed from the data, not by the footer alone
not_believed    list of strings    why statistics that the footer states are not believed
first_seen      timestamp in UTC   when a look first found the file; NULL if the file is not kept
==============  =================  ===================================================================

A NULL among the statistics is "unknown". Version 1 had neither `distinct_count` nor `measured`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.arguments import check_texts
from pruning.errors import InputError
from pruning.metadata.files.listing import Listing, Paths, list_files
from pruning.metadata.footers.chunk_facts import ranges
from pruning.metadata.footers.rejections import rejections
from pruning.metadata.footers.trust import DOUBTS
from pruning.metadata.store.collecting import collect
from pruning.metadata.store.past import files_as_of
from pruning.metadata.store.store import Store, creation_times, kept_footers, open_store
from pruning.metadata.table.measured import DISTINCT
from pruning.metadata.table.reading import SessionFiles, footer_facts, read_listed_footers
from pruning.metadata.table.schema import column_types
from pruning.metadata.table.structs import field_of, has_field, whole

# A file and the ordinal of a row group inside it.
_RowGroup: TypeAlias = tuple[str, int]

SCHEMA_VERSION = 2
SCHEMA = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("row_group", pa.int32(), nullable=False),
        pa.field("row_count", pa.int64(), nullable=False),
        pa.field("column", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("byte_count", pa.int64()),
        pa.field("min", pa.string()),
        pa.field("max", pa.string()),
        pa.field("min_exact", pa.bool_()),
        pa.field("max_exact", pa.bool_()),
        pa.field("null_count", pa.int64()),
        pa.field("nan_count", pa.int64()),
        pa.field("distinct_count", pa.int64()),
        pa.field("measured", pa.bool_(), nullable=False),
        pa.field("not_believed", pa.list_(pa.string()), nullable=False),
        pa.field("first_seen", pa.timestamp("us", tz="UTC")),
    ],
    metadata={"skipproof.blocks": str(SCHEMA_VERSION)},
)


def blocks(
    paths: Paths,
    *,
    session: SessionFiles | None = None,
    columns: Sequence[str] | None = None,
    as_of: Any = None,
) -> pa.Table:
    """Return a table with a row for each row group and column, as `pruning.blocks` does.

    Args:
        paths, columns, as_of: As for `pruning.blocks`.
        session: The files that Arrow has no file system for.
    """
    if columns is not None:
        check_texts("columns", columns)
    metadata = collect(paths, session=session, as_of=as_of).combine_chunks()
    types = column_types(metadata)
    names = list(types if columns is None else dict.fromkeys(columns))
    for name in names:
        if name not in types:
            raise InputError(
                f"Column {name!r} is in no file, or has no bounds; the columns are {', '.join(types)}."
            )
    listing = list_files(paths, session=session)
    store = open_store(listing)
    if as_of is not None:
        listing = files_as_of(listing, store, as_of)
    row_groups = _row_groups(metadata, creation_times(store, listing))
    reasons = _reasons(listing, store, session)
    structs = whole(metadata["columns"])
    parts = [
        _rows_of_column(row_groups, name, types[name].sql, field_of(structs, name), reasons.get(name, {}))
        for name in names
    ]
    rows = pa.concat_tables([SCHEMA.empty_table(), *parts]).combine_chunks()
    # The columns of a row group stand together.
    order = np.arange(len(rows)).reshape(len(names), len(metadata)).T.ravel()
    return rows.take(pa.array(order))


def _row_groups(metadata: pa.Table, created_us: dict[str, int]) -> pa.Table:
    """Return the fields that are the same for all columns of a row group."""
    first_seen = pa.array([created_us.get(file) for file in metadata["file"].to_pylist()], pa.int64())
    return metadata.select(["file", "row_group", "row_count"]).append_column(
        "first_seen", first_seen.cast(SCHEMA.field("first_seen").type)
    )


def _rows_of_column(
    row_groups: pa.Table, name: str, type_: str, lanes: pa.StructArray, reasons: Mapping[_RowGroup, list[str]]
) -> pa.Table:
    """Return the rows of one column.

    Args:
        row_groups: What is the same for all columns.
        name: The column.
        type_: Its SQL type.
        lanes: Its statistics.
        reasons: Why some are not believed.
    """
    count = len(row_groups)
    distinct = field_of(lanes, DISTINCT) if has_field(lanes, DISTINCT) else pa.nulls(count, pa.int64())
    places = zip(row_groups["file"].to_pylist(), row_groups["row_group"].to_pylist(), strict=True)
    fields = {
        **{field: row_groups[field] for field in row_groups.column_names},
        "column": pa.repeat(name, count),
        "type": pa.repeat(type_, count),
        "min": _texts(field_of(lanes, "min")),
        "max": _texts(field_of(lanes, "max")),
        **{
            field: field_of(lanes, field)
            for field in ("byte_count", "min_exact", "max_exact", "null_count", "nan_count")
        },
        "distinct_count": distinct,
        "measured": distinct.is_valid(),
        "not_believed": pa.array([reasons.get(place, []) for place in places], pa.list_(pa.string())),
    }
    return pa.table({field.name: fields[field.name] for field in SCHEMA}, schema=SCHEMA)


def _texts(bounds: pa.Array) -> pa.Array:
    if pa.types.is_binary(bounds.type):
        return pa.array([None if bound is None else bound.hex() for bound in bounds.to_pylist()], pa.string())
    return pc.cast(bounds, pa.string())


def _reasons(
    listing: Listing, store: Store, session: SessionFiles | None
) -> dict[str, dict[_RowGroup, list[str]]]:
    """Return, by columns, why statistics are not believed. Footers that are not kept are read."""
    kept = kept_footers(store, listing)
    unread = [listed for listed in listing.files if listed.file not in kept]
    reasons: dict[str, dict[_RowGroup, list[str]]] = {}
    footers = kept | read_listed_footers(unread, session=session).footers
    for facts in footer_facts(footers.items(), {}):
        for part, column, doubt, row_groups in rejections(facts):
            sentence = f"{DOUBTS[doubt].name}: {DOUBTS[doubt].reason}"
            ordinals = ranges(np.zeros(len(part.files), np.int64), part.group_counts)
            files = np.repeat(np.arange(len(part.files)), part.group_counts)
            for file, ordinal in zip(files[row_groups].tolist(), ordinals[row_groups].tolist(), strict=True):
                of_column = reasons.setdefault(column, {})
                of_column.setdefault((part.files[file], ordinal), []).append(sentence)
    return reasons
