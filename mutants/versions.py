"""Ways to read versions of tables, and to prune queries over them, that are wrong in one way each."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mutants.replacements import Replacement
from pruning.metadata.versioned import layout_blocks
from pruning.spark.catalyst import plan_trees
from pruning.spark.drive import leaf_tables
from pruning.spark.jvm.compiling import compile_class, source_of
from pruning.spark.lake.tables import leaf_attributes
from pruning.spark.versioned import frames, layouts, tables
from pruning.spark.versioned.deletion_bits import deletion_bits

_PACKAGE = "mutant"


def _written_rows(version: Any, places: Any, names: Any, types: Any) -> pa.Table:
    """Return block metadata with the numbers of rows that were written."""
    blocks = layout_blocks.layout_blocks(version, places, names, types)
    deleted = [len(positions) for positions in version.deleted_rows.positions(places.tolist())]
    place = blocks.schema.get_field_index("row_count")
    rows = pc.add(blocks.column("row_count"), pa.array(deleted, pa.int64()))
    return blocks.set_column(place, blocks.schema.field("row_count"), rows)


def _index_without_bitmaps(spark: Any) -> Any:
    """Return an index that forgets deleted rows which are loaded when it is narrowed.

    Its class has the same name in another package: py4j keeps the methods of a full name.
    """
    right = source_of(layouts.VERSION_INDEX, layouts.PACKAGE)
    kept = "index.deleted = deleted;"
    assert kept in right
    wrong = f"package {_PACKAGE};\n{right.replace(kept, 'index.deleted = new byte[deleted.length][];')}"
    return compile_class(spark, f"{_PACKAGE}.{layouts.VERSION_INDEX}", wrong)


def _next_place(table: Any, spark: Any, files: Any, leaf: Any = None) -> Any:
    """Return a leaf that reads the file after the first one in its place."""
    places = sorted(table.files.index(file) for file in files)
    moved = [(places[0] + 1) % len(table.files), *places[1:]] if places else []
    return _with_files(table, spark, [table.files[place] for place in dict.fromkeys(moved)], leaf)


_with_files = tables.VersionTable.with_files

MUTANTS: Mapping[str, Replacement] = {
    "deleted rows are read": Replacement(frames, "without_deleted_positions", lambda spark, leaf: leaf),
    "rows that were written are live": Replacement(layouts, "layout_blocks", _written_rows),
    "deleted rows are a condition of the query": Replacement(
        leaf_tables, "query_conditions", lambda conditions, deleted_ids: list(conditions)
    ),
    "a narrowed index loses deleted rows": Replacement(layouts, "version_index", _index_without_bitmaps),
    "the row after a deleted one is left out": Replacement(
        layouts, "deletion_bits", lambda deleted: deletion_bits(deleted.shift(1))
    ),
    "a narrowed index has the next file": Replacement(tables.VersionTable, "with_files", _next_place),
    "names in the files are the table's": Replacement(plan_trees, "table_attributes", leaf_attributes),
}
