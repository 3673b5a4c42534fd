"""Questions as SQL text, in the dialects of engines."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

from .parameters import with_parameters
from .serving import Unsupported, parse_type

_INFIX = {
    "=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "+": "+", "-": "-", "*": "*", "%": "%",
    "/": "/", "//": "/", "<<": "<<", ">>": ">>", "concat": "||", "and": "AND", "or": "OR",
}  # fmt: skip
_POSTFIX = {"is null": "IS NULL", "is not null": "IS NOT NULL", "is true": "IS TRUE"}
_FUNCTIONS = {
    "is nan": "isnan", "coalesce": "coalesce", "abs": "abs", "nullif": "nullif", "lower": "lower",
    "upper": "upper", "length": "length", "substring": "substr",
}  # fmt: skip
# Functions of times, whose first argument is a text.
_TIME_FUNCTIONS = {
    "year": ("date_part", "year"), "month": ("date_part", "month"), "day": ("date_part", "day"),
    "truncate to year": ("date_trunc", "year"), "truncate to month": ("date_trunc", "month"),
    "truncate to day": ("date_trunc", "day"),
}  # fmt: skip
# The name of the prepared statement.
PREPARED = "stand"
_EPOCH = datetime.datetime(1970, 1, 1)


class Dialect:
    """Standard SQL; the dialect of an engine overrides the differences.

    Attributes:
        outputs: The expressions that names of columns stand for in HAVING and ORDER BY of aggregates.
    """

    outputs: dict[str, str]

    quote = '"'
    types: ClassVar[dict[str, str]] = {
        "boolean": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
        "float32": "REAL", "float64": "DOUBLE", "string": "VARCHAR", "date": "DATE",
    }  # fmt: skip
    distinct: ClassVar[dict[str, str]] = {
        "is not distinct from": "IS NOT DISTINCT FROM",
        "is distinct from": "IS DISTINCT FROM",
    }
    semi, anti = "SEMI JOIN", "ANTI JOIN"
    like_escape = " ESCAPE '\\'"
    starts_with = "starts_with"
    # Operators that the engine writes as functions.
    functions: ClassVar[dict[str, str]] = {}
    infix: ClassVar[dict[str, str]] = _INFIX
    no_limit = ""

    def __init__(self) -> None:
        self.outputs = {}

    def name(self, name: str) -> str:
        """Return an identifier."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def text(self, text: str) -> str:
        """Return a string literal."""
        return "'" + text.replace("'", "''") + "'"

    def type(self, type_: str) -> str:
        """Return the engine's name of a type."""
        word, inside = parse_type(type_)
        if word == "decimal":
            return f"DECIMAL({', '.join(inside)})"
        if word == "timestamp":
            return self.timestamp(*inside)
        if word not in self.types:
            raise Unsupported("the type " + type_)
        return self.types[word]

    def timestamp(self, unit: str, zone: str | None = None) -> str:
        """Return the engine's name of a type of timestamps."""
        if zone is not None:
            raise Unsupported("timestamps with a zone")
        return "TIMESTAMP"

    def binary(self, digits: str) -> str:
        """Return a literal of bytes."""
        return "X'" + digits + "'"

    def literal(self, value: Any, type_: str) -> str:
        """Return a constant: numbers and texts as users write them, other values as casts."""
        word, inside = parse_type(type_)
        if value is None:
            return f"CAST(NULL AS {self.type(type_)})"
        if word == "boolean":
            return "TRUE" if value else "FALSE"
        if word == "string":
            return self.text(value)
        if word == "binary":
            return self.binary(value)
        if word in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
            return str(value) if value > -(2**63) else self.cast(self.text(str(value)), type_)
        return self.cast(self.text(cast_text(value, word, inside)), type_)

    def cast(self, text: str, type_: str, word: str = "CAST") -> str:
        """Return a cast."""
        return f"{word}({text} AS {self.type(type_)})"

    def term(self, term: dict[str, Any]) -> str:
        """Return an expression, in parentheses unless it is atomic."""
        if "column" in term:
            if "path" in term:
                return self.path(term["path"])
            return self.outputs.get(term["column"]) or self.name(term["column"])
        if "parameter" in term:
            return self.parameter(term)
        if "literal" in term:
            return self.literal(term["literal"], term["type"])
        if "query" in term:
            return self.query(term)
        return self.call(term["call"], term["of"], term)

    def parameter(self, literal: dict[str, Any]) -> str:
        """Return the parameter of a prepared statement that stands for a literal."""
        return f"${literal['parameter']}"

    def parameter_types(self, types: list[str]) -> str:
        """Return the types of parameters that follow the name of a prepared statement, if any must."""
        return ""

    def path(self, path: list[Any]) -> str:
        """Return a field of a struct, or, if its place is a number, an element of a list."""
        text = self.name(path[0])
        for part in path[1:]:
            text = self.element(text, part) if isinstance(part, int) else self.field(text, part)
        return text

    def field(self, struct: str, name: str) -> str:
        """Return a field of a struct."""
        return f"{struct}.{self.name(name)}"

    def element(self, values: str, at: int) -> str:
        """Return an element of a list, the first at 0; NULL if there is none."""
        return f"{values}[{at + 1}]"

    def table_column(self, column: dict[str, Any]) -> str:
        """Return a column of a table under its name."""
        name = self.name(column["name"])
        return f"{self.path(column['path'])} AS {name}" if "path" in column else name

    def query(self, term: dict[str, Any]) -> str:
        """Return a subquery as an expression."""
        value, relation = self.name(term["value"]), self.relation(term["relation"])
        if term["query"] == "in":
            return f"({self.term(term['of'][0])} IN (SELECT {value} FROM {relation}))"
        if term["query"] == "exists":
            return f"EXISTS (SELECT 1 FROM {relation} WHERE {value} = {self.term(term['of'][0])})"
        return f"(SELECT {term['query']}({value}) FROM {relation})"

    def call(self, function: str, of: list[Any], term: dict[str, Any]) -> str:
        """Return a function call."""
        parts = [self.term(part) for part in of]
        if function in self.functions:
            return f"{self.functions[function]}({', '.join(parts)})"
        if function in self.infix:
            return f"({f' {self.infix[function]} '.join(parts)})"
        if function in _POSTFIX:
            return f"({parts[0]} {_POSTFIX[function]})"
        if function in self.distinct:
            return f"({parts[0]} {self.distinct[function]} {parts[1]})"
        if function in ("not", "negate"):
            return f"({'NOT' if function == 'not' else '-'} {parts[0]})"
        if function == "in":
            return f"({parts[0]} IN ({', '.join(parts[1:])}))"
        if function == "between":
            return f"({parts[0]} BETWEEN {parts[1]} AND {parts[2]})"
        if function == "like":
            return f"({parts[0]} LIKE {parts[1]}{self.like_escape})"
        if function in ("cast", "try cast"):
            return self.cast(parts[0], term["type"], word=function.upper().replace(" ", "_"))
        if function == "if":
            return f"CASE WHEN {parts[0]} THEN {parts[1]} ELSE {parts[2]} END"
        if function in _TIME_FUNCTIONS:
            name, unit = _TIME_FUNCTIONS[function]
            return f"{name}('{unit}', {parts[0]})"
        named = {**_FUNCTIONS, "starts with": self.starts_with}
        if function not in named:
            raise Unsupported("the function " + function)
        return f"{named[function]}({', '.join(parts)})"

    def key(self, key: dict[str, Any]) -> str:
        """Return a key of ORDER BY, with its direction and its place of NULL."""
        direction = "DESC" if key["descending"] else "ASC"
        return f"{self.term(key['by'])} {direction} NULLS {'FIRST' if key['nulls_first'] else 'LAST'}"

    def tail(self, of: dict[str, Any]) -> str:
        """Return ORDER BY, LIMIT and OFFSET."""
        text = ""
        if of["order"]:
            text += " ORDER BY " + ", ".join(self.key(key) for key in of["order"])
        if of["limit"] is not None:
            text += f" LIMIT {of['limit']}"
        elif of["offset"]:
            text += self.no_limit
        return text + (f" OFFSET {of['offset']}" if of["offset"] else "")

    def relation(self, relation: dict[str, Any]) -> str:
        """Return a relation of FROM, a table or a subquery."""
        table, filtered = self.name(relation["table"]), relation["where"] is not None
        columns = relation.get("columns", [])
        plain = not (filtered or relation["order"] or relation["distinct"] or relation["offset"] or columns)
        if plain and relation["limit"] is None:
            return table
        kept = [column for column in columns if relation["distinct"] in (None, column["name"])]
        names = [self.name(relation["distinct"])] if relation["distinct"] else ["*"]
        what = ", ".join(map(self.table_column, kept) if kept else names)
        what = "DISTINCT " + what if relation["distinct"] else what
        where = f" {self.filter_word(relation)} {self.term(relation['where'])}" if filtered else ""
        return f"(SELECT {what} FROM {table}{where}{self.tail(relation)}) AS {table}"

    def filter_word(self, relation: dict[str, Any]) -> str:
        """Return the word before the condition on a relation's table."""
        return "WHERE"

    def from_clause(self, question: dict[str, Any]) -> tuple[str, list[str]]:
        """Return the FROM clause, and the conditions of the join that go to WHERE."""
        join = question["join"]
        left = self.relation(question["source"])
        if join is None:
            return left, []
        left, conditions = self.join(left, join)
        if question.get("second"):
            left, _ = self.join(left, question["second"])
        return left, conditions

    def join(self, left: str, join: dict[str, Any]) -> tuple[str, list[str]]:
        """Return a join with the text of its left side, and its conditions that go to WHERE."""
        right, kind = self.relation(join["right"]), join["kind"]
        left_key, right_key = self.name(join["left_key"]), self.name(join["right_key"])
        if kind == "not in":
            return left, [f"{left_key} NOT IN (SELECT {right_key} FROM {right})"]
        words = {"semi": self.semi, "anti": self.anti}
        word = words.get(kind, kind.upper() + " JOIN")
        equal = self.distinct["is not distinct from"] if join["null_safe"] else "="
        conditions = [f"{left_key} {equal} {right_key}"] if join.get("equal", True) else []
        conditions += [self.term(join["on"])] if "on" in join else []
        return f"{left} {word} {right} ON {' AND '.join(conditions)}", []

    def answer_column(self, name: str) -> str:
        """Return a column of an answer."""
        return self.name(name)

    def answer_term(self, term: dict[str, Any]) -> str:
        """Return an expression of an answer."""
        return self.term(term)

    def answer_aggregate(self, aggregate: dict[str, Any]) -> str:
        """Return an aggregate of an answer."""
        return self.aggregate(aggregate)

    def aggregate(self, aggregate: dict[str, Any]) -> str:
        """Return one aggregate."""
        of = "*" if aggregate["of"] is None else self.column_or_term(aggregate["of"])
        text = f"{aggregate['function']}({'DISTINCT ' if aggregate.get('distinct') else ''}{of})"
        if aggregate.get("where") is not None:
            text += f" FILTER (WHERE {self.term(aggregate['where'])})"
        return text

    def column_or_term(self, of: Any) -> str:
        """Return an expression that may be the name of a column alone."""
        return self.name(of) if isinstance(of, str) else self.term(of)

    def select(self, question: dict[str, Any]) -> str:
        """Return a question without a change as one SELECT."""
        what = [self.answer_column(name) for name in question["select"]]
        group = question["group"]
        if group:
            what.append(self.answer_column(group) if isinstance(group, str) else self.answer_term(group))
        what += [self.answer_aggregate(aggregate) for aggregate in question["aggregates"]]
        source, conditions = self.from_clause(question)
        if question["where"] is not None:
            conditions = [*conditions, self.term(question["where"])]
        text = f"SELECT {', '.join(what)} FROM {source}"
        if conditions:
            text += " WHERE " + " AND ".join(conditions)
        if question.get("window"):
            text = self.window(question["window"], what, text)
        if question.get("set"):
            text = self.set_operation(question, text)
        self.outputs = self._outputs(question)
        if group:
            text += " GROUP BY " + self.outputs["group"]
        if question.get("having") is not None:
            text += " HAVING " + self.term(question["having"])
        text += self.tail(question)
        self.outputs = {}
        return text

    def prepared_statements(self, question: dict[str, Any]) -> list[str]:
        """Return the statements that prepare a question, and execute it with NULL and with its constants.

        What the first execution leaves, as its plan, must not serve the second one.
        """
        numbered, literals = with_parameters(question)
        types = self.parameter_types([literal["type"] for literal in literals])
        statements = [f"PREPARE {PREPARED}{types} AS {self.select(numbered)}"]
        for values in ([None] * len(literals), [literal["literal"] for literal in literals]):
            pairs = zip(values, literals, strict=True)
            texts = ", ".join(self.literal(value, literal["type"]) for value, literal in pairs)
            statements.append(f"EXECUTE {PREPARED}" + (f"({texts})" if literals else ""))
        return statements

    def window(self, window: dict[str, Any], what: list[str], text: str) -> str:
        """Return the SELECT of rows whose place in a window is at most a number, around another one."""
        over = "" if window["partition"] is None else "PARTITION BY " + self.term(window["partition"])
        if window["order"]:
            over = f"{over} ORDER BY {', '.join(map(self.key, window['order']))}".strip()
        place, columns = self.name("place"), ", ".join(what)
        inner = text.replace(columns, f"*, {window['function']}() OVER ({over}) AS {place}", 1)
        return f"SELECT {columns} FROM ({inner}) AS {self.name('t')} WHERE {place} <= {window['at_most']}"

    def set_operation(self, question: dict[str, Any], text: str) -> str:
        """Return the set operation of a question, whose text so far is a SELECT, and a second relation."""
        operation = question["set"]
        word = operation["kind"].upper() + (" ALL" if operation["all"] else "")
        columns = ", ".join(map(self.answer_column, operation["columns"]))
        return f"{text} {word} SELECT {columns} FROM {self.relation(operation['right'])}"

    def _outputs(self, question: dict[str, Any]) -> dict[str, str]:
        """Return the expressions of the columns of an answer with aggregates, by their names."""
        outputs = {f"aggregate {at}": self.aggregate(part) for at, part in enumerate(question["aggregates"])}
        if question["group"]:
            outputs["group"] = self.column_or_term(question["group"])
        return outputs


def cast_text(value: Any, word: str, inside: list[str]) -> str:
    """Return a value as the text that a cast reads."""
    if word in ("float32", "float64"):
        return "NaN" if value == "-NaN" else str(value)
    if word == "date":
        return str(_EPOCH.date() + datetime.timedelta(days=value))
    if word == "timestamp":
        per_second = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[inside[0]]
        seconds, rest = divmod(value, per_second)
        digits = len(str(per_second)) - 1
        zone = "+00:00" if len(inside) > 1 else ""
        moment = _EPOCH + datetime.timedelta(seconds=seconds)
        return f"{moment.isoformat(sep=' ')}.{rest:0{digits}}{zone}"
    return str(value)
