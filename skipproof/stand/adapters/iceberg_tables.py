"""Iceberg tables that PyIceberg writes: Python text that appends to them, and the options of its writer."""

from __future__ import annotations

import itertools
from importlib.metadata import version
from typing import Any, ClassVar

from pyiceberg import exceptions
from pyiceberg.table import Transaction
from pyiceberg.transforms import parse_transform
from pyiceberg.types import DateType, IntegerType

from .arrow_text import VALUES, arrow_schema, arrow_table
from .serving import Unsupported, parse_type
from .table_formats import TableFormat, append_groups, check_directories

_IMPORTS = """\
from pyiceberg.transforms import *
from pyiceberg.types import *
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
import pyarrow.parquet as pq
import datetime
import tempfile
from pathlib import Path

"""
_CATALOG = """\
catalog = SqlCatalog("stand", uri="sqlite:///:memory:", warehouse="file:///nowhere")
catalog.create_namespace("n")
"""
_OPEN = """\
directory = tempfile.TemporaryDirectory()

def create(name, schema, appends, properties, spec=PartitionSpec()):
    table = catalog.create_table(
        "n." + name,
        schema,
        location="file://" + directory.name + "/" + name,
        partition_spec=spec,
        properties=dict(properties, **{"commit.manifest-merge.enabled": "false"}),
    )
    with table.transaction() as transaction:
        for blocks in appends:
            getattr(transaction, "append", table.append)(pa.concat_tables(blocks))
    return table

"""
_OPEN_PLAIN = """\
def create_without_statistics(name, schema, blocks):
    table = create(name, schema, [], {"write.metadata.metrics.default": "none"})
    if not hasattr(table, "add_files"):
        for block in blocks:
            table.append(block)
        for path in Path(directory.name, name).rglob("*.parquet"):
            pq.write_table(pq.read_table(path), path, write_statistics=False)
        return table
    data = Path(directory.name, name, "data")
    data.mkdir(parents=True, exist_ok=True)
    paths = [data / "{}.parquet".format(number) for number in range(len(blocks))]
    for path, block in zip(paths, blocks):
        pq.write_table(block, path, write_statistics=False)
    table.add_files(["file://" + str(path) for path in paths])
    return table

"""
_TYPES = {
    "boolean": "BooleanType()", "int32": "IntegerType()", "int64": "LongType()", "float32": "FloatType()",
    "float64": "DoubleType()", "string": "StringType()", "binary": "BinaryType()", "date": "DateType()",
    "timestamp(us)": "TimestampType()", "timestamp(us,UTC)": "TimestamptzType()",
}  # fmt: skip
_TRANSFORMS = {
    "identity": "IdentityTransform", "bucket": "BucketTransform", "truncate": "TruncateTransform",
    "day": "DayTransform", "month": "MonthTransform", "year": "YearTransform", "hour": "HourTransform",
}  # fmt: skip
_ORDERED_TYPES = ["int32", "int64", "string", "date", "timestamp", "boolean"]
# Hundreds of files and thousands of row groups take long to write and to read.
_FEW_ROWS, _SMALL_TABLE, _ROWS_OF_FEW_FILES = 60, 300, 1_000
# The options of tables; `docs/reference/table-layouts.md` defines them.
_LAYOUTS: dict[str, list[Any]] = {
    "metrics": ["none", "counts", "truncate(1)", "truncate(16)"],
    "blocks_per_append": [2, 3, 100],
    "bytes_per_file": [
        {"rows_max": _FEW_ROWS, "value": 1},
        {"rows_max": _ROWS_OF_FEW_FILES, "value": 1_000},
    ],
    "rows_per_group": [*({"rows_max": _SMALL_TABLE, "value": count} for count in (1, 2, 4)), 1_000],
}
_PROPERTIES = {
    "bytes_per_file": "write.target-file-size-bytes",
    "rows_per_group": "write.parquet.row-group-limit",
}
_PARTITIONS: list[dict[str, Any]] = [
    {
        "only": _ORDERED_TYPES,
        "rows_max": _SMALL_TABLE,
        "value": {"column": "{a}", "transform": "identity"},
    },
    {
        "only": ["int32", "int64", "string"],
        "rows_max": _SMALL_TABLE,
        "value": {"column": "{a}", "transform": "truncate(2)"},
    },
    {"only": ["int32", "int64", "string", "date"], "value": {"column": "{a}", "transform": "bucket(2)"}},
    *(
        {
            "only": ["date", "timestamp"],
            "rows_max": _SMALL_TABLE,
            "value": {"column": "{a}", "transform": transform},
        }
        for transform in ("month", "day")
    ),
]


class IcebergTables(TableFormat):
    """Makes new Iceberg tables in one catalog, in a directory that exists until the next ones are made."""

    word = "iceberg"
    types_missing: ClassVar[list[str]] = [
        "int8", "int16", "uint8", "uint16", "uint32", "uint64", "timestamp(ms)", "timestamp(ns)",
    ]  # fmt: skip

    def __init__(self) -> None:
        names: dict[str, Any] = {}
        exec(_IMPORTS + _CATALOG, names)
        self.catalog = names["catalog"]
        self.numbers = itertools.count()
        self.names: dict[str, Any] = {}

    def library(self) -> tuple[str, str]:
        """Return PyIceberg and its version."""
        return "pyiceberg", version("pyiceberg")

    def layouts(self) -> dict[str, list[Any]]:
        """Return the options of tables, with the partitions that this release can write."""
        return dict(_LAYOUTS, partition=_partitions())

    def creation(self, tables: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return text that makes tables, an append for one or several blocks; a replay makes a catalog."""
        if "directory" in self.names:
            self.names["directory"].cleanup()
        self.names = {"catalog": self.catalog}
        made_here = "try:\n    catalog\nexcept NameError:\n" + "".join(
            f"    {line}\n" for line in _CATALOG.splitlines()
        )
        plain = _OPEN_PLAIN if any(not table.get("statistics", True) for table in tables.values()) else ""
        text = _IMPORTS + VALUES + made_here + _OPEN + plain + "tables = {}\n"
        for name, table in tables.items():
            text += _creation_text(name, f"{name}_{next(self.numbers)}", table)
        return text, self.names


# Early releases do not have this error, and raise ImportError.
_NOT_INSTALLED: type[Exception] = getattr(exceptions, "NotInstalledError", ImportError)


def _partitions() -> list[Any]:
    """Return the partitions that this release can write; early releases lack all or some transforms."""
    return [
        partition for partition in _PARTITIONS if hasattr(Transaction, "append") and _writes_by(partition)
    ]


def _writes_by(partition: dict[str, Any]) -> bool:
    """Tell whether this release writes by a partition's transform."""
    transform = parse_transform(partition["value"]["transform"].replace("(", "[").replace(")", "]"))
    try:
        transform.pyarrow_transform(IntegerType() if "int32" in partition["only"] else DateType())
    except (
        ImportError,
        NotImplementedError,
        ValueError,
        _NOT_INSTALLED,
    ):  # the errors for a transform that is not supported
        return False
    return bool(getattr(transform, "supports_pyarrow_transform", True))


def _creation_text(name: str, full_name: str, table: dict[str, Any]) -> str:
    """Return text that makes a table; an empty block makes no file."""
    columns, layout = table["columns"], table.get("layout") or {}
    blocks = [arrow_table(columns, block, schema="schema") for block in table["blocks"] if block]
    fields = ", ".join(
        f"NestedField({number}, {column['name']!r}, {_type(column['type'])}, required=False)"
        for number, column in enumerate(columns, 1)
    )
    text = f"schema = {arrow_schema(columns)}\n"
    arguments = f"{full_name!r}, Schema({fields})"
    if not table.get("statistics", True):
        text += "blocks = [\n" + "".join(f"    {block},\n" for block in blocks) + "]\n"
        return text + f"tables[{name!r}] = create_without_statistics({arguments}, blocks)\n"
    appends = append_groups(blocks, layout, _PROPERTIES)
    text += "appends = [\n" + "".join(f"    [{', '.join(some)}],\n" for some in appends) + "]\n"
    properties = {"write.metadata.metrics.default": layout.get("metrics") or "full"}
    properties |= {
        of_table: str(layout[option])
        for option, of_table in _PROPERTIES.items()
        if layout.get(option) is not None
    }
    arguments += f", appends, {properties!r}"
    if layout.get("partition"):
        names = [column["name"] for column in columns]
        arguments += ", " + _spec(layout["partition"], names)
        if layout["partition"]["transform"] == "identity":
            at = names.index(layout["partition"]["column"])
            check_directories([row[at] for block in table["blocks"] for row in block])
    return text + f"tables[{name!r}] = create({arguments})\n"


def _type(type_: str) -> str:
    """Return the text of a type."""
    word, inside = parse_type(type_)
    if word == "decimal":
        return f"DecimalType({', '.join(inside)})"
    if type_.replace(" ", "") not in _TYPES:
        raise Unsupported("the type " + type_)
    return _TYPES[type_.replace(" ", "")]


def _spec(partition: dict[str, str], columns: list[str]) -> str:
    """Return the text of a partition specification."""
    word, inside = parse_type(partition["transform"])
    if word not in _TRANSFORMS:
        raise Unsupported("the transform " + word)
    transform = f"{_TRANSFORMS[word]}({', '.join(inside)})"
    number = columns.index(partition["column"]) + 1
    return f"PartitionSpec(PartitionField({number}, 1000, {transform}, 'part'))"
