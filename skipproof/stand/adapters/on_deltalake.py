"""delta-rs on the stand: one append for each block, with statistics or without; two ways to read a table."""

from __future__ import annotations

import functools
import inspect
import itertools
import tempfile
from importlib.metadata import version
from typing import Any

import deltalake
import pyarrow as pa

from .arrow_text import ROWS, arrow_expression, arrow_schema, arrow_table
from .on_datafusion import DEFAULTS, PARTITIONS, DataFusion, switches
from .serving import Adapter, Unsupported

_OPEN = """\
import shutil
import tempfile

import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import *

directory = tempfile.TemporaryDirectory()

def create(name, blocks, checkpoint_after=None, **options):
    path = directory.name + "/" + name
    for number, block in enumerate(blocks, 1):
        write_deltalake(path, block, mode="append", **options)
        if number == checkpoint_after:
            DeltaTable(path).create_checkpoint()
    return DeltaTable(path)

def copied(name, copy):
    return DeltaTable(shutil.copytree(directory.name + "/" + name, directory.name + "/" + copy))

def batches(found):
    if isinstance(found, list):
        return found
    return found.fetchall() if hasattr(found, "fetchall") else pa.table(found).to_batches()

tables = {}
"""
_NO_STATISTICS_RUST = (
    "writer_properties=WriterProperties("
    "default_column_properties=ColumnProperties(statistics_enabled='NONE'))"
)
_NO_STATISTICS_ARROW = "file_options=ds.ParquetFileFormat().make_write_options(write_statistics=False)"
# Types that Delta has not: what is written as one of them is another when it is read.
_LACKED = ["uint8", "uint16", "uint32", "uint64", "timestamp(ns)"]
# Types that Delta has in some versions only, with a cell of each.
_DOUBTFUL = {"int8": 1, "int16": 1, "timestamp(ms)": 1, "timestamp(us)": 1, "timestamp(us,UTC)": 1}
# What a scan of pyarrow's does not answer, where there is nothing else to ask.
_NOT_SCANNED = [
    "%", "try cast", "null in list", "limited relation", "distinct relation", "group by", "min", "max",
    "count",
]  # fmt: skip
# What a table can be told, as `docs/reference/table-layouts.md` has it.
_LAYOUTS = {
    "checkpoint_after": [1, 2, 4],
    "indexed_columns": ["0", "1"],
    "stats_columns": ["{a}", "{rid}", "{b}"],
    "partition_by": [
        {"only": ["int8", "int16", "int32", "int64", "string", "date", "boolean"], "value": "{a}"}
    ],
}


class OnDeltaLake(Adapter):
    """Makes the tables of each request anew, in a directory that lasts as long as their names."""

    def __init__(self) -> None:
        self.sql = DataFusion()
        self.numbers = itertools.count()
        self.names: dict[str, Any] = {}
        self.changes = hasattr(deltalake.DeltaTable, "delete")
        self.builder = getattr(deltalake, "QueryBuilder", None)
        self.reader = "query" if self.builder else "pyarrow"

    def hello(self) -> dict[str, Any]:
        """What this version of delta-rs can be asked."""
        areas = ["filter", "limit", "aggregate"]
        areas += ["topk", "join"] if self.builder else []
        areas += ["dml"] if self.changes else []
        settings = {"reader": ["query", "pyarrow"] if self.builder else ["pyarrow"]}
        if self._configurable():
            settings.update(_switches())
        functions = [] if self.builder else _NOT_SCANNED
        return {
            "engine": "deltalake",
            "version": version("deltalake"),
            "tables": "own",
            "areas": areas,
            "without": {"functions": functions, "types": _LACKED + self._lacked(), "joins": []},
            "settings": settings,
            "layouts": _LAYOUTS,
            "writes": False,
        }

    def _configurable(self) -> bool:
        return self.builder is not None and "session_config" in inspect.signature(self.builder).parameters

    def _lacked(self) -> list[str]:
        """The types of which no table of two appends can be made and read."""
        lacked = []
        for type_, cell in _DOUBTFUL.items():
            table = {"columns": [{"name": "a", "type": type_}], "blocks": [[[cell]], [[None]]]}
            text, names = self.setup({"t": table}, {})
            try:
                exec(text + "read = tables['t'].to_pyarrow_table()", names)
            except Exception:  # Whatever a version raises, such a type is not asked for.
                lacked.append(type_)
        return lacked

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """A Delta table of as many appends as there are blocks; those of the last request are removed."""
        if "directory" in self.names:
            self.names["directory"].cleanup()
        self.names = {}
        settings = dict(settings)
        self.reader = settings.pop("reader", "query" if self.builder else "pyarrow")
        text = ROWS + _OPEN
        for name, table in tables.items():
            if "files" in table:
                raise Unsupported("Parquet files that are no Delta table")
            text += _created(name, table)
        if self.builder:
            given = dict({PARTITIONS: "1"}, **settings) if self._configurable() else ""
            text += f"query = QueryBuilder({given})\n"
            text += "".join(f"query.register({name!r}, tables[{name!r}])\n" for name in tables)
        return text, self.names

    def ask(self, question: dict[str, Any]) -> str:
        """One statement, one scan of pyarrow's, or one change and a scan of all that it leaves.

        An order and a join are asked of the query builder whoever reads.
        """
        if question["change"]:
            return self._changed(question)
        if not self.builder or (self.reader == "pyarrow" and question["area"] not in ("topk", "join")):
            return _scanned(question)
        return f"answer = rows(batches(query.execute({self.sql.select(question)!r})))\n"

    def _changed(self, question: dict[str, Any]) -> str:
        """The change goes to a copy of the table's directory."""
        if not self.changes:
            raise Unsupported("DELETE and UPDATE")
        source = question["source"]
        where = None if source["where"] is None else self.sql.term(source["where"])
        copy = f"changed_{next(self.numbers)}"
        text = f"changed = copied({source['table']!r}, {copy!r})\n"
        if question["change"] == "delete":
            text += f"changed.delete({where!r})\n"
        else:
            value = self.sql.literal(question["to"]["literal"], question["to"]["type"])
            updates = {question["change"]: value}
            text += f"changed.update(updates={updates!r}, predicate={where!r})\n"
        text += f"dataset = DeltaTable(directory.name + {'/' + copy!r}).to_pyarrow_dataset()\n"
        selected = f"columns={question['select']!r}" if question["select"] else ""
        return text + f"answer = rows(dataset.to_table({selected}).to_batches())\n"

    def read(self, names: dict[str, Any]) -> dict[str, int] | None:
        """The files that statistics leave to pyarrow's scan, and all of them."""
        if "condition" not in names:
            return None
        kept = names["dataset"].get_fragments(filter=names["condition"])
        return {"files": len(list(kept)), "of": len(list(names["dataset"].get_fragments()))}


def _switches() -> dict[str, list[str]]:
    """The settings of the DataFusion inside."""
    query = deltalake.QueryBuilder({"datafusion.catalog.information_schema": "true"})
    values = {row["name"]: row["value"] for row in pa.table(query.execute(DEFAULTS)).to_pylist()}
    return switches(values)


def _created(name: str, table: dict[str, Any]) -> str:
    """The text that makes a table; an empty block makes no file unless all are."""
    columns = table["columns"]
    held = [block for block in table["blocks"] if block] or [[]]
    blocks = "".join(f"    {arrow_table(columns, block, schema='schema')},\n" for block in held)
    layout = table.get("layout") or {}
    bytes_ = {column["name"] for column in columns if column["type"] == "binary"}
    if layout.get("stats_columns") in bytes_ and not _has_statistics_of_bytes():
        raise Unsupported("statistics of bytes")
    options = _laid_out(layout) if table.get("statistics", True) else _without_statistics()
    text = f"schema = {arrow_schema(columns)}\nblocks = [\n{blocks}]\n"
    return text + f"tables[{name!r}] = create({', '.join([repr(name), 'blocks', *options])})\n"


def _laid_out(layout: dict[str, Any]) -> list[str]:
    """The arguments that a layout adds."""
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
    return options


@functools.cache
def _has_statistics_of_bytes() -> bool:
    """Whether a table may name a column of bytes among those that have statistics."""
    with tempfile.TemporaryDirectory() as directory:
        told = {"delta.dataSkippingStatsColumns": "a"}
        try:
            deltalake.write_deltalake(directory, pa.table({"a": [b"a"]}), configuration=told)
            return deltalake.DeltaTable(directory).to_pyarrow_dataset() is not None
        except Exception:  # Whatever a version raises, it is not asked for.
            return False


def _without_statistics() -> list[str]:
    """Neither the log nor the files have any; nor partitions or checkpoints, which may err themselves."""
    return ["configuration={'delta.dataSkippingNumIndexedCols': '0'}", _no_statistics()]


def _no_statistics() -> str:
    """How this version writes Parquet files without statistics."""
    properties = getattr(deltalake, "ColumnProperties", None)
    if properties and "statistics_enabled" in inspect.signature(properties).parameters:
        return _NO_STATISTICS_RUST
    return _NO_STATISTICS_ARROW


def _scanned(question: dict[str, Any]) -> str:
    """A scan of the dataset that pyarrow makes of the table."""
    source = question["source"]
    if question["join"] or question["order"] or question["group"] or question["where"] is not None:
        raise Unsupported("anything but filters, limits and counts")
    if source["order"] or source["distinct"] or source["limit"] is not None or source["offset"]:
        raise Unsupported("subqueries that do more than filter")
    condition = None if source["where"] is None else arrow_expression(source["where"])
    text = f"dataset = tables[{source['table']!r}].to_pyarrow_dataset()\ncondition = {condition}\n"
    if question["aggregates"]:
        if any(part != {"function": "count", "of": None} for part in question["aggregates"]):
            raise Unsupported("aggregates other than count(*)")
        if question["limit"] is not None or question["offset"]:
            raise Unsupported("a limit of one row")
        return text + f"answer = [[dataset.count_rows(filter=condition)] * {len(question['aggregates'])}]\n"
    given = f"columns={question['select']!r}, filter=condition"
    if question["limit"] is None:
        found = f"dataset.to_table({given})"
    else:
        found = f"dataset.head({question['limit'] + question['offset']}, {given})"
    cut = f".slice({question['offset']})" if question["offset"] else ""
    return text + f"answer = rows({found}{cut}.to_batches())\n"


ADAPTER = OnDeltaLake
