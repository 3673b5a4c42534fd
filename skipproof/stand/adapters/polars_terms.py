"""Expressions as the Python text that a user of Polars would write."""

from __future__ import annotations

import functools
from typing import Any

import polars as pl

from .polars_types import dtype_text, keyword, series, works
from .serving import Unsupported, parse_type, to_python

_INFIX = {
    "=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "+": "+", "-": "-", "*": "*", "%": "%",
    "/": "/", "//": "//", "concat": "+",
}  # fmt: skip
_METHODS = {
    "is null": "is_null()", "is not null": "is_not_null()", "is true": "fill_null(False)",
    "is nan": "is_nan()", "abs": "abs()", "lower": "str.to_lowercase()", "upper": "str.to_uppercase()",
    "year": "dt.year()", "month": "dt.month()", "day": "dt.day()", "truncate to year": "dt.truncate('1y')",
    "truncate to month": "dt.truncate('1mo')", "truncate to day": "dt.truncate('1d')",
}  # fmt: skip
_MISSING_EQUAL = {"is not distinct from": "eq_missing", "is distinct from": "ne_missing"}
# The result of is_between has its own name in early versions, which therefore do not prune by it.
_HAS_IS_BETWEEN = keyword(pl.Expr.is_between, "closed") is not None
_LENGTH = "len_chars" if hasattr(pl.col("a").str, "len_chars") else "n_chars"
# The special characters of patterns of Rust's `regex`.
_META = frozenset("\\.+*?()|[]{}^$#&-~")


@functools.cache
def functions_missing() -> tuple[str, ...]:
    """Return the functions that this version lacks."""
    column = pl.col("a")
    missing = [function for function, method in _MISSING_EQUAL.items() if not hasattr(column, method)]
    if not hasattr(pl, "coalesce"):
        missing.append("coalesce")
    if not hasattr(column.str, "starts_with"):
        missing.append("starts with")
    missing += [
        function
        for function, (type_, of, right) in _SAMPLES.items()
        if not _computes(function, type_, of, right)
    ]
    if not works(_reads_fields):
        missing.append("struct field")
    if not works(_reads_elements):
        missing.append("list element")
    if not works(_keeps_float32):
        missing.append("float arithmetic")
    if not works(_rounds_quotients):
        missing.append("rounded quotient")
    return ("<<", ">>", "rank", "dense_rank", *missing)


def _reads_fields() -> bool:
    """Tell whether this version reads the fields of a struct, which are NULL where it is."""
    small = pl.DataFrame({"s": [{"a": 2}, None]})
    field = term_text({"column": "a", "path": ["s", "a"]})
    return bool(small.select([eval(field, {"pl": pl})]).rows() == [(2,), (None,)])


def _reads_elements() -> bool:
    """Tell whether this version reads the first elements of lists, which are NULL where there is none."""
    small = pl.DataFrame({"s": [[2, 1], None, []]})
    element = term_text({"column": "a", "path": ["s", 0]})
    return bool(small.select([eval(element, {"pl": pl})]).rows() == [(2,), (None,), (None,)])


def _keeps_float32() -> bool:
    """Tell whether the sum of a column of float32 and a number is rounded as a float32."""
    text = _call("+", [{"column": "x"}, {"literal": 1.0, "type": "float32"}], {})
    computed = pl.DataFrame([series("x", [2.0**24], "float32")]).select([eval(text, {"pl": pl})])
    return bool(computed.rows() == [(2.0**24,)])


def _rounds_quotients() -> bool:
    """Tell whether this version divides by a number; if there are several rows, it multiplies instead."""
    text = _call("/", [{"column": "x"}, {"literal": 3.0, "type": "float64"}], {})
    computed = pl.DataFrame([series("x", [10.0] * 8, "float64")]).select([eval(text, {"pl": pl})])
    return bool(computed.rows() == [(10.0 / 3.0,)] * 8)


# For each function that early versions lack: a type, an argument of it, and the result.
_SAMPLES: dict[str, tuple[str, Any, Any]] = {
    "abs": ("int32", -2, 2),
    "negate": ("int32", 2, -2),
    "lower": ("string", "Ab", "ab"),
    "upper": ("string", "Ab", "AB"),
    "length": ("string", "é", 1),
    "substring": ("string", "abc", "bc"),
    "year": ("date", -1, 1969),
    "month": ("date", -1, 12),
    "day": ("date", -1, 31),
    "truncate to year": ("timestamp(us)", -1, -31_536_000_000_000),
    "truncate to month": ("timestamp(us)", -1, -2_678_400_000_000),
    "truncate to day": ("timestamp(us)", -1, -86_400_000_000),
}


def _computes(function: str, type_: str, of: Any, result: Any) -> bool:
    """Tell whether this version computes a function."""
    operands = [
        {"column": "x"},
        *({"literal": 2, "type": "int32"} for _ in range(2 if function == "substring" else 0)),
    ]

    def is_right() -> bool:
        small = pl.DataFrame([series("x", [of, None], type_)])
        computed = small.select([eval(_call(function, operands, {}), {"pl": pl})])[:, 0]
        cells = computed.cast(pl.Int64).to_list() if type_.startswith("timestamp") else computed.to_list()
        return bool(cells == [result, None])

    return works(is_right)


def term_text(term: dict[str, Any]) -> str:
    """Return the text of an expression, to which a method call can be appended."""
    if "column" in term:
        name, *parts = term.get("path", [term["column"]])
        # A number is the place of an element of a list, of which only the first is asked for.
        steps = (".list.first()" if isinstance(part, int) else f".struct.field({part!r})" for part in parts)
        return f"pl.col({name!r})" + "".join(steps)
    if "literal" in term:
        return _literal(term)
    if term["call"] in functions_missing():
        raise Unsupported("the function " + term["call"])
    return _call(term["call"], term["of"], term)


def _literal(term: dict[str, Any]) -> str:
    """Return the text of a literal."""
    plain = _plain(term["literal"], term["type"])
    if plain is not None:
        return f"pl.lit({plain})"
    if term["type"] == "uint64" and (term["literal"] or 0) >= 2**63 and not _has_large_literals():
        return f"pl.lit(pl.Series([{term['literal']}], dtype=pl.UInt64))"
    return f"pl.lit({term['literal']!r}, dtype={dtype_text(term['type'])})"


@functools.cache
def _has_large_literals() -> bool:
    """Tell whether literals can have unsigned integers of 64 bits."""
    return works(lambda: pl.lit(2**63, dtype=pl.UInt64) is not None)


def _plain(value: Any, type_: str) -> str | None:
    """Return the text of the Python value that a user would write; None if it would not have the type.

    Unsigned integers need their type, because early versions would compare in another type and not prune.
    """
    word, inside = parse_type(type_)
    nanoseconds = word == "timestamp" and inside[0] == "ns"
    if value is None or nanoseconds or word.startswith("uint"):
        return None
    if word in ("float32", "float64") and isinstance(value, str):
        return f"float({value!r})"
    try:
        return repr(to_python(value, type_))
    except OverflowError:
        return None


def _operand(term: dict[str, Any]) -> str:
    """Return the text of a right operand; literals are plain values if possible."""
    plain = _plain(term["literal"], term["type"]) if "literal" in term else None
    return term_text(term) if plain is None else plain


def _call(function: str, of: list[Any], term: dict[str, Any]) -> str:
    """Return the text of a function call."""
    first = term_text(of[0])
    if function in _INFIX:
        return f"({first} {_INFIX[function]} {_operand(of[1])})"
    if function in ("and", "or"):
        return f"({(' & ' if function == 'and' else ' | ').join(map(term_text, of))})"
    if function == "not":
        return f"(~{first})"
    if function in _METHODS:
        return f"{first}.{_METHODS[function]}"
    if function in _MISSING_EQUAL:
        return f"{first}.{_MISSING_EQUAL[function]}({_operand(of[1])})"
    if function == "negate":
        return f"(-{first})"
    if function == "length":
        # An unsigned length would wrap around below 0.
        return f"{first}.str.{_LENGTH}().cast(pl.Int64)"
    if function == "substring":
        return f"{first}.str.slice({of[1]['literal'] - 1}, {of[2]['literal']})"
    if function in ("cast", "try cast"):
        return f"{first}.cast({dtype_text(term['type'])}, strict={function == 'cast'})"
    if function == "coalesce":
        return f"pl.coalesce([{', '.join(map(term_text, of))}])"
    if function == "if":
        return f"pl.when({first}).then({term_text(of[1])}).otherwise({term_text(of[2])})"
    if function == "nullif":
        return f"pl.when({first} == {_operand(of[1])}).then(None).otherwise({first})"
    if function == "between" and _HAS_IS_BETWEEN:
        return f"{first}.is_between({term_text(of[1])}, {term_text(of[2])})"
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
    """Return the text of is_in's list, or of a series if plain values would not have the type."""
    if any("literal" not in term for term in literals):
        raise Unsupported("IN with other terms than literals")
    values, type_ = [term["literal"] for term in literals], literals[0]["type"]
    plain = [repr(None) if value is None else _plain(value, type_) for value in values]
    texts = ", ".join(map(str, plain))
    if None not in plain and _is_in_takes(type_):
        return f"[{texts}]"
    if parse_type(type_)[0] == "decimal":
        return f"pl.Series([{texts}], dtype={dtype_text(type_)})"
    if type_.startswith("uint"):
        return f"pl.Series({values!r}, dtype={dtype_text(type_)})"
    return f"pl.Series({values!r}, dtype=pl.Int64).cast({dtype_text(type_)})"


@functools.cache
def _is_in_takes(type_: str) -> bool:
    """Tell whether is_in finds plain decimals and timestamps of a type; not every version does."""
    word = parse_type(type_)[0]
    if word not in ("decimal", "timestamp"):
        return True
    small = pl.DataFrame([series("x", [{"decimal": "0.5", "timestamp": 0}[word]], type_)])
    plain = small.rows()[0][0] if word == "decimal" else to_python(0, type_)
    filtered = small.lazy().filter(pl.col("x").is_in([plain]))
    return works(lambda: len(filtered.collect().rows()) == 1)


def _text(term: dict[str, Any]) -> str:
    """Return the value of a literal text; refuse other terms."""
    if not isinstance(term.get("literal"), str):
        raise Unsupported("patterns that are no literal text")
    return str(term["literal"])


def _pattern(like: str) -> str:
    """Return a LIKE pattern as a pattern of Rust's `regex`."""
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
