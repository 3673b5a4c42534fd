"""Write the tables that engines are asked about, with pyarrow: a row group for each block."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from struct import unpack
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc
import pyarrow.parquet as pq

from strategies.engines.engine_tables import ORC, Options, StoredTable
from strategies.engines.functions import units_per_day
from strategies.engines.questions import Column, Json, Row

_ARROW = {
    "boolean": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "uint8": pa.uint8(), "uint16": pa.uint16(), "uint32": pa.uint32(), "uint64": pa.uint64(),
    "float32": pa.float32(), "float64": pa.float64(), "string": pa.string(), "binary": pa.binary(),
    "date": pa.date32(), "timestamp(ms)": pa.timestamp("ms"), "timestamp(us)": pa.timestamp("us"),
    "timestamp(ns)": pa.timestamp("ns"), "timestamp(us,UTC)": pa.timestamp("us", tz="UTC"),
}  # fmt: skip
_NEGATIVE_NAN = unpack("<d", b"\0\0\0\0\0\0\xf8\xff")[0]
_BLOOM = {"ndv": 64, "fpp": 0.01}
_NARROWER = {pa.int64(): pa.int32(), pa.int32(): pa.int16(), pa.float64(): pa.float32()}
# Encodings of pages without a dictionary, for the types that have them.
_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_ENCODINGS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "delta": {
        "DELTA_BINARY_PACKED": (*_NUMBERS, "date", "timestamp"),
        "DELTA_LENGTH_BYTE_ARRAY": ("string", "binary"),
    },
    "prefix": {"DELTA_BYTE_ARRAY": ("string", "binary")},
    "split": {"BYTE_STREAM_SPLIT": (*_NUMBERS, "date", "timestamp", "float32", "float64")},
}
# The partition of NULL in engines of the Hive tradition.
_NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
# The characters that these engines escape in a name; text that is not ASCII stays as it is. Other engines
# escape more, but read this; Spark misreads their escapes of more than one byte.
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f").union(map(chr, range(1, 32)))
# The options of ORC files, with their values. An entry of an index is of so many rows; a small stripe has one
# block where the writer counts the bytes of its columns, as it does those of texts and floats.
ORC_OPTIONS: Options = {
    "stripe_size": [1],
    "row_index_stride": [1, 3, 10_000],
    "bloom_filter_column": ["{a}", "{b}", "{rid}"],
    "dictionary_key_size_threshold": [1.0],
    "compression": ["zstd"],
}
_ORC_DEFAULTS = {"row_index_stride": 2}
# 1582-10-15: readers in Java take earlier days for those of the calendar of that time.
_FIRST_GREGORIAN_DAY = -141_427
_STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string())])
_LIST = pa.list_(pa.float64())
# The number of successive rows in which a struct without values is NULL itself, or is not.
_RUN = 3


def arrow_type(type_: str) -> pa.DataType:
    """Return the Arrow type of a word of the language."""
    if type_.startswith("decimal"):
        precision, scale = (int(part) for part in type_[len("decimal(") : -1].split(","))
        return pa.decimal128(precision, scale)
    return _ARROW[type_]


def arrow_array(type_: str, cells: Sequence[Json]) -> pa.Array:
    """Return JSON values of a type as an Arrow array."""
    target = arrow_type(type_)
    if type_.startswith("float"):
        return pa.array([_float(cell) for cell in cells], target)
    if type_.startswith("decimal"):
        return pa.array([None if cell is None else Decimal(cell) for cell in cells], target)
    if type_ == "binary":
        return pa.array([None if cell is None else bytes.fromhex(cell) for cell in cells], target)
    if type_ == "date":
        return pa.array(cells, pa.int32()).view(target)
    if type_.startswith("timestamp"):
        return pa.array(cells, pa.int64()).view(target)
    return pa.array(cells, target)


def arrow_table(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    """Return rows as an Arrow table."""
    cells = zip(*rows, strict=True) if rows else ([] for _ in columns)
    arrays = [arrow_array(column.type, list(some)) for column, some in zip(columns, cells, strict=True)]
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def write_stored(table: StoredTable, directory: Path) -> list[Path]:
    """Write a table's files into a directory, in order; nothing else may be in it.

    A table that ORC cannot hold is written as Parquet.
    """
    per_file = table.layout.blocks_per_file
    is_orc = table.layout.writer == ORC and is_possible_in_orc(table)
    paths: list[Path] = []
    for first in range(0, len(table.blocks), per_file):
        blocks = table.blocks[first : first + per_file]
        place = directory / _partition_directory(table, blocks[0])
        place.mkdir(exist_ok=True)
        path = place / f"part-{len(paths):03}.{'orc' if is_orc else 'parquet'}"
        if is_orc:
            _write_orc(table, blocks, path)
        else:
            _write(table, blocks, path, ordinal=len(paths))
        paths.append(path)
    return paths


def is_possible_in_orc(table: StoredTable) -> bool:
    """Tell whether every reader of ORC reads the same rows: it has no unsigned integers and no early days."""
    for column in table.columns:
        if column.type.startswith("uint"):
            return False
        if column.type == "date" or column.type.startswith("timestamp"):
            first = _FIRST_GREGORIAN_DAY * units_per_day(column.type)
            if any(cell is not None and cell < first for cell in table.cells(column.name)):
                return False
    return True


def _write_orc(table: StoredTable, blocks: Sequence[Sequence[Row]], path: Path) -> None:
    """Write a file of ORC."""
    options = _ORC_DEFAULTS | dict(table.layout.format_options)
    filtered = options.pop("bloom_filter_column", None)
    if filtered is not None:
        options["bloom_filter_columns"] = [[column.name for column in table.columns].index(filtered)]
    with orc.ORCWriter(path, **options) as writer:
        for block in blocks:
            writer.write(arrow_table(table.columns, block))


def partitions(table: StoredTable) -> list[dict[str, str | None]]:
    """Return, for each file, the text of the partition column, None for NULL; empty without partitions."""
    if not table.layout.partitioned:
        return []
    name = table.columns[0].name
    values = [block[0][0] if block else None for block in table.blocks]
    return [{name: None if value is None else str(value)} for value in values]


def _partition_directory(table: StoredTable, block: Sequence[Row]) -> str:
    """Return the name that Hive and Spark use; but the empty text, NULL to them, is empty, as others write
    it.
    """
    if not table.layout.partitioned:
        return "."
    value = block[0][0] if block else None
    text = "".join(f"%{ord(letter):02X}" if letter in _ESCAPED else letter for letter in str(value))
    return f"{table.columns[0].name}={_NULL_DIRECTORY if value is None else text}"


def _write(table: StoredTable, blocks: Sequence[Sequence[Row]], path: Path, *, ordinal: int) -> None:
    tables = [
        _with_ballast(table, _with_nesting(table, _cells_of_file(table, block, ordinal), block))
        for block in blocks
    ]
    schema = pa.unify_schemas([rows.schema for rows in tables], promote_options="permissive")
    with pq.ParquetWriter(path, schema, **_options(table, schema.names, ordinal)) as writer:
        for block in tables:
            # One call is one row group, also of no rows at all.
            writer.write_table(block.cast(schema), row_group_size=max(1, block.num_rows))


def _cells_of_file(table: StoredTable, block: Sequence[Row], ordinal: int) -> pa.Table:
    """Return a block with the columns that its file holds."""
    rows = arrow_table(table.columns, block)
    if table.layout.partitioned:
        return rows.select(rows.column_names[1:])
    if ordinal % 2 == 0 or not table.layout.evolution:
        return rows
    names = rows.column_names
    if table.layout.evolution == "reordered":
        return rows.select(names[::-1])
    if table.layout.evolution == "missing":
        return rows.select([*names[:-2], names[-1]])
    return rows.cast(pa.schema([pa.field(name, _narrower(rows[name])) for name in names]), safe=False)


def _narrower(cells: pa.ChunkedArray) -> pa.DataType:
    """Return a narrower type that holds the cells, or their own."""
    narrow = _NARROWER.get(cells.type, cells.type)
    again = cells.cast(narrow, safe=False).cast(cells.type)
    is_nan = pc.is_nan(cells) if pa.types.is_floating(cells.type) else pa.scalar(False)
    is_held = pc.all(pc.or_(pc.equal(again, cells), is_nan)).as_py() is not False
    return narrow if is_held else cells.type


def _options(table: StoredTable, names: Sequence[str], ordinal: int) -> dict[str, Any]:
    layout = table.layout
    statistics: Any = True
    leaves = {column.name: _leaf(table.path(column.name)) for column in table.columns}
    held = [name for name, leaf in leaves.items() if leaf.partition(".")[0] in names]
    if layout.statistics is not None:
        statistics = [leaves[name] for name in layout.statistics if name in held]
    options: dict[str, Any] = {
        "write_statistics": False if ordinal in layout.files_without else statistics,
        "write_page_index": layout.page_index,
        "use_dictionary": layout.dictionary and not layout.encoding,
        "compression": "none",
        "data_page_version": layout.data_page,
    }
    encodings = {
        leaves[column.name]: encoding
        for column in table.columns
        for encoding, words in _ENCODINGS.get(layout.encoding, {}).items()
        if column.name in held and column.type.partition("(")[0] in words
    }
    if encodings:
        options["column_encoding"] = encodings
    first = table.columns[0].name
    if layout.sorting and first in names:
        nulls_first = layout.sorting == "nulls first"
        options["sorting_columns"] = [pq.SortingColumn(names.index(first), nulls_first=nulls_first)]
    if layout.rows_per_page is not None:
        options |= {"max_rows_per_page": layout.rows_per_page, "write_batch_size": layout.rows_per_page}
    # Parquet has no bloom filters of booleans.
    kinds = {column.name: column.type for column in table.columns}
    filters = [leaves[name] for name in layout.filters if name in held and kinds[name] != "boolean"]
    if filters:
        options["bloom_filter_options"] = dict.fromkeys(filters, _BLOOM)
    return options


def _leaf(path: Sequence[str | int]) -> str:
    """Return the name of a column's leaf in the footer; the elements of a list have a leaf of their own."""
    return ".".join("list.element" if part == 0 else str(part) for part in path)


def _with_nesting(table: StoredTable, rows: pa.Table, block: Sequence[Row]) -> pa.Table:
    """Return a block with columns in a struct, or in lists, as the layout says."""
    return _with_lists(table, rows, block) if table.layout.in_lists else _with_struct(table, rows, block)


def _with_lists(table: StoredTable, rows: pa.Table, block: Sequence[Row]) -> pa.Table:
    """Put columns into lists as first elements, every second one before a value of another row.

    The list of a NULL is NULL itself, or empty, or begins with NULL.
    """
    held = {}
    for name in rows.column_names:
        path = table.path(name)
        if len(path) == 1:
            held[name] = rows[name]
            continue
        others = _decoy(table, name, block)
        lists: list[list[pa.Scalar] | None] = []
        for cell, other, row in zip(rows[name], others, block, strict=True):
            if cell.is_valid:
                lists.append([cell, other] if row[-1] % 2 else [cell])
            else:
                lists.append((None, [], [cell, other])[row[-1] % 3])
        held[str(path[0])] = pa.array(lists, pa.list_(rows[name].type))
    return pa.table(held)


def _with_struct(table: StoredTable, rows: pa.Table, block: Sequence[Row]) -> pa.Table:
    """Put the nested columns into a struct, which comes first, and add the decoys.

    Where all its fields are NULL, the struct itself is NULL in runs of rows, and is not in the next run.
    """
    layout = table.layout
    if not layout.nested:
        return rows
    fields = [rows[name].combine_chunks() for name in layout.nested]
    is_absent = [
        row[-1] // _RUN % 2 == 0 and not any(values[at].is_valid for values in fields)
        for at, row in enumerate(block)
    ]
    struct = pa.StructArray.from_arrays(
        fields,
        fields=[rows.schema.field(name) for name in layout.nested],
        mask=pa.array(is_absent, pa.bool_()),
    )
    columns = {name: rows[name] for name in rows.column_names if name not in layout.nested}
    prefix = f"{table.struct}." if layout.decoys == "dotted" else ""
    names = layout.nested if layout.decoys else ()
    decoys = {prefix + name: _decoy(table, name, block) for name in names}
    before, after = (decoys, {}) if layout.decoys == "before" else ({}, decoys)
    return pa.table({**before, table.struct: struct, **columns, **after})


def _decoy(table: StoredTable, name: str, block: Sequence[Row]) -> pa.Array:
    """Return other values than a column's for a block: the whole table's from the last to the first."""
    type_ = next(column.type for column in table.columns if column.name == name)
    others = dict(zip(table.cells(table.columns[-1].name), table.cells(name)[::-1], strict=True))
    return arrow_array(type_, [others[row[-1]] for row in block])


def _with_ballast(table: StoredTable, rows: pa.Table) -> pa.Table:
    """Put a struct, whose fields are named like columns, and a list with NaN before the columns."""
    if not table.layout.ballast:
        return rows
    count = rows.num_rows
    structs = pa.array([None if at % 3 == 2 else {"a": at, "b": "x"} for at in range(count)], _STRUCT)
    lists = pa.array([[float("nan"), at] for at in range(count)], _LIST)
    names = ["ballast_struct", "ballast_list", *rows.column_names]
    return pa.Table.from_arrays([structs, lists, *rows.columns], names=names)


def _float(cell: Json) -> float | None:
    if cell is None:
        return None
    return _NEGATIVE_NAN if cell == "-NaN" else float(cell)
