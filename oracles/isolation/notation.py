"""Histories as JSON, one per line; `docs/reference/histories.md` describes the notation."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oracles.isolation.errors import UnusableHistory
from strategies.histories.histories import (
    Abort,
    Begin,
    Commit,
    Derive,
    History,
    Operation,
    Predicate,
    PredicateRead,
    Read,
    Version,
    Write,
)

NUMBER_MAX = 2**63 - 1


def loads(line: str) -> History:
    """Return the history of a line; fields with other names are ignored.

    Raises:
        UnusableHistory: The line is not JSON, or a field is not as the notation demands.
    """
    try:
        value = json.loads(line, object_pairs_hook=_no_name_twice)
    except json.JSONDecodeError as error:
        raise UnusableHistory(f"it is not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise UnusableHistory("it is nested too deeply") from None
    except ValueError as error:
        # An integer of thousands of digits.
        raise UnusableHistory(f"it is not JSON that can be read: {error}") from None
    if isinstance(value, _Repeated):
        raise UnusableHistory(f"it names {value.name!r} twice")
    return history_of_json(value)


def history_of_json(value: Any) -> History:
    """Return the history of a parsed JSON object.

    Raises:
        UnusableHistory: A field is not as the notation demands.
    """
    if not isinstance(value, dict):
        raise UnusableHistory("it is no JSON object")
    for name in ("ops", "vo"):
        if name not in value:
            raise UnusableHistory(f"it has no field {name!r}")
    return History(
        id=_text(value.get("id", ""), "id"),
        operations=tuple(
            _operation(operation, number) for number, operation in enumerate(_list(value["ops"], "ops"), 1)
        ),
        orders={
            _name(name, "vo"): _versions(order, f"the order of {name}")
            for name, order in _fields(value["vo"], "vo", "has two orders for {}").items()
        },
        predicates={
            _name(name, "pred"): _predicate(name, predicate)
            for name, predicate in _fields(value.get("pred", {}), "pred", "defines {} twice").items()
        },
    )


class _Repeated:
    """An object that has a name twice; JSON libraries silently drop one of the two."""

    def __init__(self, name: str) -> None:
        self.name = name


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    names = [name for name, _ in pairs]
    return _Repeated(next(name for place, name in enumerate(names) if name in names[:place]))


def _fields(value: Any, name: str, twice: str) -> Mapping[str, Any]:
    if isinstance(value, _Repeated):
        raise UnusableHistory(f"it {twice.format(_text(value.name, name))}")
    if not isinstance(value, dict):
        raise UnusableHistory(f"{name} is {_excerpt(value)}, no JSON object")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise UnusableHistory(f"{name} is {_excerpt(value)}, no list")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise UnusableHistory(f"{name} is {_excerpt(value)}, no text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UnusableHistory(f"{name} is {_excerpt(value)}, half a character") from None
    return value


def _name(value: Any, where: str) -> str:
    if not _text(value, where):
        raise UnusableHistory(f'{where} is "", which is no name')
    return str(value)


def _excerpt(value: Any) -> str:
    """Return a value as JSON, shortened if it is long."""
    text = "an object that names a field twice" if isinstance(value, _Repeated) else ""
    text = text or json.dumps(value, default=lambda _: "...")
    return text if len(text) <= 60 else f"{text[:59]}…"


def _version(value: Any, where: str) -> Version:
    named, at, tag = _text(value, f"a version of {where}").rpartition("@")
    if not (named and at and tag):
        raise UnusableHistory(f"{_excerpt(value)} of {where} is no version: they are object@tag")
    return Version(named, tag)


def _versions(value: Any, where: str) -> tuple[Version, ...]:
    return tuple(_version(version, where) for version in _list(value, where))


def _predicate(name: str, value: Any) -> Predicate:
    fields = _fields(value, f"predicate {name}", f"defines {{}} of predicate {name} twice")
    for field in ("dom", "match"):
        if field not in fields:
            raise UnusableHistory(f"predicate {name} has no field {field!r}")
    domain = _list(fields["dom"], f"the domain of {name}")
    return Predicate(
        frozenset(_name(object_name, f"an object of {name}") for object_name in domain),
        frozenset(_versions(fields["match"], f"what matches {name}")),
    )


def _operation(value: Any, number: int) -> Operation:
    where = f"operation {number}"
    parts = _list(value, where)
    if not parts or not isinstance(parts[0], str) or parts[0] not in _MAKERS:
        raise UnusableHistory(f"{where} is {_excerpt(value)}, which begins with none of {', '.join(_MAKERS)}")
    length, make = _MAKERS[parts[0]]
    if len(parts) != length:
        raise UnusableHistory(f"{where} is {_excerpt(value)}, which has not {length} parts")
    transaction = parts[1]
    if (
        isinstance(transaction, bool)
        or not isinstance(transaction, int)
        or not 0 <= transaction <= NUMBER_MAX
    ):
        raise UnusableHistory(f"{where} is {_excerpt(value)}, whose transaction is no number from 0 on")
    return make(parts, where)


_MAKERS: Mapping[str, tuple[int, Callable[[list[Any], str], Operation]]] = {
    "b": (2, lambda parts, where: Begin(parts[1])),
    "c": (2, lambda parts, where: Commit(parts[1])),
    "a": (2, lambda parts, where: Abort(parts[1])),
    "r": (3, lambda parts, where: Read(parts[1], _version(parts[2], where))),
    "w": (3, lambda parts, where: Write(parts[1], _version(parts[2], where))),
    "d": (4, lambda parts, where: Derive(parts[1], _version(parts[2], where), _versions(parts[3], where))),
    "p": (
        4,
        lambda parts, where: PredicateRead(parts[1], _text(parts[2], where), _versions(parts[3], where)),
    ),
}


def dumps(history: History) -> str:
    """Return the line of a history.

    Raises:
        ValueError: A tag holds an @, so that the notation has no label for the version.
    """
    document: dict[str, Any] = {
        "id": history.id,
        "ops": [_operation_json(operation) for operation in history.operations],
        "vo": {name: _labels(order) for name, order in history.orders.items()},
    }
    if history.predicates:
        document["pred"] = {
            name: {"dom": sorted(predicate.domain), "match": _labels(sorted(predicate.matching))}
            for name, predicate in history.predicates.items()
        }
    return json.dumps(document, ensure_ascii=False)


def _label(version: Version) -> str:
    if "@" in version.tag or not version.tag or not version.object:
        raise ValueError(f"{version} is no version that can be written as object@tag")
    return str(version)


def _labels(versions: Iterable[Version]) -> list[str]:
    return [_label(version) for version in versions]


def _operation_json(operation: Operation) -> list[Any]:
    match operation:
        case Begin(transaction):
            return ["b", transaction]
        case Commit(transaction):
            return ["c", transaction]
        case Abort(transaction):
            return ["a", transaction]
        case Read(transaction, version):
            return ["r", transaction, _label(version)]
        case Write(transaction, version):
            return ["w", transaction, _label(version)]
        case Derive(transaction, version, sources):
            return ["d", transaction, _label(version), _labels(sources)]
        case PredicateRead(transaction, predicate, versions):
            return ["p", transaction, predicate, _labels(versions)]
