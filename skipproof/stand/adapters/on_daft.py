"""The adapter of Daft, asked by SQL; the pruned form is Parquet files, the plain form tables of Arrow."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, ClassVar

from .arrow_text import ROWS, arrow_schema, arrow_table
from .serving import Adapter, Unsupported, flattened
from .sql_text import Dialect

# CASE is NULL where its condition is, and a substring of no characters is NULL.
_MISSING = (
    "<<", ">>", "nullif", "filtered aggregate", "truncate to year", "truncate to month", "truncate to day",
    "null safe join", "unordered window", "if", "substring", "struct field", "list element", "parameters",
    "join condition",
)  # fmt: skip
# Its SQL has no literals of bytes, of moments and of nanoseconds, and reads integers beyond int64 as floats.
_TYPES_MISSING = ("binary", "timestamp(ns)", "timestamp(us,UTC)", "uint64")
_JOINS_MISSING = ("semi", "anti", "intersect all", "except", "except all")
_SETTINGS = {
    "enable_scan_task_split_and_merge": ["False", "True"],
    "default_morsel_size": ["131072", "2"],
}


class Daft(Dialect):
    """The dialect of Daft, in which every column of an answer has a name of its own."""

    types: ClassVar[dict[str, str]] = dict(
        Dialect.types, uint8="UINT8", uint16="UINT16", uint32="UINT32", uint64="UINT64"
    )
    distinct: ClassVar[dict[str, str]] = {"is not distinct from": "<=>"}
    # A backslash escapes in every LIKE.
    like_escape = ""
    no_limit = f" LIMIT {2**62}"
    functions: ClassVar[dict[str, str]] = {
        "concat": "concat", "is nan": "is_nan", "year": "year", "month": "month", "day": "day",
    }  # fmt: skip
    infix: ClassVar[dict[str, str]] = {**Dialect.infix, "//": "//"}

    def __init__(self) -> None:
        super().__init__()
        self._aggregate_count = 0

    def call(self, function: str, of: list[Any], term: dict[str, Any]) -> str:
        """Return a function call."""
        if function == "is distinct from":
            return f"(NOT {super().call('is not distinct from', of, term)})"
        return super().call(function, of, term)

    def select(self, question: dict[str, Any]) -> str:
        """Return a question as one SELECT."""
        self._aggregate_count = 0
        return super().select(question)

    def answer_term(self, term: dict[str, Any]) -> str:
        """Return the expression of a group, with a name."""
        return f"{self.term(term)} AS {self.name('group')}"

    def answer_aggregate(self, aggregate: dict[str, Any]) -> str:
        """Return an aggregate with a name."""
        name = f"aggregate {self._aggregate_count}"
        self._aggregate_count += 1
        return f"{self.aggregate(aggregate)} AS {self.name(name)}"

    def set_operation(self, question: dict[str, Any], text: str) -> str:
        """Return a set operation whose second relation has the names of the first, which UNION needs."""
        operation = question["set"]
        word = operation["kind"].upper() + (" ALL" if operation["all"] else "")
        names = zip(operation["columns"], question["select"], strict=True)
        columns = ", ".join(f"{self.answer_column(column)} AS {self.name(name)}" for column, name in names)
        return f"{text} {word} SELECT {columns} FROM {self.relation(operation['right'])}"


class OnDaft(Adapter):
    """Runs questions on frames of Parquet files or of Arrow's tables."""

    def __init__(self) -> None:
        self.sql = Daft()

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of Daft."""
        return {
            "engine": "daft",
            "version": version("daft"),
            "tables": "files",
            "areas": ["filter", "limit", "topk", "join", "aggregate", "window", "set", "subquery"],
            "without": {
                "functions": list(_MISSING),
                "types": list(_TYPES_MISSING),
                "joins": list(_JOINS_MISSING),
            },
            "settings": _SETTINGS,
            "writes": False,
        }

    def start(self) -> str:
        """Return text that runs in this process alone, without a bar of progress."""
        return ROWS + "import os\n\nos.environ['DAFT_PROGRESS_BAR'] = '0'\nimport daft\n\n"

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes a frame for each table."""
        values = {name: settings.get(name, values[0]) for name, values in _SETTINGS.items()}
        arguments = ", ".join(f"{name}={value}" for name, value in values.items())
        text = f"daft.set_execution_config({arguments})\n"
        for name, table in tables.items():
            text += f"{name} = {self._frame(table)}\n"
        names = ", ".join(f"{name}={name}" for name in tables)
        return text + f"frames = dict({names})\n", {}

    def _frame(self, table: dict[str, Any]) -> str:
        """Return the text of a frame."""
        if "files" not in table:
            columns = table["columns"]
            return f"daft.from_arrow({arrow_table(columns, flattened(table), arrow_schema(columns))})"
        if table.get("partitions") or table.get("schemas_differ"):
            raise Unsupported("values in the names of directories, and files whose schemas differ")
        return f"daft.read_parquet({table['files']!r})"

    def ask(self, question: dict[str, Any]) -> str:
        """Return text that runs one statement."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        statement = self.sql.select(question)
        return f"answer = rows(daft.sql({statement!r}, **frames).to_arrow().to_batches())\n"


ADAPTER = OnDaft
