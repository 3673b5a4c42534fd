"""The adapter of delta-rs, which reads the tables that it writes by queries or by pyarrow."""

from __future__ import annotations

import inspect
import itertools
from importlib.metadata import version
from typing import Any

import deltalake
import pyarrow as pa

from .arrow_text import ROWS, arrow_expression
from .delta_tables import DeltaTables
from .on_datafusion import COUNTED_SETS, DEFAULTS, PARTITIONS, DataFusion, settings_to_try
from .serving import QUERIED_AREAS, Adapter, Unsupported

_READ = f"""\
{ROWS}\
import pyarrow.compute as pc
import shutil

def copied(name, copy):
    return DeltaTable(shutil.copytree(directory.name + "/" + name, directory.name + "/" + copy))

def batches(found):
    if isinstance(found, list):
        return found
    return found.fetchall() if hasattr(found, "fetchall") else pa.table(found).to_batches()

"""
# Types that only some versions have, with a cell of each.
_TYPES_TO_TRY = {"int8": 1, "int16": 1, "timestamp(ms)": 1, "timestamp(us)": 1, "timestamp(us,UTC)": 1}
# Functions that a scan by pyarrow does not support, for versions that read only by pyarrow.
_NOT_SCANNED = [
    "%", "try cast", "null in list", "limited relation", "distinct relation", "group by", "min", "max",
    "count", "sum", "filtered aggregate", "having",
]  # fmt: skip


class OnDeltaLake(Adapter):
    """Makes new tables for each request, in a directory that exists until the next request."""

    def __init__(self) -> None:
        self.sql = DataFusion()
        self.numbers = itertools.count()
        self.tables = DeltaTables()
        self.changes = hasattr(deltalake.DeltaTable, "delete")
        self.builder = getattr(deltalake, "QueryBuilder", None)
        self.reader = "query" if self.builder else "pyarrow"

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of delta-rs."""
        areas = ["filter", "limit", "aggregate"]
        areas += QUERIED_AREAS if self.builder else ()
        areas += ["dml"] if self.changes else []
        settings = {"reader": ["query", "pyarrow"] if self.builder else ["pyarrow"]}
        if self._configurable():
            settings.update(_switches())
        functions = ["parameters", *([] if self.builder else _NOT_SCANNED)]
        return {
            "engine": "deltalake",
            "version": version("deltalake"),
            "tables": "own",
            "areas": areas,
            "without": {
                "functions": functions,
                "types": DeltaTables.types_missing + self._types_not_read(),
                "joins": COUNTED_SETS,
            },
            "settings": settings,
            "single_threaded": {PARTITIONS: "1"} if PARTITIONS in settings else {},
            "layouts": self.tables.layouts(),
            "writes": False,
        }

    def _configurable(self) -> bool:
        """Tell whether queries of this version have settings."""
        return self.builder is not None and "session_config" in inspect.signature(self.builder).parameters

    def _types_not_read(self) -> list[str]:
        """Return the types of which this version cannot make and read a table of two appends."""
        missing = []
        for type_, cell in _TYPES_TO_TRY.items():
            table = {"columns": [{"name": "a", "type": type_}], "blocks": [[[cell]], [[None]]]}
            text, names = self.setup({"t": table}, {})
            try:
                exec(text + "read = tables['t'].to_pyarrow_table()", names)
            except Exception:  # Versions raise different errors for a type that they do not support.
                missing.append(type_)
        return missing

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes Delta tables, and registers them; remove the last request's tables."""
        settings = dict(settings)
        self.reader = settings.pop("reader", "query" if self.builder else "pyarrow")
        if any("files" in table for table in tables.values()):
            raise Unsupported("Parquet files that are no Delta table")
        text, names = self.tables.creation(tables)
        text += _READ
        if self.builder:
            configuration = dict({PARTITIONS: "1"}, **settings) if self._configurable() else ""
            text += f"query = QueryBuilder({configuration})\n"
            text += "".join(f"query.register({name!r}, tables[{name!r}])\n" for name in tables)
        return text, names

    def ask(self, question: dict[str, Any]) -> str:
        """Return text of one statement, one scan by pyarrow, or one change and a scan of the table after it.

        Orders and joins always go to the query builder.
        """
        if question["change"]:
            return self._change_text(question)
        if not self.builder or (self.reader == "pyarrow" and question["area"] not in QUERIED_AREAS):
            return _scan_text(question)
        return f"answer = rows(batches(query.execute({self.sql.select(question)!r})))\n"

    def _change_text(self, question: dict[str, Any]) -> str:
        """Return text that changes a copy of a table and reads it."""
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
        """Return the number of files that a scan by pyarrow reads, and of all files."""
        if "condition" not in names:
            return None
        kept = names["dataset"].get_fragments(filter=names["condition"])
        return {"files": len(list(kept)), "of": len(list(names["dataset"].get_fragments()))}


def _switches() -> dict[str, list[str]]:
    """Return the settings of the DataFusion that delta-rs contains."""
    query = deltalake.QueryBuilder({"datafusion.catalog.information_schema": "true"})
    values = {row["name"]: row["value"] for row in pa.table(query.execute(DEFAULTS)).to_pylist()}
    return settings_to_try(values)


def _scan_text(question: dict[str, Any]) -> str:
    """Return text that scans pyarrow's dataset of a table."""
    source = question["source"]
    conditions = (question["where"], question.get("having"))
    if question["join"] or question["order"] or question["group"] or conditions != (None, None):
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
    arguments = f"columns={question['select']!r}, filter=condition"
    if question["limit"] is None:
        scan = f"dataset.to_table({arguments})"
    else:
        scan = f"dataset.head({question['limit'] + question['offset']}, {arguments})"
    cut = f".slice({question['offset']})" if question["offset"] else ""
    return text + f"answer = rows({scan}{cut}.to_batches())\n"


ADAPTER = OnDeltaLake
