"""The adapter of PyIceberg, which scans the tables that it writes, with metrics or without."""

from __future__ import annotations

import datetime
import functools
import itertools
from importlib.metadata import version
from typing import Any

from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table

from .arrow_text import ROWS, arrow_cell
from .iceberg_tables import IcebergTables
from .serving import Adapter, Unsupported, parse_type

_FUNCTIONS_MISSING = [
    "is not distinct from", "is distinct from", "is true", "like", "expression", "column comparison",
    "null in list", "limited relation", "distinct relation", "update", "parameters",
]  # fmt: skip
_JOINS_MISSING = ["inner", "left", "right", "full", "semi", "anti", "not in"]
_COMPARISONS = {
    "=": "EqualTo", "!=": "NotEqualTo", "<": "LessThan", "<=": "LessThanOrEqual", ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_TESTS = {"is null": "IsNull", "is not null": "NotNull", "is nan": "IsNaN"}


class OnIceberg(Adapter):
    """Makes new tables for each request, in one catalog."""

    def __init__(self) -> None:
        self.tables = IcebergTables()
        self.numbers = itertools.count()

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of PyIceberg, which tests columns against literals."""
        return {
            "engine": "iceberg",
            "version": version("pyiceberg"),
            "tables": "own",
            "areas": ["filter", "limit", *(["dml"] if hasattr(Table, "delete") else [])],
            "without": {
                "functions": _FUNCTIONS_MISSING,
                "types": IcebergTables.types_missing,
                "joins": _JOINS_MISSING,
            },
            "settings": {},
            "layouts": self.tables.layouts(),
            "writes": False,
        }

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes tables, after the imports of the names in conditions."""
        if any("files" in table for table in tables.values()):
            raise Unsupported("Parquet files that are no Iceberg table")
        text, names = self.tables.creation(tables)
        return "from pyiceberg.expressions import *\n" + text + ROWS, names

    def ask(self, question: dict[str, Any]) -> str:
        """Return text of one scan, or of one delete and a scan of the table after it."""
        if question["change"]:
            return self._change_text(question)
        return _scan_text(question, _condition(question), _limit(question))

    def _change_text(self, question: dict[str, Any]) -> str:
        """Return text that deletes from a copy of a table and reads it."""
        if question["change"] != "delete":
            raise Unsupported("updates")
        source = question["source"]
        name, location = f"n.changed_{next(self.numbers)}", f"tables[{source['table']!r}].metadata_location"
        text = f"table = catalog.register_table({name!r}, {location})\n"
        text += f"table.delete({_condition(question) or 'AlwaysTrue()'})\n"
        return text + _scan_text(question, None, None, of="table")

    def read(self, names: dict[str, Any]) -> dict[str, int] | None:
        """Return the number of data files that the last scan planned, and of all files."""
        if "table" in names:
            return None
        snapshot = names["of"].current_snapshot()
        files = 0 if snapshot is None else int(snapshot.summary["total-data-files"])
        return {"files": len(list(names["scan"].plan_files())), "of": files}


def _condition(question: dict[str, Any]) -> str | None:
    """Return the expression of a question that only filters; refuse other questions."""
    source = question["source"]
    if question["join"] or question["aggregates"] or question["group"] or question["order"]:
        raise Unsupported("anything but filters and limits")
    if source["distinct"] or source["order"] or source["offset"]:
        raise Unsupported("subqueries with DISTINCT, ORDER BY and OFFSET")
    if source["limit"] is not None and question["offset"]:
        raise Unsupported("an offset after a limit")
    if source["limit"] is not None and question["where"] is not None:
        raise Unsupported("a filter after a limit")
    both = [expression(where) for where in (source["where"], question["where"]) if where is not None]
    return f"And({', '.join(both)})" if len(both) == 2 else (both[0] if both else None)


def _limit(question: dict[str, Any]) -> int | None:
    """Return the number of rows to scan, or None."""
    limits = [limit for limit in (question["source"]["limit"], question["limit"]) if limit is not None]
    return min(limits) + question["offset"] if limits else None


def _scan_text(
    question: dict[str, Any], condition: str | None, limit: int | None, of: str | None = None
) -> str:
    """Return text that scans a table."""
    arguments = [] if condition is None else [f"row_filter={condition}"]
    selected = tuple(question["select"])
    if selected:
        arguments.append(f"selected_fields={selected!r}")
    if limit is not None:
        arguments.append(f"limit={limit}")
    table = of or f"tables[{question['source']['table']!r}]"
    cut = f".slice({question['offset']})" if question["offset"] else ""
    text = f"of = {table}\nscan = of.scan({', '.join(arguments)})\nfound = scan.to_arrow(){cut}\n"
    if selected:
        text += f"found = found.select({list(selected)!r})\n"
    return text + "answer = rows(found.to_batches())\n"


def expression(term: dict[str, Any]) -> str:
    """Return the text of a PyIceberg expression."""
    if "column" in term:
        return f"EqualTo({term['column']!r}, True)"
    if "literal" in term:
        if term["literal"] is None:
            raise Unsupported("NULL as a condition")
        return "AlwaysTrue()" if term["literal"] else "AlwaysFalse()"
    function, of = term["call"], term["of"]
    if function in ("and", "or") and len(of) > 1:
        return f"{function.capitalize()}({', '.join(map(expression, of))})"
    if function in ("and", "or"):
        return expression(of[0])
    if function == "not":
        return f"Not({expression(of[0])})"
    if function in _TESTS:
        return f"{_TESTS[function]}({_column(of[0])})"
    if function in _COMPARISONS:
        left, right = of
        if "literal" in left:
            left, right, function = right, left, _MIRRORED[function]
        return f"{_COMPARISONS[function]}({_column(left)}, {_literal(right)})"
    return _many_operands(function, of)


def _many_operands(function: str, of: list[Any]) -> str:
    """Return the text of IN, BETWEEN or STARTS WITH."""
    column = _column(of[0])
    if function == "in":
        return f"In({column}, [{', '.join(map(_literal, of[1:]))}])"
    if function == "between":
        lower, upper = _literal(of[1]), _literal(of[2])
        return f"And(GreaterThanOrEqual({column}, {lower}), LessThanOrEqual({column}, {upper}))"
    if function == "starts with":
        return f"StartsWith({column}, {_literal(of[1])})"
    raise Unsupported("the function " + function)


def _column(term: dict[str, Any]) -> str:
    """Return the name of a column as text; refuse other terms."""
    if "column" not in term:
        raise Unsupported("anything but a column beside a literal")
    return repr(term["column"])


def _literal(term: dict[str, Any]) -> str:
    """Return the text of a literal; dates and times are Python's own."""
    if "literal" not in term:
        raise Unsupported("anything but a literal beside a column")
    value, type_ = term["literal"], term["type"]
    word, inside = parse_type(type_)
    if value is None or value in ("NaN", "-NaN"):
        raise Unsupported("NULL and NaN as literals")
    if word == "date":
        return _time_text(f"datetime.date(1970, 1, 1) + datetime.timedelta({value})")
    if word == "timestamp":
        zone = ", tzinfo=datetime.timezone.utc" if len(inside) > 1 else ""
        if inside[0] == "ns":
            raise Unsupported("nanoseconds")
        micros = value * 1_000 if inside[0] == "ms" else value
        return _time_text(f"datetime.datetime(1970, 1, 1{zone}) + datetime.timedelta(microseconds={micros})")
    return arrow_cell(value, type_)


def _time_text(text: str) -> str:
    """Return the text of a date or a time; early releases need a string."""
    return text if _takes_times() else f"({text}).isoformat()"


@functools.cache
def _takes_times() -> bool:
    """Tell whether literals of this release can be dates and times."""
    try:
        return all(
            literal(time) is not None for time in (datetime.date(1970, 1, 1), datetime.datetime(1970, 1, 1))
        )
    except TypeError:
        return False


ADAPTER = OnIceberg
