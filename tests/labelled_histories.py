"""The labelled histories beside the checkout, and what was worked out by hand of each."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from histories_in_short import history_of

from strategies.histories.histories import History

LABELLED = Path(__file__).parents[2] / "shared" / "histories" / "labelled.jsonl"

needs_labels = pytest.mark.skipif(
    not LABELLED.exists(), reason="the labelled histories are not beside the checkout"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A history and what was worked out by hand of it; `line` is what it was read from."""

    line: str
    history: History
    phenomena: frozenset[str]
    strongest: frozenset[str]
    edges: frozenset[str] | None
    same_edges_as: str | None
    literal: frozenset[str]


def _labelled(line: str) -> Labelled:
    found = json.loads(line)
    return Labelled(
        line=line,
        history=history_of(found),
        phenomena=frozenset(found["expect"]["phen"]),
        strongest=frozenset(found["expect"]["strongest"]),
        edges=frozenset(found["edges_hand"]) if "edges_hand" in found else None,
        same_edges_as=found.get("same_edges_as"),
        literal=frozenset(found.get("literal_expect", {}).get("has", ())),
    )


def _all() -> Iterator[Labelled]:
    if LABELLED.exists():
        for line in LABELLED.read_text(encoding="utf-8").splitlines():
            yield _labelled(line)


# Every labelled history; none where they are absent.
BY_NAME = {found.history.id: found for found in _all()}
