"""ClickHouse's dialect of SQL, and rows as the VALUES of its INSERT."""

from __future__ import annotations

from typing import Any, ClassVar

from .serving import Unsupported, parse_nested_type, parse_type, struct_fields
from .sql_text import Dialect, cast_text

_DIGITS = {"ms": 3, "us": 6, "ns": 9}
_SET_WORDS = {"union": "UNION", "intersect": "INTERSECT", "except": "EXCEPT"}
# Functions of which each operand must have one type, so that constants are cast.
_CHOICES = ("coalesce", "nullif", "if")
_TRUNCATIONS = {
    "truncate to year": "toStartOfYear",
    "truncate to month": "toStartOfMonth",
    "truncate to day": "toStartOfDay",
}


class ClickHouse(Dialect):
    """The dialect of ClickHouse, in which NULL belongs to types, and texts and bytes are one type.

    Attributes:
        binary_columns: The columns whose bytes an answer gives as hexadecimal digits.
        null_for_empty: True if columns may not be Nullable, so that an aggregate of no rows would be 0.
        filter_words: The words before a condition on a table, where they are not WHERE.
    """

    types: ClassVar[dict[str, str]] = {
        "boolean": "Bool", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64",
        "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float32": "Float32",
        "float64": "Float64", "string": "String", "binary": "String", "date": "Date32",
    }  # fmt: skip
    semi, anti = "LEFT SEMI JOIN", "LEFT ANTI JOIN"
    # A backslash escapes in every LIKE.
    like_escape = ""
    starts_with = "startsWith"
    functions: ClassVar[dict[str, str]] = {
        "//": "intDiv", "<<": "bitShiftLeft", ">>": "bitShiftRight", "is nan": "isNaN",
        "lower": "lowerUTF8", "upper": "upperUTF8", "length": "lengthUTF8", "substring": "substringUTF8",
        "year": "toYear", "month": "toMonth", "day": "toDayOfMonth",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.binary_columns: frozenset[str] = frozenset()
        self.null_for_empty = False
        self.filter_words: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Return a string literal, in which a backslash escapes."""
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def timestamp(self, unit: str, zone: str | None = None) -> str:
        """Return the type of timestamps; those without a zone are taken apart as in UTC."""
        return f"DateTime64({_DIGITS[unit]}, 'UTC')"

    def nullable(self, type_: str) -> str:
        """Return the type of columns and terms that may be NULL; of a struct or list, its parts may be."""
        if type_.startswith("struct"):
            fields = (f"{self.name(name)} {self.nullable(of)}" for name, of in struct_fields(type_))
            return f"Tuple({', '.join(fields)})"
        if type_.startswith("list"):
            return f"Array({self.nullable(parse_nested_type(type_)[1][0])})"
        return f"Nullable({self.type(type_)})"

    def binary(self, digits: str) -> str:
        """Return a literal of bytes."""
        return f"unhex('{digits}')"

    def literal(self, value: Any, type_: str) -> str:
        """Return a constant; only NULL has a Nullable type."""
        word, inside = parse_type(type_)
        if value is None:
            return f"CAST(NULL AS {self.nullable(type_)})"
        if word.startswith(("int", "uint")):
            return str(value)
        if word in ("float32", "float64"):
            return _float_text("NaN" if value == "-NaN" else value)
        if word in ("boolean", "string", "binary"):
            return super().literal(value, type_)
        return f"CAST({self.text(cast_text(value, word, inside[:1]))} AS {self.type(type_)})"

    def parameter(self, literal: dict[str, Any]) -> str:
        """Return a parameter with its type; NULL, and bytes, which have no text, stand as they are."""
        value, type_ = literal["literal"], literal["type"]
        if value is None or type_ == "binary":
            return self.literal(value, type_)
        return f"{{p{literal['parameter']}:{self.type(type_)}}}"

    def parameters(self, literals: list[dict[str, Any]]) -> dict[str, str]:
        """Return the texts of the parameters of a statement, by their names."""
        return {
            f"p{number}": _parameter_text(literal["literal"], literal["type"])
            for number, literal in enumerate(literals, 1)
            if literal["literal"] is not None and literal["type"] != "binary"
        }

    def cell(self, value: Any, type_: str) -> str:
        """Return a value of VALUES, as a text or number that is read without being evaluated."""
        word, inside = parse_type(type_)
        if value is None:
            return "NULL"
        if word == "binary":
            return "'" + "".join(f"\\x{value[at : at + 2]}" for at in range(0, len(value), 2)) + "'"
        if word in ("date", "timestamp", "decimal"):
            return self.text(cast_text(value, word, inside[:1]))
        return _float_text(value) if word in ("float32", "float64") else self.literal(value, type_)

    def cast(self, text: str, type_: str, word: str = "CAST") -> str:
        """Return a cast to a type that may be NULL; a float is the one nearest to an integer, as in CAST."""
        if word == "TRY_CAST" and type_ not in ("float32", "float64"):
            return f"accurateCastOrNull({text}, {self.text(self.type(type_))})"
        return f"CAST({text} AS {self.nullable(type_)})"

    def call(self, function: str, of: list[Any], term: dict[str, Any]) -> str:
        """Return a function call."""
        if function in _TRUNCATIONS:
            return f"CAST({_TRUNCATIONS[function]}({self.term(of[0])}) AS {self.nullable('timestamp(us)')})"
        if function == "length":
            # An UInt64 has no common type with signed integers, so that a choice would be a Variant.
            return self.cast(super().call(function, of, term), "int64")
        if function in _CHOICES:
            parts = [self._choice(part) for part in of]
            return f"{function}({', '.join(parts)})"
        return super().call(function, of, term)

    def _choice(self, term: dict[str, Any]) -> str:
        """Return an operand of a choice; a constant has exactly its type."""
        text = self.term(term)
        if term.get("literal") is None:
            return text
        return f"CAST({text} AS {self.type(term['type'])})"

    def filter_word(self, relation: dict[str, Any]) -> str:
        """Return the word before a table's condition; a condition with a subquery can only follow WHERE."""
        word = self.filter_words.get(relation["table"], "WHERE")
        return "WHERE" if _has_query(relation["where"]) else word

    def answer_column(self, name: str) -> str:
        """Return a column of an answer; bytes as digits, under the name of the column."""
        quoted = self.name(name)
        return f"lower(hex({quoted})) AS {quoted}" if name in self.binary_columns else quoted

    def answer_term(self, term: dict[str, Any]) -> str:
        """Return an expression of an answer."""
        text = self.term(term)
        return f"lower(hex({text}))" if self._is_binary(term) else text

    def answer_aggregate(self, aggregate: dict[str, Any]) -> str:
        """Return an aggregate of an answer."""
        of = aggregate["of"]
        text = self.aggregate(aggregate)
        is_value = of is not None and aggregate["function"] in ("min", "max")
        return f"lower(hex({text}))" if is_value and self._is_binary(of) else text

    def _is_binary(self, of: Any) -> bool:
        """Tell whether a column of a name, or an expression, has bytes; only choices return them."""
        if isinstance(of, str):
            return of in self.binary_columns
        if "column" in of:
            return of["column"] in self.binary_columns
        if "literal" in of:
            return bool(of["type"] == "binary")
        return of.get("call") in _CHOICES and self._is_binary(of["of"][-1])

    def aggregate(self, aggregate: dict[str, Any]) -> str:
        """Return one aggregate; of no rows it is NULL, which plain columns that are Nullable give alone."""
        of, function = aggregate["of"], aggregate["function"]
        if of is None or function == "count" or (isinstance(of, str) and not self.null_for_empty):
            return super().aggregate(aggregate)
        return super().aggregate(dict(aggregate, function=function + "OrNull"))

    def query(self, term: dict[str, Any]) -> str:
        """Return a subquery as an expression."""
        if term["query"] in ("min", "max") and self.null_for_empty:
            return super().query(dict(term, query=term["query"] + "OrNull"))
        return super().query(term)

    def set_operation(self, question: dict[str, Any], text: str) -> str:
        """Return a set operation as a subquery, because ORDER BY would belong to its second part alone."""
        operation = question["set"]
        words = _SET_WORDS[operation["kind"]] + (" ALL" if operation["all"] else " DISTINCT")
        columns = ", ".join(map(self.answer_column, operation["columns"]))
        right = f"SELECT {columns} FROM {self.relation(operation['right'])}"
        return f"SELECT * FROM ({text} {words} {right}) AS {self.name('t')}"

    def structure(self, columns: list[dict[str, str]], *, required: frozenset[str] = frozenset()) -> str:
        """Return the names and types of columns, all of which but some may be NULL."""
        return ", ".join(
            f"{self.name(name)} {self.type(type_) if name in required else self.nullable(type_)}"
            for name, type_ in ((column["name"], column["type"]) for column in columns)
        )


def _float_text(value: Any) -> str:
    """Return a number of floating point."""
    if isinstance(value, str):
        return {"NaN": "nan", "-NaN": "-nan", "Infinity": "inf", "-Infinity": "-inf"}[value]
    return repr(float(value))


def _parameter_text(value: Any, type_: str) -> str:
    """Return the value of a parameter, in whose text a backslash escapes."""
    word, inside = parse_type(type_)
    if word in ("float32", "float64"):
        return _float_text("NaN" if value == "-NaN" else value)
    text = str(value).lower() if word == "boolean" else cast_text(value, word, inside[:1])
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def _has_query(term: Any) -> bool:
    """Tell whether an expression has a subquery."""
    if term is None:
        return False
    return "query" in term or any(_has_query(part) for part in term.get("of", ()))


def refuse_change(question: dict[str, Any]) -> None:
    """Refuse a question that changes files.

    Raises:
        Unsupported: it is one.
    """
    if question["change"]:
        raise Unsupported("changes of files")
