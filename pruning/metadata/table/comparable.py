"""The columns of block metadata whose bounds Spark's Parquet reader is sure to compare pushed filters with.

They are kept in the metadata of a table's Arrow schema, which says nothing of a table that lost it.
"""

import json
from collections.abc import Iterable, Sequence

import pyarrow as pa

from pruning.metadata.footers.footer import Footer
from pruning.metadata.footers.nested import Leaf
from pruning.metadata.footers.physical_types import is_comparable
from pruning.metadata.table.schema import column_types

_KEY = b"skipproof.comparable"


def compares(footer: Footer, leaf: Leaf) -> bool:
    """Return whether Spark's reader compares a column's bounds in every row group of a file that has them."""
    if not (leaf.flat and is_comparable(leaf.element)):
        return False
    groups = (group for group in footer.row_groups if group.row_count)
    # Without a count of NULLs it keeps every row group where a filter lets NULL pass, required column or not.
    return all(group.chunks[leaf.chunk].statistics.null_count is not None for group in groups)


def comparable(table: pa.Table) -> frozenset[str]:
    """The names of a table's comparable columns; none where nothing is known."""
    stored = (table.schema.metadata or {}).get(_KEY)
    return frozenset() if stored is None else frozenset(json.loads(stored))


def with_comparable(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """The same table, which says that these columns are comparable."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: json.dumps(sorted(names))})


def comparable_in_all(tables: Sequence[pa.Table], united: pa.Table) -> frozenset[str]:
    """The columns that are comparable, under the united table's type, in each of the tables that has them."""
    names, types = set(column_types(united)), column_types(united)
    for table in tables:
        here, known = column_types(table), comparable(table)
        names -= {name for name, type_ in here.items() if name not in known or type_ != types[name]}
    return frozenset(names)
