"""Arrow's types, values, tables and expressions as Python text, without importing pyarrow.

The texts use the names `pa`, `pc`, `Decimal`, `nan` and `inf`; `ROWS` defines all of them but `pc`.
"""

from __future__ import annotations

from typing import Any

from .serving import Unsupported, parse_nested_type, parse_type, struct_fields

# The names of values in programs.
VALUES = """\
import pyarrow as pa
from decimal import Decimal

nan, inf = float("nan"), float("inf")
"""
# The start of programs: functions that return the rows of Arrow batches, with dates and times as counts.
ROWS = f"""\
{VALUES}\
PER_MICROSECOND = {{"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}}

def cells(column):
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(column.type):
        times, per = PER_MICROSECOND[column.type.unit]
        counts = column.cast(pa.int64()).to_pylist()
        return [None if count is None else count * times // per for count in counts]
    return column.to_pylist()

def rows(batches):
    return [row for batch in batches for row in zip(*map(cells, batch.columns))]

"""
_TYPES = {
    "boolean": "bool_", "float32": "float32", "float64": "float64", "string": "string", "binary": "binary",
    "date": "date32", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8",
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
}  # fmt: skip
# The types that pyarrow gives to plain Python values.
_PLAIN_LITERALS = ("boolean", "int64", "float64", "string")
_INFIX = {
    "=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "+": "+", "-": "-", "*": "*",
    "/": "/",
}  # fmt: skip
_METHODS = {"is null": "is_null()", "is not null": "is_valid()"}
_FUNCTIONS = {
    "abs": "abs", "is nan": "is_nan", "negate": "negate", "//": "divide", "<<": "shift_left",
    ">>": "shift_right", "lower": "utf8_lower", "upper": "utf8_upper", "length": "utf8_length",
    "year": "year", "month": "month", "day": "day", "coalesce": "coalesce",
}  # fmt: skip


def arrow_type(type_: str) -> str:
    """Return the text of a type."""
    word, inside = parse_nested_type(type_)
    if word == "list":
        return f"pa.list_({arrow_type(inside[0])})"
    if word == "struct":
        typed = ", ".join(f"({name!r}, {arrow_type(part)})" for name, part in struct_fields(type_))
        return f"pa.struct([{typed}])"
    if word == "decimal":
        precision, scale = inside
        return f"pa.decimal{128 if int(precision) <= 38 else 256}({precision}, {scale})"
    if word == "timestamp":
        return f"pa.timestamp({', '.join(map(repr, inside))})"
    if word not in _TYPES:
        raise Unsupported("the type " + type_)
    return f"pa.{_TYPES[word]}()"


def arrow_schema(columns: list[dict[str, str]]) -> str:
    """Return the text of a schema."""
    typed = ", ".join(f"({column['name']!r}, {arrow_type(column['type'])})" for column in columns)
    return f"pa.schema([{typed}])"


def arrow_table(columns: list[dict[str, str]], rows: list[list[Any]], schema: str) -> str:
    """Return the text of a table; `schema` is the text of its schema, or a variable's name."""
    return f"pa.table({arrow_arrays(columns, rows)}, schema={schema})"


def arrow_arrays(columns: list[dict[str, str]], rows: list[list[Any]]) -> str:
    """Return the text of a list of arrays, one for each column."""
    arrays = (_array([row[at] for row in rows], column["type"]) for at, column in enumerate(columns))
    return f"[{', '.join(arrays)}]"


def _array(cells: list[Any], type_: str) -> str:
    """Return the text of an array."""
    return f"pa.array([{', '.join(arrow_cell(cell, type_) for cell in cells)}], {arrow_type(type_)})"


def arrow_cell(value: Any, type_: str) -> str:
    """Return the text of a value from which Arrow makes one of the type; dates and times stay counts."""
    word, inside = parse_nested_type(type_)
    if value is None:
        return "None"
    if word == "list":
        return f"[{', '.join(arrow_cell(part, inside[0]) for part in value)}]"
    if word == "struct":
        parts = (f"{name!r}: {arrow_cell(value[name], part)}" for name, part in struct_fields(type_))
        return f"{{{', '.join(parts)}}}"
    if word in ("float32", "float64"):
        return "-nan" if value == "-NaN" else repr(float(value))
    if word == "decimal":
        return f"Decimal({value!r})"
    return repr(bytes.fromhex(value) if word == "binary" else value)


def arrow_expression(term: dict[str, Any]) -> str:
    """Return the text of an expression, to which a method call can be appended."""
    if "column" in term:
        return f"pc.field({', '.join(map(repr, term.get('path', [term['column']])))})"
    if "literal" in term:
        return f"pc.scalar({_scalar(term['literal'], term['type'])})"
    return _call(term["call"], term["of"], term)


def _scalar(value: Any, type_: str) -> str:
    """Return the text of a constant of exactly its type."""
    word, _ = parse_type(type_)
    if value is None:
        return f"pa.scalar(None, {arrow_type(type_)})"
    text = arrow_cell(value, type_)
    return text if word in _PLAIN_LITERALS else f"pa.scalar({text}, {arrow_type(type_)})"


def _operand(term: dict[str, Any]) -> str:
    """Return the text of a right operand; literals are not wrapped in an expression."""
    return _scalar(term["literal"], term["type"]) if "literal" in term else arrow_expression(term)


def _call(function: str, of: list[Any], term: dict[str, Any]) -> str:
    """Return the text of a function call."""
    first = arrow_expression(of[0])
    if function in _INFIX:
        return f"({first} {_INFIX[function]} {_operand(of[1])})"
    if function in ("and", "or"):
        return f"({(' & ' if function == 'and' else ' | ').join(map(arrow_expression, of))})"
    if function == "not":
        return f"(~{first})"
    if function in _METHODS:
        return f"{first}.{_METHODS[function]}"
    if function in ("is not distinct from", "is distinct from"):
        return _same(first, arrow_expression(of[1]), function == "is distinct from")
    if function == "is true":
        return _true(first)
    if function in _FUNCTIONS:
        return f"pc.{_FUNCTIONS[function]}({', '.join(map(arrow_expression, of))})"
    if function.startswith("truncate to "):
        return f"pc.floor_temporal({first}, unit={function.removeprefix('truncate to ')!r})"
    if function == "substring":
        start = of[1]["literal"] - 1
        return f"pc.utf8_slice_codeunits({first}, start={start}, stop={start + of[2]['literal']})"
    if function == "concat":
        return f"pc.binary_join_element_wise({first}, {arrow_expression(of[1])}, pc.scalar(''))"
    if function == "nullif":
        equal = _true(f"({first} == {_operand(of[1])})")
        return f"pc.if_else({equal}, pc.scalar(None), {first})"
    if function == "cast":
        return f"{first}.cast({arrow_type(term['type'])}, safe=True)"
    if function == "if":
        return f"pc.if_else({_true(first)}, {arrow_expression(of[1])}, {arrow_expression(of[2])})"
    if function == "between":
        return f"(({first} >= {_operand(of[1])}) & ({first} <= {_operand(of[2])}))"
    if function == "in":
        return f"{first}.isin({_values(of[1:])})"
    if function in ("like", "starts with"):
        called = "match_like" if function == "like" else "starts_with"
        return f"pc.{called}({first}, {_text(of[1])!r})"
    raise Unsupported("the function " + function)


def _same(left: str, right: str, negated: bool) -> str:
    """Return the text of NULL-safe equality, in terms of comparisons and NULL tests."""
    valid = f"{left}.is_valid() & {right}.is_valid()"
    text = f"((({left} == {right}) & {valid}) | ({left}.is_null() & {right}.is_null()))"
    return f"(~{text})" if negated else text


def _true(condition: str) -> str:
    """Return the text of a condition with NULL replaced by false."""
    return f"pc.coalesce({condition}, pc.scalar(False))"


def _values(literals: list[dict[str, Any]]) -> str:
    """Return the text of isin's list; a NULL in it is refused, because isin would find NULL equal to it."""
    if any(term.get("literal") is None for term in literals):
        raise Unsupported("IN with NULL, or with other terms than literals")
    type_ = literals[0]["type"]
    texts = ", ".join(arrow_cell(term["literal"], type_) for term in literals)
    return f"pa.array([{texts}], {arrow_type(type_)})"


def _text(term: dict[str, Any]) -> str:
    """Return the value of a literal text; refuse other terms."""
    if not isinstance(term.get("literal"), str):
        raise Unsupported("patterns that are no literal text")
    return str(term["literal"])
