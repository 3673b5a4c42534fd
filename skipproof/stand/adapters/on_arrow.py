"""The adapter of pyarrow.dataset; the pruned form is a dataset of files, the plain form one of memory.

It does not prune by an order, so it is asked no top-k questions.
"""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from .arrow_text import ROWS, arrow_expression, arrow_schema, arrow_table
from .serving import Adapter, Unsupported, flattened

_JOINS = {
    "inner": "inner", "left": "left outer", "right": "right outer", "full": "full outer", "semi": "left semi",
    "anti": "left anti",
}  # fmt: skip
_FRAGMENTS_MAX = 64
_IMPORTS = """\
import pyarrow.compute as pc
import pyarrow.dataset as ds

"""
_MISSING = (
    "%", "try cast", "null in list", "null safe join", "limited relation", "distinct relation", "group by",
    "min", "max", "count", "sum", "filtered aggregate", "having", "second join", "parameters",
    "join condition",
)  # fmt: skip


class OnArrow(Adapter):
    """Runs questions on datasets, with expressions of `pyarrow.compute`."""

    def __init__(self) -> None:
        self.options = ""
        self.columns: dict[str, list[str]] = {}

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of pyarrow."""
        return {
            "engine": "arrow",
            "version": pa.__version__,
            "tables": "files",
            "areas": ["filter", "limit", "join", "aggregate"],
            "without": {
                "functions": [*_MISSING, "list element", *(() if _reads_fields() else ("struct field",))],
                "types": [],
                "joins": ["not in"],
            },
            "settings": {"use_threads": ["true", "false"], "batch_size": ["131072", "3"]},
            "single_threaded": {"use_threads": "false"},
            "writes": False,
        }

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes a dataset for each table, of its files or of its rows."""
        self.options = ""
        if "use_threads" in settings:
            self.options += f", use_threads={settings['use_threads'] == 'true'}"
        if "batch_size" in settings:
            self.options += f", batch_size={int(settings['batch_size'])}"
        text = ROWS + _IMPORTS
        for name, table in tables.items():
            self.columns[name] = [column["name"] for column in table["columns"]]
            text += f"{name} = {_dataset(table)}\n"
        return text, {}

    def ask(self, question: dict[str, Any]) -> str:
        """Return text of a scan, whose dataset and condition `read` uses, or of a join of two scans."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        if question["order"] or question["group"] or question.get("having") is not None:
            raise Unsupported("orders and groups")
        if any(part != {"function": "count", "of": None} for part in question["aggregates"]):
            raise Unsupported("aggregates other than count(*)")
        if question["aggregates"] and (question["limit"] is not None or question["offset"]):
            raise Unsupported("a limit of one row")
        if question["join"]:
            return f"answer = {self._join_text(question)}\n"
        if question["where"] is not None:
            raise Unsupported("a condition on a subquery")
        source = question["source"]
        _only_filtered(source)
        where = "None" if source["where"] is None else arrow_expression(source["where"])
        lines = [
            f"dataset = {source['table']}",
            f"condition = {where}",
            f"answer = {self._scan_text(question)}",
        ]
        return "\n".join(lines) + "\n"

    def _scan_text(self, question: dict[str, Any]) -> str:
        """Return the text of a scan."""
        if question["aggregates"]:
            counts = [f"dataset.count_rows(filter=condition{self.options})"] * len(question["aggregates"])
            return f"[[{', '.join(counts)}]]"
        columns = _columns_text(question["source"], question["select"])
        arguments = f"columns={columns}, filter=condition{self.options}"
        offset, limit = question["offset"], question["limit"]
        scan = f"to_table({arguments})" if limit is None else f"head({limit + offset}, {arguments})"
        return f"rows(dataset.{scan}{f'.slice({offset})' if offset else ''}.to_batches())"

    def _join_text(self, question: dict[str, Any]) -> str:
        """Return text that joins two scans in memory, since a dataset's own join reads every column."""
        if question.get("second"):
            raise Unsupported("two joins")
        join = question["join"]
        if join["kind"] not in _JOINS:
            raise Unsupported("the join " + join["kind"])
        if join["null_safe"]:
            raise Unsupported("joins in which NULL equals NULL")
        keys = f"keys={join['left_key']!r}, right_keys={join['right_key']!r}, coalesce_keys=False"
        sides = self._side(question["source"]), self._side(join["right"])
        text = f"{sides[0]}.join({sides[1]}, {keys}, join_type={_JOINS[join['kind']]!r})"
        if question["where"] is not None:
            text += f".filter({arrow_expression(question['where'])})"
        if question["aggregates"]:
            return f"[[{text}.num_rows] * {len(question['aggregates'])}]"
        if question["limit"] is not None or question["offset"]:
            text += f".slice({question['offset']}, {question['limit']})"
        return f"rows({text}.select({question['select']!r}).to_batches())"

    def _side(self, relation: dict[str, Any]) -> str:
        """Return the Python text that reads one side of a join, filtered, into an Arrow table."""
        _only_filtered(relation)
        where = "" if relation["where"] is None else f", filter={arrow_expression(relation['where'])}"
        columns = _columns_text(relation, self.columns[relation["table"]])
        return f"{relation['table']}.to_table(columns={columns}{where}{self.options})"

    def read(self, names: dict[str, Any]) -> dict[str, int] | None:
        """Return the number of row groups that a scan of files reads; None for joins and rows in memory."""
        dataset, condition = names.get("dataset"), names.get("condition")
        if condition is None or not isinstance(dataset, ds.FileSystemDataset):
            return None
        if len(dataset.files) > _FRAGMENTS_MAX:
            return None
        read, total = 0, 0
        try:
            for fragment in dataset.get_fragments():
                fragment.ensure_complete_metadata()
                total += len(fragment.row_groups)
                read += len(fragment.subset(condition, schema=dataset.schema).row_groups)
        except (pa.ArrowException, OSError):
            return None
        return {"row_groups": read, "of": total}


def _dataset(table: dict[str, Any]) -> str:
    """Return the text of a dataset; it has a schema only if the first file does not determine it."""
    columns = table["columns"]
    if "files" not in table:
        return f"ds.dataset({arrow_table(columns, flattened(table), schema=arrow_schema(columns))})"
    options = ""
    if table.get("schemas_differ"):
        options += f", schema={arrow_schema(columns)}"
    if table.get("partitions"):
        held = [column for column in columns if column["name"] in table["partitions"][0]]
        options += f", partitioning=ds.partitioning({arrow_schema(held)}, flavor='hive')"
    return f"ds.dataset({table['files']!r}, format='parquet'{options})"


def _columns_text(relation: dict[str, Any], names: list[str]) -> str:
    """Return the text of the columns that a scan returns, fields of structs under the names of columns."""
    if "columns" not in relation:
        return repr(names)
    columns = {column["name"]: {"column": column["name"], **column} for column in relation["columns"]}
    return f"{{{', '.join(f'{name!r}: {arrow_expression(columns[name])}' for name in names)}}}"


@functools.cache
def _reads_fields() -> bool:
    """Tell whether this release has expressions of the fields of a struct."""
    small = ds.dataset(pa.table({"s": [{"a": 2}, None]}))
    try:
        read = small.to_table(columns={"a": pc.field("s", "a")}, filter=pc.field("s", "a") > 1)
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return bool(read.to_pydict() == {"a": [2]})


def _only_filtered(relation: dict[str, Any]) -> None:
    """Refuse a relation that does more than filter."""
    if relation["distinct"] or relation["order"] or relation["limit"] is not None or relation["offset"]:
        raise Unsupported("subqueries that do more than filter")


ADAPTER = OnArrow
