"""Histories of tests, in JSON or in short as papers have them, read without the project's own reader."""

import re
from collections.abc import Callable, Mapping
from typing import Any

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

_IN_SHORT = re.compile(r"([bcarwdp])(\d+)(?:\(([^()]*)\))?")


def version(label: str) -> Version:
    """Read `object@tag`."""
    name, _, tag = label.rpartition("@")
    return Version(name, tag)


def versions(labels: list[str]) -> tuple[Version, ...]:
    """Read several versions, in their order."""
    return tuple(version(label) for label in labels)


_OPERATIONS: Mapping[str, Callable[..., Operation]] = {
    "b": Begin,
    "c": Commit,
    "a": Abort,
    "r": lambda transaction, read: Read(transaction, version(read)),
    "w": lambda transaction, written: Write(transaction, version(written)),
    "d": lambda transaction, derived, sources: Derive(transaction, version(derived), versions(sources)),
    "p": lambda transaction, name, read: PredicateRead(transaction, name, versions(read)),
}


def history_of(line: Mapping[str, Any]) -> History:
    """The history that a line's object is; `docs/reference/histories.md` has the notation."""
    return History(
        id=line["id"],
        operations=tuple(_OPERATIONS[kind](*of) for kind, *of in line["ops"]),
        orders={name: versions(order) for name, order in line["vo"].items()},
        predicates={
            name: Predicate(frozenset(predicate["dom"]), frozenset(versions(predicate["match"])))
            for name, predicate in line.get("pred", {}).items()
        },
    )


def history(
    text: str, orders: str, predicates: Mapping[str, tuple[str, str]] | None = None, *, id: str = ""
) -> History:
    """A history in short.

    Args:
        text: Such as `b1 r1(x@0) w1(x@1) d3(y@3|x@1,z@2) p1(P:x@0,y@0) c1 a2`.
        orders: Such as `x@0 << x@1; y@3`.
        predicates: For each the objects it ranges over, and the versions that match.
    """
    ordered = [_parts(order, "<<") for order in orders.split(";") if order.strip()]
    return history_of(
        {
            "id": id,
            "ops": operations(text),
            "vo": {order[0].rpartition("@")[0]: order for order in ordered},
            "pred": {
                name: {"dom": _parts(domain), "match": _parts(matching)}
                for name, (domain, matching) in (predicates or {}).items()
            },
        }
    )


def operations(text: str) -> list[list[Any]]:
    """The arrays of JSON that operations in short stand for."""
    return [_operation(part) for part in text.split()]


def _operation(part: str) -> list[Any]:
    found = _IN_SHORT.fullmatch(part)
    assert found is not None, part
    kind, number, inside = found.group(1), int(found.group(2)), found.group(3) or ""
    if kind in "bca":
        return [kind, number]
    if kind in "rw":
        return [kind, number, inside]
    first, _, labels = inside.partition("|" if kind == "d" else ":")
    return [kind, number, first, _parts(labels)]


def _parts(text: str, separator: str = ",") -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]
