"""pyarrow.dataset on the stand: datasets of Parquet files, datasets of tables in memory as their twins.

It orders nothing by pruning, so that it is asked no top-k.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from .serving import Adapter, Unsupported, flattened, parsed, to_python

_PLAIN_TYPES = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "string",
    "binary", "date32",
)  # fmt: skip
# The types that a plain Python value has for pyarrow.
_PLAIN_LITERALS = ("boolean", "int64", "float64", "string")
_INFIX = {
    "=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "+": "+", "-": "-", "*": "*",
}  # fmt: skip
_METHODS = {"is null": "is_null()", "is not null": "is_valid()", "is nan": "is_nan()"}
_JOINS = {
    "inner": "inner", "left": "left outer", "right": "right outer", "full": "full outer", "semi": "left semi",
    "anti": "left anti",
}  # fmt: skip
_FRAGMENTS_MAX = 64
_PRELUDE = """\
from decimal import Decimal
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

def cells(column):
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).to_pylist()
    if not pa.types.is_timestamp(column.type):
        return column.to_pylist()
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
    counts = column.cast(pa.int64()).to_pylist()
    return [None if count is None else count * 10**6 // per_second for count in counts]

def rows(table):
    return list(zip(*(cells(column) for column in table.columns)))

"""

_MISSING = (
    "%", "try cast", "null in list", "null safe join", "limited relation", "distinct relation", "group by",
    "min", "max", "count",
)  # fmt: skip


class OnArrow(Adapter):
    """Asks datasets, with the expressions of `pyarrow.compute`."""

    def __init__(self) -> None:
        self.options = ""
        self.columns: dict[str, list[str]] = {}

    def hello(self) -> dict[str, Any]:
        """What pyarrow can be asked."""
        return {
            "engine": "arrow",
            "version": pa.__version__,
            "tables": "files",
            "areas": ["filter", "limit", "join", "aggregate"],
            "without": {
                "functions": list(_MISSING),
                "types": [],
                "joins": ["not in"],
            },
            "settings": {"use_threads": ["true", "false"], "batch_size": ["131072", "3"]},
            "writes": False,
        }

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """A dataset for each table, of its files or of its rows."""
        self.options = ""
        if "use_threads" in settings:
            self.options += ", use_threads={}".format(settings["use_threads"] == "true")
        if "batch_size" in settings:
            self.options += ", batch_size={}".format(int(settings["batch_size"]))
        lines, names = [], {}
        for name, table in tables.items():
            self.columns[name] = [column["name"] for column in table["columns"]]
            if "files" in table:
                lines.append(f"{name} = {_dataset(table)}")
            else:
                names[name] = table
                lines.append(f"{name} = ds.dataset(in_memory({name}))")
        return _PRELUDE + "\n".join(lines) + "\n", dict(names, in_memory=in_memory)

    def ask(self, question: dict[str, Any]) -> str:
        """A scan, whose dataset and condition remain for `read`; or a join of two scans."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        if question["order"] or question["group"]:
            raise Unsupported("orders and groups")
        if any(part != {"function": "count", "of": None} for part in question["aggregates"]):
            raise Unsupported("aggregates other than count(*)")
        if question["aggregates"] and (question["limit"] is not None or question["offset"]):
            raise Unsupported("a limit of one row")
        if question["join"]:
            return f"answer = {self._joined(question)}\n"
        if question["where"] is not None:
            raise Unsupported("a condition on a subquery")
        source = question["source"]
        _only_filtered(source)
        where = "None" if source["where"] is None else _term(source["where"])
        lines = [
            f"dataset = {source['table']}",
            f"condition = {where}",
            f"answer = {self._scanned(question)}",
        ]
        return "\n".join(lines) + "\n"

    def _scanned(self, question: dict[str, Any]) -> str:
        if question["aggregates"]:
            count = f"dataset.count_rows(filter=condition{self.options})"
            return "[[{}]]".format(", ".join([count] * len(question["aggregates"])))
        given = f"columns={question['select']!r}, filter=condition{self.options}"
        offset, limit = question["offset"], question["limit"]
        scan = f"to_table({given})" if limit is None else f"head({limit + offset}, {given})"
        return f"rows(dataset.{scan}{f'.slice({offset})' if offset else ''})"

    def _joined(self, question: dict[str, Any]) -> str:
        """A join in memory of what two scans leave; a dataset's own join reads every column of its files."""
        join = question["join"]
        if join["kind"] not in _JOINS:
            raise Unsupported("the join " + join["kind"])
        if join["null_safe"]:
            raise Unsupported("joins in which NULL equals NULL")
        text = "{}.join({}, keys={!r}, right_keys={!r}, join_type={!r}, coalesce_keys=False)".format(
            self._side(question["source"]),
            self._side(join["right"]),
            join["left_key"],
            join["right_key"],
            _JOINS[join["kind"]],
        )
        if question["where"] is not None:
            text += f".filter({_term(question['where'])})"
        if question["aggregates"]:
            return f"[[{text}.num_rows] * {len(question['aggregates'])}]"
        if question["limit"] is not None or question["offset"]:
            text += f".slice({question['offset']}, {question['limit']})"
        return f"rows({text}.select({question['select']!r}))"

    def _side(self, relation: dict[str, Any]) -> str:
        _only_filtered(relation)
        where = "" if relation["where"] is None else f", filter={_term(relation['where'])}"
        columns = self.columns[relation["table"]]
        return f"{relation['table']}.to_table(columns={columns!r}{where}{self.options})"

    def read(self, names: dict[str, Any]) -> dict[str, int] | None:
        """The row groups that a scan's condition leaves of files; None for joins and for rows in memory."""
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


def in_memory(table: dict[str, Any]) -> Any:
    """A table that is given as blocks, as one table of pyarrow."""
    rows = flattened(table)
    arrays = [
        pa.array([_python(row[at], column["type"]) for row in rows], _dtype(column["type"]))
        for at, column in enumerate(table["columns"])
    ]
    return pa.Table.from_arrays(arrays, names=[column["name"] for column in table["columns"]])


def _python(value: Any, type_: str) -> Any:
    """A cell as what `pa.array` takes; dates and moments stay counts."""
    word, inside = _nested(type_)
    if value is None or word in ("date", "timestamp"):
        return value
    if word == "list":
        return [_python(part, inside[0]) for part in value]
    if word == "struct":
        fields = (field.split(" ", 1) for field in inside)
        return {name: _python(value[name], part) for name, part in fields}
    return to_python(value, type_)


def _nested(type_: str) -> tuple[str, list[str]]:
    """A type's word and the parts that its outermost parentheses hold."""
    word, _, rest = type_.partition("(")
    parts, depth = [""], 0
    for character in rest[:-1]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return word, [part.strip() for part in parts]


def _type(type_: str) -> str:
    """A type as Python text."""
    word, inside = _nested(type_)
    if word == "decimal":
        return "pa.decimal{}({}, {})".format(128 if int(inside[0]) <= 38 else 256, *inside)
    if word == "timestamp":
        return "pa.timestamp({})".format(", ".join(repr(part) for part in inside))
    if word == "list":
        return f"pa.list_({_type(inside[0])})"
    if word == "struct":
        fields = (field.split(" ", 1) for field in inside)
        return "pa.struct([{}])".format(", ".join(f"({name!r}, {_type(part)})" for name, part in fields))
    known = {"boolean": "bool_", "date": "date32"}.get(word, word)
    if known != "bool_" and known not in _PLAIN_TYPES:
        raise Unsupported("the type " + type_)
    return f"pa.{known}()"


def _dtype(type_: str) -> Any:
    return eval(_type(type_), {"pa": pa})


def _dataset(table: dict[str, Any]) -> str:
    """A dataset of files; its schema is told only where it cannot be read off the first file."""
    options = ""
    if table.get("schemas_differ"):
        options += ", schema=" + _schema(table, {column["name"] for column in table["columns"]})
    if table.get("partitions"):
        held = _schema(table, set(table["partitions"][0]))
        options += f", partitioning=ds.partitioning({held}, flavor='hive')"
    return "ds.dataset({!r}, format='parquet'{})".format(table["files"], options)


def _schema(table: dict[str, Any], names: set[str]) -> str:
    typed = ("({!r}, {})".format(c["name"], _type(c["type"])) for c in table["columns"] if c["name"] in names)
    return "pa.schema([{}])".format(", ".join(typed))


def _only_filtered(relation: dict[str, Any]) -> None:
    if relation["distinct"] or relation["order"] or relation["limit"] is not None or relation["offset"]:
        raise Unsupported("subqueries that do more than filter")


def _term(term: dict[str, Any]) -> str:
    """An expression, to which a method's call can be appended."""
    if "column" in term:
        return "pc.field({!r})".format(term["column"])
    if "literal" in term:
        return "pc.scalar({})".format(_scalar(term["literal"], term["type"]))
    return _call(term["call"], term["of"], term)


def _scalar(value: Any, type_: str) -> str:
    """A constant of exactly its type."""
    word, _ = parsed(type_)
    if value is None:
        return f"pa.scalar(None, {_type(type_)})"
    text = _constant(value, type_)
    return text if word in _PLAIN_LITERALS else f"pa.scalar({text}, {_type(type_)})"


def _constant(value: Any, type_: str) -> str:
    """A value as Python text, which has no word for NaN and infinity."""
    if isinstance(value, str) and type_ in ("float32", "float64"):
        return f"float({value!r})"
    return repr(_python(value, type_))


def _operand(term: dict[str, Any]) -> str:
    """A right operand: literals as they are."""
    return _scalar(term["literal"], term["type"]) if "literal" in term else _term(term)


def _call(function: str, of: list[Any], term: dict[str, Any]) -> str:
    """A function's call."""
    first = _term(of[0])
    if function in _INFIX:
        return f"({first} {_INFIX[function]} {_operand(of[1])})"
    if function in ("and", "or"):
        return "({})".format((" & " if function == "and" else " | ").join(_term(part) for part in of))
    if function == "not":
        return f"(~{first})"
    if function in _METHODS:
        return f"{first}.{_METHODS[function]}"
    if function in ("is not distinct from", "is distinct from"):
        return _same(first, _term(of[1]), function == "is distinct from")
    if function == "is true":
        return _true(first)
    if function == "abs":
        return f"pc.abs({first})"
    if function == "cast":
        return "{}.cast({}, safe=True)".format(first, _type(term["type"]))
    if function == "coalesce":
        return "pc.coalesce({})".format(", ".join(_term(part) for part in of))
    if function == "if":
        return f"pc.if_else({_true(first)}, {_term(of[1])}, {_term(of[2])})"
    if function == "between":
        return f"(({first} >= {_operand(of[1])}) & ({first} <= {_operand(of[2])}))"
    if function == "in":
        return f"{first}.isin({_values(of[1:])})"
    if function in ("like", "starts with"):
        called = "match_like" if function == "like" else "starts_with"
        return f"pc.{called}({first}, {_text(of[1])!r})"
    raise Unsupported("the function " + function)


def _same(left: str, right: str, negated: bool) -> str:
    """Equality to which NULL is a value, by the logic of three values."""
    valid = f"{left}.is_valid() & {right}.is_valid()"
    text = f"((({left} == {right}) & {valid}) | ({left}.is_null() & {right}.is_null()))"
    return f"(~{text})" if negated else text


def _true(condition: str) -> str:
    return f"pc.coalesce({condition}, pc.scalar(False))"


def _values(literals: list[dict[str, Any]]) -> str:
    """What isin is given; to it a NULL in the list equals NULL, which the question does not mean."""
    if any(term.get("literal") is None for term in literals):
        raise Unsupported("IN with NULL, or with other terms than literals")
    type_ = literals[0]["type"]
    texts = ", ".join(_constant(term["literal"], type_) for term in literals)
    return f"pa.array([{texts}], {_type(type_)})"


def _text(term: dict[str, Any]) -> str:
    if not isinstance(term.get("literal"), str):
        raise Unsupported("patterns that are no literal text")
    return str(term["literal"])


ADAPTER = OnArrow
