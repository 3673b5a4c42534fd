"""Delta tables that delta-rs writes: Python text that appends to them, and the options of their writer."""

from __future__ import annotations

import functools
import inspect
import tempfile
from importlib.metadata import version
from typing import Any, ClassVar

import deltalake
import pyarrow as pa

from .arrow_text import VALUES, arrow_schema, arrow_table
from .serving import Unsupported
from .table_formats import TableFormat, append_groups, check_directories

OPEN = """\
import tempfile

import pyarrow.dataset as ds
from deltalake import *

directory = tempfile.TemporaryDirectory()

def create(name, appends, checkpoint_after=None, **options):
    path = directory.name + "/" + name
    for number, blocks in enumerate(appends, 1):
        write_deltalake(path, pa.concat_tables(blocks), mode="append", **options)
        if number == checkpoint_after:
            DeltaTable(path).create_checkpoint()
    return DeltaTable(path)

tables = {}
"""
_NO_STATISTICS_RUST = (
    "writer_properties=WriterProperties("
    "default_column_properties=ColumnProperties(statistics_enabled='NONE'))"
)
_NO_STATISTICS_ARROW = "file_options=ds.ParquetFileFormat().make_write_options(write_statistics=False)"
_BLOOM = "ColumnProperties(bloom_filter_properties=BloomFilterProperties(True))"
# Thousands of files or row groups take long to write and to read.
_SMALL_TABLE = 300
# The options of tables; `docs/reference/table-layouts.md` defines them.
_LAYOUTS: dict[str, list[Any]] = {
    "checkpoint_after": [1, 2, 4],
    "indexed_columns": ["0", "1"],
    "stats_columns": ["{a}", "{rid}", "{b}"],
    "partition_by": [
        {
            "only": ["int8", "int16", "int32", "int64", "string", "date", "boolean"],
            "rows_max": _SMALL_TABLE,
            "value": "{a}",
        }
    ],
    "blocks_per_append": [2, 3, 100],
}
_FEW_ROWS: list[Any] = [*({"rows_max": _SMALL_TABLE, "value": count} for count in (1, 2, 4)), 1_000]
_SPREADING: dict[str, list[Any]] = {
    "rows_per_file": _FEW_ROWS,
    "bytes_per_file": [1, 1_000],
    "rows_per_group": _FEW_ROWS,
    "rows_per_page": [1, 2],
    "bloom_filters": ["{a}"],
}
# The properties of the writer in Rust, by the option that sets them.
_PROPERTIES = {"rows_per_group": "max_row_group_size", "rows_per_page": "data_page_row_count_limit"}


class DeltaTables(TableFormat):
    """Makes Delta tables in a directory that exists until the next ones are made."""

    word = "delta"
    # Types that Delta does not have: it reads columns of them back as other types.
    types_missing: ClassVar[list[str]] = ["uint8", "uint16", "uint32", "uint64", "timestamp(ns)"]

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def library(self) -> tuple[str, str]:
        """Return delta-rs and its version."""
        return "deltalake", version("deltalake")

    def layouts(self) -> dict[str, list[Any]]:
        """Return the options of tables and of how the writer spreads rows over files, groups and pages."""
        return _LAYOUTS | {name: values for name, values in _SPREADING.items() if _writes_with(name)}

    def creation(self, tables: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return text that makes Delta tables, an append for one or several blocks."""
        if "directory" in self.names:
            self.names["directory"].cleanup()
        self.names = {}
        return VALUES + OPEN + "".join(_creation_text(*pair) for pair in tables.items()), self.names


@functools.cache
def _writer_arguments() -> frozenset[str]:
    """Return the names of the writer's arguments; early releases write by pyarrow, and have its own."""
    return frozenset(inspect.signature(deltalake.write_deltalake).parameters)


def _writes_with(option: str) -> bool:
    """Tell whether this version writes with an option of how rows are spread."""
    columns = [{"name": "a", "type": "int64"}]
    value = "a" if option == "bloom_filters" else 1
    table = {"columns": columns, "blocks": [[[1], [2]]], "layout": {option: value}}
    try:
        text, names = DeltaTables().creation({"t": table})
        exec(text, names)
    except Exception:  # Versions raise different errors for an argument that they do not have.
        return False
    return True


def _creation_text(name: str, table: dict[str, Any]) -> str:
    """Return text that makes a table; an empty block makes no file unless all blocks are empty."""
    columns = table["columns"]
    layout = table.get("layout") or {}
    held = [block for block in table["blocks"] if block] or [[]]
    texts = [arrow_table(columns, block, schema="schema") for block in held]
    appends = append_groups(texts, layout, ("rows_per_file", "bytes_per_file", "rows_per_group"))
    lines = "".join(f"    [{', '.join(blocks)}],\n" for blocks in appends)
    bytes_ = {column["name"] for column in columns if column["type"] == "binary"}
    if layout.get("stats_columns") in bytes_ and not has_statistics_of_bytes():
        raise Unsupported("statistics of bytes")
    if layout.get("partition_by"):
        at = [column["name"] for column in columns].index(layout["partition_by"])
        check_directories([row[at] for block in held for row in block])
    options = _layout_arguments(layout) if table.get("statistics", True) else _arguments_without_statistics()
    text = f"schema = {arrow_schema(columns)}\nappends = [\n{lines}]\n"
    return text + f"tables[{name!r}] = create({', '.join([repr(name), 'appends', *options])})\n"


def _layout_arguments(layout: dict[str, Any]) -> list[str]:
    """Return the arguments that a layout adds."""
    configuration, options = {}, []
    if layout.get("indexed_columns") is not None:
        configuration["delta.dataSkippingNumIndexedCols"] = str(layout["indexed_columns"])
    if layout.get("stats_columns"):
        configuration["delta.dataSkippingStatsColumns"] = layout["stats_columns"]
    if configuration:
        options.append(f"configuration={configuration!r}")
    if layout.get("partition_by"):
        options.append(f"partition_by=[{layout['partition_by']!r}]")
    if layout.get("checkpoint_after") is not None:
        options.append(f"checkpoint_after={layout['checkpoint_after']}")
    spreading = {option: layout[option] for option in _SPREADING if layout.get(option) is not None}
    by_arrow = "max_rows_per_file" in _writer_arguments()
    return options + (_arguments_of_arrow(spreading) if by_arrow else _arguments_of_rust(spreading))


def _arguments_of_arrow(spreading: dict[str, Any]) -> list[str]:
    """Return the arguments by which a writer of pyarrow spreads rows; it fills a group before the next."""
    _refuse_others(spreading, "rows_per_file", "rows_per_group")
    if not spreading:
        return []
    per_group = min(spreading.values())
    arguments = [f"max_rows_per_group={per_group}", f"min_rows_per_group={per_group}"]
    if "rows_per_file" in spreading:
        arguments.append(f"max_rows_per_file={spreading['rows_per_file']}")
    return arguments


def _arguments_of_rust(spreading: dict[str, Any]) -> list[str]:
    """Return the arguments by which the writer in Rust spreads rows."""
    _refuse_others(spreading, "bytes_per_file", "bloom_filters", *_PROPERTIES)
    arguments = [f"target_file_size={spreading['bytes_per_file']}"] if "bytes_per_file" in spreading else []
    sizes = {_PROPERTIES[option]: spreading[option] for option in _PROPERTIES if option in spreading}
    # The writer looks at the sizes of groups and pages after each batch.
    properties = [f"{name}={size}" for name, size in sizes.items()]
    properties += [f"write_batch_size={min(sizes.values())}"] if sizes else []
    if "bloom_filters" in spreading:
        properties.append(f"column_properties={{{spreading['bloom_filters']!r}: {_BLOOM}}}")
    if properties:
        arguments.append(f"writer_properties=WriterProperties({', '.join(properties)})")
    return arguments


def _refuse_others(spreading: dict[str, Any], *options: str) -> None:
    """Refuse options that the writer of this version does not have."""
    for option in spreading:
        if option not in options:
            raise Unsupported("the option " + option)


@functools.cache
def has_statistics_of_bytes() -> bool:
    """Tell whether a column of bytes can be among the columns with statistics."""
    with tempfile.TemporaryDirectory() as directory:
        configuration = {"delta.dataSkippingStatsColumns": "a"}
        try:
            deltalake.write_deltalake(directory, pa.table({"a": [b"a"]}), configuration=configuration)
            return deltalake.DeltaTable(directory).to_pyarrow_dataset() is not None
        except Exception:  # Versions raise different errors for it.
            return False


def _arguments_without_statistics() -> list[str]:
    """Return arguments for a table without statistics, partitions or checkpoints, which may be wrong too."""
    return ["configuration={'delta.dataSkippingNumIndexedCols': '0'}", _writer_without_statistics()]


def _writer_without_statistics() -> str:
    """Return the argument that makes this version write files without statistics."""
    properties = getattr(deltalake, "ColumnProperties", None)
    if properties and "statistics_enabled" in inspect.signature(properties).parameters:
        return _NO_STATISTICS_RUST
    return _NO_STATISTICS_ARROW
