"""Block metadata of some columns: a note in the table's Arrow schema of which columns were read.

A table without the note has all columns of its files. A column that was not read counts as unknown, as one
does that no file has.
"""

import json
from collections.abc import Collection, Iterable

import pyarrow as pa

from pruning.expressions.names import top_column
from pruning.metadata.footers.other_columns import other_columns_of
from pruning.metadata.table import points
from pruning.metadata.table.comparable import comparable_columns, with_comparable
from pruning.metadata.table.coverings import coverings_of
from pruning.metadata.table.locators import LOCATORS
from pruning.metadata.table.schema import column_types, columns_only
from pruning.metadata.table.structs import make_typed_struct, whole

_KEY = b"skipproof.columns_read"


def noted_columns(table: pa.Table) -> frozenset[str] | None:
    """Return the top-level columns of the files whose metadata was read; None if these are all."""
    stored = (table.schema.metadata or {}).get(_KEY)
    return None if stored is None else frozenset(json.loads(stored))


def with_columns_read(table: pa.Table, columns: Collection[str] | None) -> pa.Table:
    """Return the table with a note that the metadata of these top-level columns was read; None is all."""
    metadata = {key: value for key, value in (table.schema.metadata or {}).items() if key != _KEY}
    if columns is not None:
        metadata[_KEY] = json.dumps(sorted(columns)).encode()
    return table.replace_schema_metadata(metadata or None)


def top_columns(table: pa.Table) -> frozenset[str]:
    """Return the top-level columns that a table has metadata of, and all others that have no bounds."""
    return frozenset(map(top_column, column_types(table))) | other_columns_of(table.schema).keys()


def only_columns(table: pa.Table, columns: Collection[str]) -> pa.Table:
    """Return the table with the metadata of these top-level columns alone, and a note of them."""
    names = list(column_types(table))
    kept = [name for name in names if top_column(name) in columns]
    if len(kept) < len(names):
        table = columns_only(table, kept)
        table = with_comparable(table, comparable_columns(table) & frozenset(kept))
    paired = {name for pair in coverings_of(table) for name in (pair.latitude, pair.longitude)}
    for name in sorted(name for name in paired if name not in columns):
        table = points.without_column(table, name)
    return with_columns_read(table, set(map(top_column, kept)))


def unread_columns(table: pa.Table, names: Iterable[str]) -> frozenset[str]:
    """Return the top-level columns, of those that names of block metadata lie in, that were not read."""
    read = noted_columns(table)
    return frozenset() if read is None else frozenset(map(top_column, names)) - read


def with_more_columns(table: pa.Table, other: pa.Table) -> pa.Table | None:
    """Return the table with the columns of another one of the same blocks; None if the blocks differ."""
    if not table.select(LOCATORS).equals(other.select(LOCATORS)):
        return None
    fields = {
        field.name: (field, lanes)
        for struct in (whole(other["columns"]), whole(table["columns"]))
        for field, lanes in zip(struct.type, struct.flatten(), strict=True)
    }
    type_ = pa.struct([field for field, _ in fields.values()])
    columns = make_typed_struct([lanes for _, lanes in fields.values()], type_, len(table))
    place = table.schema.get_field_index("columns")
    united = table.set_column(place, pa.field("columns", type_), columns)
    # In each table, these are among its own columns.
    united = with_comparable(united, comparable_columns(table) | comparable_columns(other))
    read, also_read = noted_columns(table), noted_columns(other)
    return with_columns_read(united, None if read is None or also_read is None else read | also_read)
