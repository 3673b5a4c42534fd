"""Comparable columns: those whose bounds Spark's Parquet reader is certain to compare with pushed filters.

Their names are stored in the metadata of the table's Arrow schema; without it, no column is comparable.
"""

import json
from collections.abc import Iterable, Sequence

import pyarrow as pa

from pruning.metadata.table.schema import column_types

_KEY = b"skipproof.comparable"


def comparable_columns(table: pa.Table) -> frozenset[str]:
    """Return the names of a table's comparable columns; empty if they are unknown."""
    stored = (table.schema.metadata or {}).get(_KEY)
    return frozenset() if stored is None else frozenset(json.loads(stored))


def with_comparable(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return the table with a record that these columns are comparable."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: json.dumps(sorted(names))})


def comparable_in_all(tables: Sequence[pa.Table], united: pa.Table) -> frozenset[str]:
    """Return the columns that are comparable, with the united type, in each table that has them."""
    names, types = set(column_types(united)), column_types(united)
    for table in tables:
        here, comparable_here = column_types(table), comparable_columns(table)
        names -= {name for name, type_ in here.items() if name not in comparable_here or type_ != types[name]}
    return frozenset(names)
