"""Histories as JSON, one to a line; `docs/reference/histories.md` has the notation."""

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
    """The history of one line; fields of other names are left to their readers.

    Raises:
        UnusableHistory: the line is not JSON, or a field is not as the notation has it.
    """
    try:
        found = json.loads(line, object_pairs_hook=_no_name_twice)
    except json.JSONDecodeError as error:
        raise UnusableHistory(f"it is not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise UnusableHistory("it is nested too deeply") from None
    except ValueError as error:
        # An integer of thousands of digits.
        raise UnusableHistory(f"it is not JSON that can be read: {error}") from None
    if isinstance(found, _Repeated):
        raise UnusableHistory(f"it names {found.name!r} twice")
    return history_of_json(found)


def history_of_json(found: Any) -> History:
    """The history that a JSON object is, once it was read.

    Raises:
        UnusableHistory: a field is not as the notation has it.
    """
    if not isinstance(found, dict):
        raise UnusableHistory("it is no JSON object")
    for name in ("ops", "vo"):
        if name not in found:
            raise UnusableHistory(f"it has no field {name!r}")
    return History(
        id=_text(found.get("id", ""), "id"),
        operations=tuple(_operation(one, number) for number, one in enumerate(_list(found["ops"], "ops"), 1)),
        orders={
            _name(name, "vo"): _versions(order, f"the order of {name}")
            for name, order in _fields(found["vo"], "vo", "has two orders for {}").items()
        },
        predicates={
            _name(name, "pred"): _predicate(name, predicate)
            for name, predicate in _fields(found.get("pred", {}), "pred", "defines {} twice").items()
        },
    )


class _Repeated:
    """An object that has a name twice, of which JSON libraries silently lose one."""

    def __init__(self, name: str) -> None:
        self.name = name


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs]
    return _Repeated(next(name for place, name in enumerate(names) if name in names[:place]))


def _fields(found: Any, name: str, twice: str) -> Mapping[str, Any]:
    if isinstance(found, _Repeated):
        raise UnusableHistory(f"it {twice.format(_text(found.name, name))}")
    if not isinstance(found, dict):
        raise UnusableHistory(f"{name} is {_shown(found)}, no JSON object")
    return found


def _list(found: Any, name: str) -> list[Any]:
    if not isinstance(found, list):
        raise UnusableHistory(f"{name} is {_shown(found)}, no list")
    return found


def _text(found: Any, name: str) -> str:
    if not isinstance(found, str):
        raise UnusableHistory(f"{name} is {_shown(found)}, no text")
    if not found.isascii():
        try:
            found.encode()
        except UnicodeEncodeError:
            raise UnusableHistory(f"{name} is {_shown(found)}, half a character") from None
    return found


def _name(found: Any, where: str) -> str:
    if not _text(found, where):
        raise UnusableHistory(f'{where} is "", which is no name')
    return str(found)


def _shown(found: Any) -> str:
    """A value as JSON, cut where it is long."""
    text = "an object that names a field twice" if isinstance(found, _Repeated) else ""
    text = text or json.dumps(found, default=lambda _: "...")
    return text if len(text) <= 60 else f"{text[:59]}…"


def _version(found: Any, where: str) -> Version:
    named, at, tag = _text(found, f"a version of {where}").rpartition("@")
    if not (named and at and tag):
        raise UnusableHistory(f"{_shown(found)} of {where} is no version: they are object@tag")
    return Version(named, tag)


def _versions(found: Any, where: str) -> tuple[Version, ...]:
    return tuple(_version(one, where) for one in _list(found, where))


def _predicate(name: str, found: Any) -> Predicate:
    fields = _fields(found, f"predicate {name}", f"defines {{}} of predicate {name} twice")
    for field in ("dom", "match"):
        if field not in fields:
            raise UnusableHistory(f"predicate {name} has no field {field!r}")
    domain = _list(fields["dom"], f"the domain of {name}")
    return Predicate(
        frozenset(_name(one, f"an object of {name}") for one in domain),
        frozenset(_versions(fields["match"], f"what matches {name}")),
    )


def _operation(found: Any, number: int) -> Operation:
    where = f"operation {number}"
    parts = _list(found, where)
    if not parts or not isinstance(parts[0], str) or parts[0] not in _MAKERS:
        raise UnusableHistory(f"{where} is {_shown(found)}, which begins with none of {', '.join(_MAKERS)}")
    length, make = _MAKERS[parts[0]]
    if len(parts) != length:
        raise UnusableHistory(f"{where} is {_shown(found)}, which has not {length} parts")
    transaction = parts[1]
    if (
        isinstance(transaction, bool)
        or not isinstance(transaction, int)
        or not 0 <= transaction <= NUMBER_MAX
    ):
        raise UnusableHistory(f"{where} is {_shown(found)}, whose transaction is no number from 0 on")
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
    """The line of a history.

    Raises:
        ValueError: a tag holds an @, so that the notation has no label for the version.
    """
    written: dict[str, Any] = {
        "id": history.id,
        "ops": [_written(operation) for operation in history.operations],
        "vo": {name: _labels(order) for name, order in history.orders.items()},
    }
    if history.predicates:
        written["pred"] = {
            name: {"dom": sorted(predicate.domain), "match": _labels(sorted(predicate.matching))}
            for name, predicate in history.predicates.items()
        }
    return json.dumps(written, ensure_ascii=False)


def _label(version: Version) -> str:
    if "@" in version.tag or not version.tag or not version.object:
        raise ValueError(f"{version} is no version that can be written as object@tag")
    return str(version)


def _labels(versions: Iterable[Version]) -> list[str]:
    return [_label(version) for version in versions]


def _written(operation: Operation) -> list[Any]:
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
