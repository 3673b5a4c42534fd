"""The loop that serves the requests of every Python adapter, as JSON lines.

It runs under the interpreter of the engine, from Python 3.10 on, and imports only the standard library. An
adapter is a class with a few methods (`Adapter` below); a finding replays the same Python text that answered
its question.
"""

from __future__ import annotations

import abc
import datetime
import decimal
import json
import math
import os
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Any

PROTOCOL = 1
# The classes of questions that delta-rs answers by its queries alone, never by a scan of pyarrow.
QUERIED_AREAS = ("topk", "join", "window", "set", "subquery")
# The types of values that are JSON.
_PLAIN = frozenset({type(None), bool, int, str})
_EPOCH = datetime.datetime(1970, 1, 1)
_UTC = datetime.timezone.utc  # noqa: UP017 - `datetime.UTC` is of Python 3.11
_MICROSECOND = datetime.timedelta(microseconds=1)
# The line of a message after which an engine prints its own stack, in DuckDB, Rust and Spark.
_STACK = re.compile(r"^\s*(stack trace|(stack )?backtrace|jvm stacktrace):", re.IGNORECASE | re.MULTILINE)
# An error of Java and the method that raised it; what caused the others is printed last.
_JAVA_ERROR = re.compile(r"^(?:Caused by)?: (.*?)^\s*at ([\w.$/]+)", re.MULTILINE | re.DOTALL)


class Unsupported(Exception):
    """The engine has no such type, function or shape; the message says which."""


class Adapter(abc.ABC):
    """The interface of adapters; `docs/reference/stand.md` defines the JSON of its arguments."""

    @abc.abstractmethod
    def hello(self) -> dict[str, Any]:
        """Return the first message: the engine's name, version and abilities."""

    def start(self) -> str:
        """Return Python text that starts the engine; it runs once, and later texts can use its names."""
        return ""

    @abc.abstractmethod
    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return Python text that opens the tables, and the objects by name that it uses and adds to."""

    @abc.abstractmethod
    def ask(self, question: dict[str, Any]) -> str:
        """Return Python text that runs after the setup and assigns rows, each a sequence, to `answer`."""

    def write(self, table: dict[str, Any], path: str, options: dict[str, Any]) -> None:
        """Write a table as one Parquet file; engines that cannot write need not override it."""
        raise Unsupported("writing")

    def read(self, names: dict[str, Any]) -> dict[str, int] | None:
        """Return the number of units that the last question read, from its text's names; None if unknown."""
        return None

    def features(self, question: dict[str, Any], names: dict[str, Any]) -> list[str]:
        """Return words for what the engine decided about a question, without values and sizes."""
        return []

    def is_over(self, names: dict[str, Any]) -> bool:
        """Tell whether the engine must be started again before it can answer."""
        return False

    def reason_to_end(self) -> str:
        """Return why the engine cannot be started again in this process, in a sentence, or an empty text."""
        return ""


def main(adapter: Adapter) -> None:
    """Serve until standard input ends; the engine's own output goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def reply(message: dict[str, Any]) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    base: dict[str, Any] = {}
    exec(adapter.start(), base)
    reply(dict(adapter.hello(), protocol=PROTOCOL))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            message = (
                _write_file(adapter, request)
                if "write" in request
                else _answer_request(adapter, request, base)
            )
        except BaseException as error:
            message = failure(error)
        if reason := adapter.reason_to_end():
            # The stand takes this for the answer, and starts a new process for the next request.
            raise SystemExit(reason)
        reply(dict(message, id=request["id"]))


def _write_file(adapter: Adapter, request: dict[str, Any]) -> dict[str, Any]:
    """Write the file that a request asks for."""
    written = request["write"]
    adapter.write(written["table"], written["path"], written.get("options", {}))
    return {"written": True}


def _answer_request(adapter: Adapter, request: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Answer the questions of a request.

    The setup runs only if a question is supported, and runs again if the engine was started again. Nothing
    runs if the request asks only for programs.
    """
    if adapter.is_over(base):
        exec(adapter.start(), base)
    setup, names = adapter.setup(request["tables"], request.get("settings", {}))
    questions = [with_paths(question, request["tables"]) for question in request["questions"]]
    texts = [_question_text(adapter, question) for question in questions]
    for name, value in base.items():
        names.setdefault(name, value)
    before = adapter.start() + setup if request.get("sources") else None
    if before is not None and request["sources"] == "only":
        return {"answers": [_source_entry(before, text) if isinstance(text, str) else text for text in texts]}
    if any(isinstance(text, str) for text in texts):
        try:
            exec(setup, names)
        except BaseException as error:
            failed = failure(error)
            # The source goes on with the question, for a release in which the tables open.
            return {
                "answers": [
                    failed | _source_entry(before, text) if isinstance(text, str) else text for text in texts
                ]
            }
    answers = []
    for text, question in zip(texts, questions, strict=True):
        answers.append(_run_text(adapter, text, names, before))
        if request.get("features") and "rows" in answers[-1]:
            answers[-1]["features"] = _features(adapter, question, names)
        if answers[-1].get("kind") == "failed" and adapter.is_over(base):
            exec(adapter.start(), base)
            names.update(base)
            exec(setup, names)
    return {"answers": answers}


def with_paths(question: dict[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    """Return a question in which conditions and orders of tables have the paths of columns in files.

    A relation over a table with fields of structs has the entry `columns`, those of the table. It must return
    a field under the name of its column, by which all other parts of the question call it.
    """
    if not any("path" in column for table in tables.values() for column in table["columns"]):
        return question

    def change(node: Any, paths: dict[str, Any]) -> Any:
        if isinstance(node, list):
            return [change(part, paths) for part in node]
        if not isinstance(node, dict):
            return node
        if node.get("column") in paths:
            return {**node, "path": paths[node["column"]]}
        if "table" not in node:
            return {key: change(part, paths) for key, part in node.items()}
        columns = tables[node["table"]]["columns"]
        own = {column["name"]: column["path"] for column in columns if "path" in column}
        # What is distinct is ordered by the column that is returned.
        ordered = {} if node["distinct"] else own
        where, order = change(node["where"], own), change(node["order"], ordered)
        return dict(node, where=where, order=order, **({"columns": columns} if own else {}))

    return dict(change(question, {}))


def _question_text(adapter: Adapter, question: dict[str, Any]) -> str | dict[str, Any]:
    """Return the text that answers a question, once or several times, or the error that is its answer."""
    try:
        return adapter.ask(question) * int(question.get("repeat", 1))
    except BaseException as error:
        return failure(error)


def _run_text(
    adapter: Adapter, text: str | dict[str, Any], names: dict[str, Any], before: str | None
) -> dict[str, Any]:
    """Run a question's text; `before` is the text that a replay runs first, or None."""
    if not isinstance(text, str):
        return text
    try:
        scope = dict(names)
        exec(text, scope)
        answer: dict[str, Any] = {"rows": _rows_to_json(scope["answer"])}
        read = adapter.read(scope)
    except BaseException as error:
        return failure(error) | _source_entry(before, text)
    if read is not None:
        answer["read"] = read
    return answer | _source_entry(before, text)


def _features(adapter: Adapter, question: dict[str, Any], names: dict[str, Any]) -> list[str]:
    """Return the features of a question that was answered; none if the engine cannot tell them."""
    try:
        return sorted(set(adapter.features(question, names)))
    except BaseException as error:
        failure(error)
        return []


def _source_entry(before: str | None, text: str = "") -> dict[str, Any]:
    """Return the entry of an answer with its program, empty if none is asked for."""
    return {} if before is None else {"source": before + text}


def failure(error: BaseException) -> dict[str, Any]:
    """Return the answer for an error, in one line without the engine's stack; of Java's, what caused it.

    Rust's panics are no `Exception`, so every error is accepted.

    Raises:
        KeyboardInterrupt, SystemExit: the error is one of these.
    """
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        raise error
    kind = "unsupported" if isinstance(error, Unsupported) else "failed"
    errors = _JAVA_ERROR.findall(str(error))
    text = ": ".join(reversed(errors[-1])) if errors else _STACK.split(str(error))[0]
    message = " ".join(text.split())[:500]
    name = type(error).__name__
    return {"error": f"{name}: {message}" if message else name, "kind": kind}


def _rows_to_json(rows: Iterable[Iterable[Any]]) -> list[list[Any]]:
    """Return rows in JSON; most values of large answers are integers, texts or NULL."""
    return [[cell if type(cell) in _PLAIN else to_json(cell) for cell in row] for row in rows]


def to_json(value: Any) -> Any:
    """Return an engine's value in JSON, as `docs/reference/stand.md` defines it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(_UTC).replace(tzinfo=None)
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, datetime.date):
        return (value - _EPOCH.date()).days
    if isinstance(value, dict):
        return {key: to_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(part) for part in value]
    if hasattr(value, "item"):
        return to_json(value.item())
    raise Unsupported(f"values of {type(value).__name__}")


def parse_type(type_: str) -> tuple[str, list[str]]:
    """Return a type's word and its parameters: `decimal(9,2)` is ("decimal", ["9", "2"])."""
    word, _, rest = type_.partition("(")
    return word, [part.strip() for part in rest.rstrip(")").split(",")] if rest else []


def parse_nested_type(type_: str) -> tuple[str, list[str]]:
    """Return a type's word and its outermost parameters: of `list(decimal(9,2))`, `decimal(9,2)`."""
    word, _, rest = type_.partition("(")
    parts, depth = [""], 0
    for character in rest[:-1]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return word, [part.strip() for part in parts] if rest else []


def struct_fields(type_: str) -> list[tuple[str, str]]:
    """Return the names and types of a struct's fields."""
    pairs = (part.partition(" ") for part in parse_nested_type(type_)[1])
    return [(name, type_of_field.strip()) for name, _, type_of_field in pairs]


def columns_of_files(columns: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the columns that files have at the top: lists, and structs with all fields asked for."""
    fields: dict[str, list[str]] = {}
    types: dict[str, str] = {}
    for column in columns:
        name, *field = column.get("path", [column["name"]])
        if field == [0]:
            types[name] = f"list({column['type']})"
        elif field:
            fields.setdefault(name, []).append(f"{field[0]} {column['type']}")
            types[name] = f"struct({', '.join(fields[name])})"
        else:
            types[name] = column["type"]
    return [{"name": name, "type": type_} for name, type_ in types.items()]


def to_python(value: Any, type_: str) -> Any:
    """Return a JSON value as a Python value of its type; timestamps in ns stay integers."""
    word, inside = parse_type(type_)
    if value is None:
        return None
    if word in ("float32", "float64"):
        # -NaN is the quiet NaN whose sign bit is set: it compares like NaN, but has other bytes.
        return struct.unpack("<d", b"\0\0\0\0\0\0\xf8\xff")[0] if value == "-NaN" else float(value)
    if word == "decimal":
        return decimal.Decimal(value)
    if word == "binary":
        return bytes.fromhex(value)
    if word == "date":
        return _EPOCH.date() + datetime.timedelta(days=value)
    if word == "timestamp" and inside[0] != "ns":
        zone = _UTC if len(inside) > 1 else None
        moment = _EPOCH + datetime.timedelta(microseconds=value * (1000 if inside[0] == "ms" else 1))
        return moment.replace(tzinfo=zone)
    return value


def python_text(value: Any) -> str:
    """Return a value of `to_python`, or a list, tuple or dict of such values, as Python text.

    The text uses the names `datetime`, `Decimal`, `nan` and `inf`.
    """
    if isinstance(value, float):
        return "-nan" if math.isnan(value) and math.copysign(1, value) < 0 else repr(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {python_text(part)}' for name, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(python_text, value))}]"
    if isinstance(value, tuple):
        return f"({''.join(python_text(part) + ', ' for part in value)})"
    return repr(value)


def flattened(table: dict[str, Any]) -> list[list[Any]]:
    """Return all rows of a table of blocks."""
    return [row for block in table["blocks"] for row in block]


def runs(rows: Iterable[list[Any]]) -> Iterator[tuple[list[Any], int]]:
    """Yield the first of consecutive rows, equal but for the last value, which counts up, and their number.

    Large tables have few such runs, which an engine makes faster than it reads their rows.
    """
    first: list[Any] = []
    count = 0
    for row in rows:
        is_number = type(row[-1]) is int and count and type(first[-1]) is int
        if is_number and row[-1] == first[-1] + count and repr(row[:-1]) == repr(first[:-1]):
            count += 1
            continue
        if count:
            yield first, count
        first, count = row, 1
    if count:
        yield first, count
