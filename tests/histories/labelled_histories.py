"""The labelled histories beside the checkout, read without the project's own reader."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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

LABELLED = Path(__file__).parents[3] / "shared" / "histories" / "labelled.jsonl"

needs_labels = pytest.mark.skipif(
    not LABELLED.exists(), reason="the labelled histories are not beside the checkout"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A history and what was worked out by hand of it."""

    history: History
    phenomena: frozenset[str]
    strongest: frozenset[str]
    edges: frozenset[str] | None
    same_edges_as: str | None


def version(text: str) -> Version:
    """Read `object@tag`."""
    return Version(*text.split("@"))


def versions(texts: list[str]) -> tuple[Version, ...]:
    """Read several versions, in their order."""
    return tuple(version(text) for text in texts)


_OPERATIONS: dict[str, Callable[..., Operation]] = {
    "b": Begin,
    "c": Commit,
    "a": Abort,
    "r": lambda transaction, read: Read(transaction, version(read)),
    "w": lambda transaction, written: Write(transaction, version(written)),
    "d": lambda transaction, derived, sources: Derive(transaction, version(derived), versions(sources)),
    "p": lambda transaction, name, read: PredicateRead(transaction, name, versions(read)),
}


def labelled_history(line: dict[str, Any]) -> Labelled:
    """Read one line's object."""
    predicates = {
        name: Predicate(frozenset(predicate["dom"]), frozenset(versions(predicate["match"])))
        for name, predicate in line.get("pred", {}).items()
    }
    history = History(
        id=line["id"],
        operations=tuple(_OPERATIONS[kind](*of) for kind, *of in line["ops"]),
        orders={name: versions(order) for name, order in line["vo"].items()},
        predicates=predicates,
    )
    return Labelled(
        history=history,
        phenomena=frozenset(line["expect"]["phen"]),
        strongest=frozenset(line["expect"]["strongest"]),
        edges=frozenset(line["edges_hand"]) if "edges_hand" in line else None,
        same_edges_as=line.get("same_edges_as"),
    )


def labelled() -> Iterator[Labelled]:
    """Every labelled history; none where they are absent."""
    if LABELLED.exists():
        for line in LABELLED.read_text(encoding="utf-8").splitlines():
            yield labelled_history(json.loads(line))


BY_NAME = {found.history.id: found for found in labelled()}
