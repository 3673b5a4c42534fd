"""Histories written in short, as the papers write them."""

import re
from collections.abc import Mapping

from strategies.histories import (
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

_OPERATION = re.compile(r"([bcarwdp])(\d+)(?:\(([^()]*)\))?")


def version(label: str) -> Version:
    """`x@1`."""
    name, _, tag = label.rpartition("@")
    return Version(name, tag)


def versions(labels: str) -> tuple[Version, ...]:
    """`x@1,y@2`."""
    return tuple(version(label.strip()) for label in labels.split(",") if label.strip())


def history(
    text: str, orders: str, predicates: Mapping[str, tuple[str, str]] | None = None, *, id: str = ""
) -> History:
    """A history.

    Args:
        text: Such as `b1 r1(x@0) w1(x@1) d3(y@3|x@1,z@2) p1(P:x@0,y@0) c1 a2`.
        orders: Such as `x@0 << x@1; y@3`.
        predicates: For each the objects it ranges over, and the versions that match.
    """
    parsed = [versions(order.replace("<<", ",")) for order in orders.split(";") if order.strip()]
    return History(
        id=id,
        operations=tuple(_operation(part) for part in text.split()),
        orders={order[0].object: order for order in parsed},
        predicates={
            name: Predicate(
                frozenset(one.strip() for one in domain.split(",")), frozenset(versions(matching))
            )
            for name, (domain, matching) in (predicates or {}).items()
        },
    )


def _operation(part: str) -> Operation:
    found = _OPERATION.fullmatch(part)
    assert found is not None, part
    kind, number, inside = found.group(1), int(found.group(2)), found.group(3) or ""
    match kind:
        case "b":
            return Begin(number)
        case "c":
            return Commit(number)
        case "a":
            return Abort(number)
        case "r":
            return Read(number, version(inside))
        case "w":
            return Write(number, version(inside))
        case "d":
            made, _, sources = inside.partition("|")
            return Derive(number, version(made), versions(sources))
        case _:
            name, _, seen = inside.partition(":")
            return PredicateRead(number, name, versions(seen))
