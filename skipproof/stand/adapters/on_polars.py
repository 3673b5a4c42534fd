"""Polars on the stand: Parquet files by `scan_parquet`, frames in memory as their twins.

Its interface changed often. What this version has is found out by looking at signatures and by asking frames
of a few rows, and what it lacks is said.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Callable
from typing import Any

import polars as pl

from .serving import Adapter, Unsupported, flattened, parsed, to_python

_VERSION = tuple(int(part) for part in re.findall(r"\d+", pl.__version__)[:3])
_PLAIN_TYPES = {
    "boolean": "Boolean", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64",
    "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float32": "Float32",
    "float64": "Float64", "string": "Utf8", "binary": "Binary", "date": "Date",
}  # fmt: skip
# One value of each type that some version lacks.
_SAMPLES = {
    "uint64": 2**63, "decimal": "1.50", "binary": "00ff", "date": 1, "timestamp(ms)": 1,
    "timestamp(us)": 1, "timestamp(ns)": 1000, "timestamp(us,UTC)": 1, "list": [1, None], "struct": {"x": 1},
}  # fmt: skip
_INFIX = {
    "=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "+": "+", "-": "-", "*": "*", "%": "%",
}  # fmt: skip
_METHODS = {
    "is null": "is_null()", "is not null": "is_not_null()", "is true": "fill_null(False)",
    "is nan": "is_nan()", "abs": "abs()",
}  # fmt: skip
_MISSING_EQUAL = {"is not distinct from": "eq_missing", "is distinct from": "ne_missing"}
_PARAMETERS = {"decimal": "(9,2)", "list": "(int64)", "struct": "(x int64)"}
# The characters that mean something in a pattern of Rust's `regex`.
_META = frozenset("\\.+*?()|[]{}^$#&-~")
_HOW = {
    "inner": ("inner",), "left": ("left",), "right": ("right",), "full": ("full", "outer"), "semi": ("semi",),
    "anti": ("anti",),
}  # fmt: skip


def _keyword(function: Any, *names: str) -> str | None:
    """The first of these names that a function has as a parameter."""
    parameters = inspect.signature(function).parameters
    return next((name for name in names if name in parameters), None)


_COLLECT, _SCAN = pl.LazyFrame.collect, pl.scan_parquet
_DESCENDING = _keyword(pl.LazyFrame.sort, "descending", "reverse")
_NULLS_EQUAL = _keyword(pl.LazyFrame.join, "nulls_equal", "join_nulls")
_HAS_COALESCE = _keyword(pl.LazyFrame.join, "coalesce") is not None
_GROUP_BY = "group_by" if hasattr(pl.LazyFrame, "group_by") else "groupby"
_LENGTH = "pl.len()" if hasattr(pl, "len") else "pl.count()"
_HAS_STREAMING_ENGINE = _VERSION >= (1, 23)
_SCANS_LISTS = any(
    word in str(next(iter(inspect.signature(_SCAN).parameters.values())).annotation)
    for word in ("list", "FileSource")
)
_UNIQUE = "unique" if hasattr(pl.LazyFrame, "unique") else "distinct"
_WRITE = "write_parquet" if hasattr(pl.DataFrame, "write_parquet") else "to_parquet"
_SLICES_TO_THE_END = inspect.signature(pl.LazyFrame.slice).parameters["length"].default is None
_HAS_NULLS_LAST = _keyword(pl.LazyFrame.sort, "nulls_last") is not None


class OnPolars(Adapter):
    """Asks lazy frames; a table's columns stand in the text of a question by their names alone."""

    def __init__(self) -> None:
        self.collect = "collect()"

    def hello(self) -> dict[str, Any]:
        """What this version of Polars can be asked."""
        return {
            "engine": "polars",
            "version": pl.__version__,
            "tables": "files",
            "areas": ["filter", "limit", "topk", "join", "aggregate"],
            "without": {
                "functions": list(_functions_missing()),
                "types": list(_types_missing()),
                "joins": [*(kind for kind in _HOW if _how(kind) is None), "not in"],
            },
            "settings": _settings(),
            "writes": True,
        }

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """A lazy frame for each table, of its files or of its rows."""
        self.collect = _collect(settings.get("streaming") == "true")
        lines = ["import datetime", "from decimal import Decimal", "import polars as pl"]
        names = {}
        for name, table in tables.items():
            _check_types(table)
            if "files" in table:
                lines.append(f"{name} = {_scan(table, settings)}")
            else:
                names[name] = table
                lines.append(f"{name} = frame({name}).lazy()")
        return "\n".join(lines) + "\n", dict(names, frame=frame)

    def ask(self, question: dict[str, Any]) -> str:
        """One chain of calls."""
        if question["change"]:
            raise Unsupported("changes of Parquet files")
        text = _relation(question["source"])
        if question["join"]:
            text = _joined(text, question)
        if question["where"] is not None:
            text += ".filter({})".format(_term(question["where"]))
        if question["aggregates"] or question["group"]:
            text += _aggregated(question) + _tail(question)
        else:
            text += _tail(question) + ".select({!r})".format(question["select"])
        return f"answer = {text}.{self.collect}.rows()\n"

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Rows by `write_parquet`, in the order of their blocks."""
        given = {name: value for name, value in options.items() if value is not None}
        for name in given:
            if _keyword(getattr(pl.DataFrame, _WRITE), name) is None:
                raise Unsupported("writing with " + name)
        getattr(frame(table), _WRITE)(path, **given)


def frame(table: dict[str, Any]) -> Any:
    """A table that is given as blocks, as one frame."""
    rows = flattened(table)
    return pl.DataFrame(
        [_series(c["name"], [row[at] for row in rows], c["type"]) for at, c in enumerate(table["columns"])]
    )


def _series(name: str, values: list[Any], type_: str) -> Any:
    """Dates and moments from their counts, so that those which Python lacks can be told too."""
    word, _ = parsed(type_)
    if word in ("date", "timestamp"):
        return pl.Series(name, values, dtype=pl.Int32 if word == "date" else pl.Int64).cast(_dtype(type_))
    return pl.Series(name, [_python(value, type_) for value in values], dtype=_dtype(type_))


def _python(value: Any, type_: str) -> Any:
    """A cell as Python's own value."""
    word, inside = _nested(type_)
    if value is None:
        return None
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
        return "pl.Decimal({}, {})".format(*inside)
    if word == "timestamp":
        return "pl.Datetime({})".format(", ".join(repr(part) for part in inside))
    if word == "list":
        return f"pl.List({_type(inside[0])})"
    if word == "struct":
        fields = (field.split(" ", 1) for field in inside)
        return "pl.Struct([{}])".format(
            ", ".join(f"pl.Field({name!r}, {_type(part)})" for name, part in fields)
        )
    if word not in _PLAIN_TYPES:
        raise Unsupported("the type " + type_)
    return "pl." + _PLAIN_TYPES[word]


def _dtype(type_: str) -> Any:
    try:
        return eval(_type(type_), {"pl": pl})
    except (AttributeError, TypeError) as error:
        raise Unsupported("the type " + type_) from error


def _works(rows_are_right: Callable[[], bool]) -> bool:
    """Whether a few rows come out right; panics of Rust, which are no `Exception`, are wrong too."""
    try:
        return bool(rows_are_right())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return False


@functools.cache
def _types_missing() -> tuple[str, ...]:
    return tuple(word for word in _SAMPLES if not _holds(word))


def _check_types(table: dict[str, Any]) -> None:
    for column in table["columns"]:
        if {column["type"], _nested(column["type"])[0]}.intersection(_types_missing()):
            raise Unsupported("the type " + column["type"])


def _holds(word: str) -> bool:
    """Whether a series of a type gives back what was put in; early decimals are not to be relied on."""
    type_, sample = word + _PARAMETERS.get(word, ""), _SAMPLES[word]
    if word == "decimal" and _VERSION < (1,):
        return False
    if word.startswith("timestamp"):
        return _works(lambda: _series("x", [sample], type_).cast(pl.Int64).to_list() == [sample])
    return _works(lambda: _series("x", [sample], type_).to_list() == [_python(sample, type_)])


def _settings() -> dict[str, list[str]]:
    """The switches that this version has."""
    settings = {}
    if isinstance(inspect.signature(_SCAN).parameters["parallel"].default, str):
        strategies = ["auto", *(["prefiltered"] if _VERSION >= (1,) else []), "row_groups", "columns", "none"]
        settings["parallel"] = strategies
    if _HAS_STREAMING_ENGINE or _keyword(_COLLECT, "streaming"):
        settings["streaming"] = ["false", "true"]
    if _keyword(_SCAN, "use_statistics"):
        settings["use_statistics"] = ["true", "false"]
    return settings


def _collect(streaming: bool) -> str:
    if not streaming:
        return "collect()"
    return "collect(engine='streaming')" if _HAS_STREAMING_ENGINE else "collect(streaming=True)"


def _scan(table: dict[str, Any], settings: dict[str, str]) -> str:
    """The files of a table, as one scan where the version has that."""
    options = []
    if "parallel" in settings:
        options.append("parallel={!r}".format(settings["parallel"]))
    if "use_statistics" in settings:
        options.append("use_statistics={}".format(settings["use_statistics"] == "true"))
    options += _hive(table) + _unified(table)
    given = "".join(", " + option for option in options)
    if _SCANS_LISTS:
        return "pl.scan_parquet({!r}{})".format(table["files"], given)
    scans = [f"pl.scan_parquet({path!r}{given})" for path in table["files"]]
    return scans[0] if len(scans) == 1 else "pl.concat([{}])".format(", ".join(scans))


def _hive(table: dict[str, Any]) -> list[str]:
    if not table.get("partitions"):
        return []
    if _keyword(_SCAN, "hive_schema") is None:
        raise Unsupported("columns of directories' names, with their types")
    return ["hive_partitioning=True", "hive_schema=" + _schema(table, set(table["partitions"][0]))]


def _unified(table: dict[str, Any]) -> list[str]:
    if not table.get("schemas_differ"):
        return []
    if _keyword(_SCAN, "missing_columns") is None or _keyword(_SCAN, "extra_columns") is None:
        raise Unsupported("files of different columns and types")
    held = {column["name"] for column in table["columns"]}.difference(*(table.get("partitions") or [{}])[:1])
    casts = "integer_cast='upcast', float_cast='upcast', datetime_cast='nanosecond-downcast'"
    return [
        "schema=" + _schema(table, held),
        "missing_columns='insert'",
        "extra_columns='ignore'",
        f"cast_options=pl.ScanCastOptions({casts})",
    ]


def _schema(table: dict[str, Any], names: set[str]) -> str:
    typed = ("{!r}: {}".format(c["name"], _type(c["type"])) for c in table["columns"] if c["name"] in names)
    return "{" + ", ".join(typed) + "}"


def _relation(relation: dict[str, Any]) -> str:
    """A table, or what a subquery makes of it."""
    text = str(relation["table"])
    if relation["where"] is not None:
        text += ".filter({})".format(_term(relation["where"]))
    if relation["distinct"]:
        text += ".select([{!r}]).{}()".format(relation["distinct"], _UNIQUE)
    return text + _tail(relation)


def _tail(of: dict[str, Any]) -> str:
    """What ORDER BY, LIMIT and OFFSET are."""
    text = _sorted(of["order"]) if of["order"] else ""
    if of["offset"]:
        if of["limit"] is None and not _SLICES_TO_THE_END:
            raise Unsupported("an offset without a limit")
        length = "" if of["limit"] is None else ", {}".format(of["limit"])
        return text + ".slice({}{})".format(of["offset"], length)
    return text if of["limit"] is None else text + ".head({})".format(of["limit"])


def _sorted(keys: list[dict[str, Any]]) -> str:
    descending = tuple(key["descending"] for key in keys)
    nulls_last = tuple(not key["nulls_first"] for key in keys)
    if not _sorts(descending, nulls_last):
        raise Unsupported(f"{descending=}, {nulls_last=}")
    return _sort([_term(key["by"]) for key in keys], descending, nulls_last)


def _sort(by: list[str], descending: tuple[bool, ...], nulls_last: tuple[bool, ...]) -> str:
    """Switches as one value where all keys have the same, which early versions need."""
    last = nulls_last[0] if len(set(nulls_last)) == 1 else list(nulls_last)
    nulls = f", nulls_last={last}" if _HAS_NULLS_LAST else ""
    if len(by) == 1:
        return f".sort({by[0]}, {_DESCENDING}={descending[0]}{nulls})"
    return f".sort([{', '.join(by)}], {_DESCENDING}={list(descending)}{nulls})"


@functools.cache
def _sorts(descending: tuple[bool, ...], nulls_last: tuple[bool, ...]) -> bool:
    """Whether a frame of a few rows comes in the order that was asked for."""
    rows = list(itertools.product((2, None, 1), repeat=len(descending)))
    columns = [f"k{at}" for at in range(len(descending))]

    def rank(row: tuple[Any, ...]) -> list[tuple[bool, int]]:
        ranks = zip(row, descending, nulls_last)  # noqa: B905
        return [((v is None) == last, -(v or 0) if down else v or 0) for v, down, last in ranks]

    small = pl.DataFrame([pl.Series(name, cells) for name, cells in zip(columns, zip(*rows))])  # noqa: B905
    text = "small.lazy()" + _sort([f"pl.col({name!r})" for name in columns], descending, nulls_last)
    return _works(lambda: eval(text, {"pl": pl, "small": small}).collect().rows() == sorted(rows, key=rank))


def _aggregated(question: dict[str, Any]) -> str:
    parts = [
        f"{_aggregate(aggregate)}.alias('aggregate {at}')"
        for at, aggregate in enumerate(question["aggregates"])
    ]
    if question["group"]:
        return ".{}({!r}).agg([{}])".format(_GROUP_BY, question["group"], ", ".join(parts))
    return ".select([{}])".format(", ".join(parts))


def _aggregate(aggregate: dict[str, Any]) -> str:
    if aggregate["of"] is None:
        return _LENGTH
    column = "pl.col({!r})".format(aggregate["of"])
    if aggregate["function"] == "count" and not _counts_values():
        return column + ".is_not_null().sum()"
    return "{}.{}()".format(column, aggregate["function"])


@functools.cache
def _counts_values() -> bool:
    """Whether `count` leaves out NULL, which early versions counted."""
    return bool(pl.DataFrame({"a": [1, None]}).select([pl.col("a").count()]).rows() == [(1,)])


def _joined(left: str, question: dict[str, Any]) -> str:
    """A join whose two keys both remain wherever the question asks for them."""
    join = question["join"]
    kind, how = join["kind"], _how(join["kind"])
    if how is None:
        raise Unsupported("the join " + kind)
    right, left_key, right_key = _relation(join["right"]), join["left_key"], join["right_key"]
    options = f", how={how!r}"
    if join["null_safe"] and not _joins_nulls():
        if _NULLS_EQUAL is None:
            raise Unsupported("joins in which NULL equals NULL")
        options += f", {_NULLS_EQUAL}=True"
    if _joins_nulls() and not join["null_safe"]:
        if kind == "full":
            raise Unsupported("full joins in which NULL differs from NULL")
        right += f".filter(pl.col({right_key!r}).is_not_null())"
    dropped = {"inner": {right_key}, "left": {right_key}, "right": {left_key}, "full": {left_key, right_key}}
    if dropped.get(kind, set()) & _used(question):
        if _HAS_COALESCE:
            options += ", coalesce=False"
        else:
            left = f"{left}.with_columns([pl.col({left_key!r}).alias('left key')])"
            right = f"{right}.with_columns([pl.col({right_key!r}).alias('right key')])"
            left_key, right_key = "left key", "right key"
    return f"{left}.join({right}, left_on={left_key!r}, right_on={right_key!r}{options})"


@functools.cache
def _how(kind: str) -> str | None:
    """This version's word for a kind of join."""
    left, right = (pl.DataFrame({name: [1, 2]}).lazy() for name in "ab")

    def joins(how: str) -> bool:
        return len(left.join(right, left_on="a", right_on="b", how=how).collect().rows()) % 2 == 0

    return next((how for how in _HOW.get(kind, ()) if _works(functools.partial(joins, how))), None)


@functools.cache
def _joins_nulls() -> bool:
    """Whether NULL equals NULL in a join that says nothing of it, as in early versions."""
    left, right = (pl.DataFrame({name: [1, None]}).lazy() for name in "ab")
    return len(left.join(right, left_on="a", right_on="b", how="inner").collect().rows()) == 2


def _used(question: dict[str, Any]) -> set[str]:
    """The columns that a question needs after its join."""
    used = {*question["select"], question["group"], *(part["of"] for part in question["aggregates"])}
    terms = [question["where"], *(key["by"] for key in question["order"])]
    while terms:
        term = terms.pop()
        if term is not None:
            used.add(term.get("column"))
            terms += term.get("of", [])
    return used - {None}


@functools.cache
def _functions_missing() -> tuple[str, ...]:
    column = pl.col("a")
    missing = [function for function, method in _MISSING_EQUAL.items() if not hasattr(column, method)]
    if not hasattr(pl, "coalesce"):
        missing.append("coalesce")
    if not hasattr(column.str, "starts_with"):
        missing.append("starts with")
    if _NULLS_EQUAL is None and not _joins_nulls():
        missing.append("null safe join")
    return tuple(missing)


def _term(term: dict[str, Any]) -> str:
    """An expression, to which a method's call can be appended."""
    if "column" in term:
        return "pl.col({!r})".format(term["column"])
    if "literal" in term:
        return _literal(term)
    if term["call"] in _functions_missing():
        raise Unsupported("the function " + term["call"])
    return _call(term["call"], term["of"], term)


def _literal(term: dict[str, Any]) -> str:
    plain = _plain(term["literal"], term["type"])
    if plain is not None:
        return f"pl.lit({plain})"
    if parsed(term["type"])[0] == "uint64" and term["literal"] is not None and not _has_large_literals():
        raise Unsupported("literals beyond signed integers")
    return "pl.lit({!r}, dtype={})".format(term["literal"], _type(term["type"]))


@functools.cache
def _has_large_literals() -> bool:
    return _works(lambda: pl.lit(2**63, dtype=pl.UInt64) is not None)


def _plain(value: Any, type_: str) -> str | None:
    """The Python value that a user would write, or None where it would not mean the type."""
    word, inside = parsed(type_)
    nanoseconds = word == "timestamp" and inside[0] == "ns"
    if value is None or nanoseconds or (word == "uint64" and value >= 2**63):
        return None
    if word in ("float32", "float64") and isinstance(value, str):
        return f"float({value!r})"
    try:
        return repr(to_python(value, type_))
    except OverflowError:
        return None


def _operand(term: dict[str, Any]) -> str:
    """A right operand: literals as plain values."""
    plain = _plain(term["literal"], term["type"]) if "literal" in term else None
    return _term(term) if plain is None else plain


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
    if function in _MISSING_EQUAL:
        return f"{first}.{_MISSING_EQUAL[function]}({_operand(of[1])})"
    if function in ("cast", "try cast"):
        return "{}.cast({}, strict={})".format(first, _type(term["type"]), function == "cast")
    if function == "coalesce":
        return "pl.coalesce([{}])".format(", ".join(_term(part) for part in of))
    if function == "if":
        return "pl.when({}).then({}).otherwise({})".format(*(_term(part) for part in of))
    if function == "between":
        return f"(({first} >= {_operand(of[1])}) & ({first} <= {_operand(of[2])}))"
    if function == "in":
        return f"{first}.is_in({_values(of[1:])})"
    if function == "like":
        return f"{first}.str.contains({_pattern(_text(of[1]))!r})"
    if function == "starts with":
        return f"{first}.str.starts_with({_text(of[1])!r})"
    raise Unsupported("the function " + function)


def _values(literals: list[dict[str, Any]]) -> str:
    """What is_in is given: a list, or a series where plain values would not mean their type."""
    if any("literal" not in term for term in literals):
        raise Unsupported("IN with other terms than literals")
    values, type_ = [term["literal"] for term in literals], literals[0]["type"]
    plain = [repr(None) if value is None else _plain(value, type_) for value in values]
    if None not in plain and _is_in_takes(type_):
        return "[{}]".format(", ".join(str(part) for part in plain))
    if parsed(type_)[0] == "decimal":
        return "pl.Series([{}], dtype={})".format(", ".join(str(part) for part in plain), _type(type_))
    if parsed(type_)[0] == "uint64":
        return f"pl.Series({values!r}, dtype=pl.UInt64)"
    return f"pl.Series({values!r}, dtype=pl.Int64).cast({_type(type_)})"


@functools.cache
def _is_in_takes(type_: str) -> bool:
    """Whether plain decimals and moments are found among values of a type, as not in every version."""
    word = parsed(type_)[0]
    if word not in ("decimal", "timestamp"):
        return True
    small = pl.DataFrame([_series("x", [{"decimal": "0.5", "timestamp": 0}[word]], type_)])
    plain = small.rows()[0][0] if word == "decimal" else to_python(0, type_)
    asked = small.lazy().filter(pl.col("x").is_in([plain]))
    return _works(lambda: len(asked.collect().rows()) == 1)


def _text(term: dict[str, Any]) -> str:
    if not isinstance(term.get("literal"), str):
        raise Unsupported("patterns that are no literal text")
    return str(term["literal"])


def _pattern(like: str) -> str:
    """A LIKE pattern as one of Rust's `regex`."""
    text, characters = "", iter(like)
    for character in characters:
        if character in "%_":
            text += ".*" if character == "%" else "."
            continue
        if character == "\\":
            character = next(characters, "")
            if not character:
                raise Unsupported("a pattern that ends with its escape")
        text += "\\" + character if character in _META else character
    return f"(?s)^{text}$"


ADAPTER = OnPolars
