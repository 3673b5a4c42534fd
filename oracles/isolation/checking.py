"""The check of a history for phenomena, levels and witnesses."""

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oracles.isolation.columns import Columns, columns_of
from oracles.isolation.cycles import Cycle, find_cycles
from oracles.isolation.edges import Dependency, Edges, edges
from oracles.isolation.errors import UnusableHistory
from oracles.isolation.facts import Facts
from oracles.isolation.levels import LEVELS, PHENOMENA, strongest
from oracles.isolation.lists import Flags
from oracles.isolation.notation import history_of_json
from oracles.isolation.snapshots import aborted_read, begin_clash, intermediate_read, snapshot_clash
from oracles.isolation.validity import validated_facts
from oracles.isolation.witnesses import Explainer, Witness
from strategies.histories.histories import History


class Verdict(enum.Enum):
    """The verdict on one level; a level that was not decided does not pass."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a check.

    Attributes:
        phenomena: The phenomena that occur, in the order of `PHENOMENA`.
        unknown: The phenomena that were not decided.
        strongest: The levels that hold and that no stronger one that holds implies, in the order of `LEVELS`.
        witness: A witness of each phenomenon that occurs.
        problem: The reason why the history could not be judged, or None.
        row: The row of a file, counted from 0, that has the problem, where that is known.
    """

    id: str
    phenomena: tuple[str, ...]
    unknown: tuple[str, ...]
    strongest: tuple[str, ...]
    witness: Mapping[str, Witness]
    problem: str | None = None
    row: int | None = None
    _graph: "tuple[Facts, Edges] | None" = field(default=None, repr=False, compare=False)

    def verdict(self, level: str) -> Verdict:
        """Return the verdict on a level.

        Raises:
            KeyError: There is no such level.
        """
        proscribed = LEVELS[level]
        if self.problem is None and proscribed.intersection(self.phenomena):
            return Verdict.INVALID
        return Verdict.UNKNOWN if proscribed.intersection(self.unknown) else Verdict.VALID

    @property
    def holding(self) -> tuple[str, ...]:
        """The levels that hold, in the order of `LEVELS`."""
        return tuple(level for level in LEVELS if self.verdict(level) is Verdict.VALID)

    def edges(self) -> frozenset[str]:
        """Return the edges of the graph in the form `T1-wr->T2`; computed on demand, for small histories."""
        if self._graph is None:
            return frozenset()
        facts, graph_edges = self._graph
        triples = set(
            zip(graph_edges.tail.tolist(), graph_edges.kind.tolist(), graph_edges.head.tolist(), strict=True)
        )
        return frozenset(
            f"{facts.name(tail)}-{Dependency(kind)}->{facts.name(head)}" for tail, kind, head in triples
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON; phenomena and levels are null where the history could not be judged."""
        judged = self.problem is None
        document: dict[str, Any] = {
            "id": self.id,
            "phenomena": list(self.phenomena) if judged else None,
            "strongest": list(self.strongest) if judged else None,
            "witness": {name: witness.to_dict() for name, witness in self.witness.items()},
        }
        if self.unknown:
            document["unknown"] = list(self.unknown)
        if self.problem is not None:
            document["problem"] = self.problem
        return document


def check(
    history: History | Columns | Mapping[str, Any],
    *,
    literal: bool = False,
    transactions: Collection[int] | None = None,
) -> Result:
    """Find the phenomena of a history, the isolation levels that it satisfies, and what shows it.

    Args:
        history: A history, columns, or a parsed line of the notation; an impossible one is judged UNKNOWN,
            with the problem.
        literal: Take [D]'s clause on write-dependencies of derived versions literally; it condemns serial
            histories.
        transactions: Judge only the part of the graph on these transactions.

    Raises:
        UnusableHistory: One of `transactions` is not in the history.

    Source: Adya, Liskov, O'Neil, ICDE 2000; Adya's thesis; [D] section 4.

    >>> history = {
    ...     "id": "a lost update",
    ...     "ops": [["b", 1], ["b", 2], ["r", 1, "x@0"], ["r", 2, "x@0"],
    ...             ["w", 1, "x@1"], ["c", 1], ["w", 2, "x@2"], ["c", 2]],
    ...     "vo": {"x": ["x@0", "x@1", "x@2"]},
    ... }
    >>> result = check(history)
    >>> result.strongest
    ('PL-2',)
    >>> print(result.witness["G-single"])
    G-single:
      T2 < T1, because T2 read x@0, and T1 wrote x@1, the next version
      but T1 < T2, because T1 wrote x@1, and T2 wrote x@2, the next version: a contradiction
    """
    try:
        facts = validated_facts(_columns(history))
    except UnusableHistory as error:
        name = str(history.get("id", "")) if isinstance(history, Mapping) else history.id
        return unusable(name, str(error), row=error.row)
    kept = _kept_transactions(facts, transactions)
    all_edges = edges(facts, literal=literal)
    if transactions is not None:
        all_edges = all_edges.where(kept[all_edges.tail] & kept[all_edges.head])
    return _judge(facts, all_edges, kept)


def _columns(history: History | Columns | Mapping[str, Any]) -> Columns:
    if isinstance(history, Columns):
        return history
    return columns_of(history if isinstance(history, History) else history_of_json(history))


def unusable(id: str, problem: str, *, row: int | None = None) -> Result:
    """Return the result for a history that cannot be judged."""
    return Result(id=id, phenomena=(), unknown=PHENOMENA, strongest=(), witness={}, problem=problem, row=row)


def _kept_transactions(facts: Facts, transactions: Collection[int] | None) -> Flags:
    if transactions is None:
        return np.ones(len(facts.transactions), np.bool_)
    missing = sorted(set(transactions).difference(facts.transactions.tolist()))
    if missing:
        raise UnusableHistory(f"T{missing[0]} is not in the history")
    return np.isin(facts.transactions, list(transactions))


def _judge(facts: Facts, all_edges: Edges, kept: Flags) -> Result:
    explainer = Explainer(facts, all_edges)
    cyclic = find_cycles(all_edges, len(facts.transactions), facts.end)
    witness = {name: explainer.cycle(name, cycle) for name, cycle in cyclic.cycles.items()}
    nodes = np.flatnonzero(kept)
    for name, read in (("G1a", aborted_read(facts, nodes)), ("G1b", intermediate_read(facts, nodes))):
        if read is not None:
            witness[name] = explainer.dirty_read(name, read)
    clash = snapshot_clash(all_edges, facts, cyclic.cycles.get("G-single"))
    if isinstance(clash, Cycle):
        witness["G-SI"] = explainer.cycle("G-SI", clash)
    elif clash is not None:
        witness["G-SI"] = explainer.clash("G-SI", clash)
    begins = begin_clash(all_edges, facts)
    if begins is not None:
        witness["G-SI-rt"] = explainer.clash("G-SI-rt", begins)
    unknown = tuple(name for name in PHENOMENA if name in cyclic.unknown)
    holding = [level for level in LEVELS if not LEVELS[level] & (witness.keys() | cyclic.unknown)]
    return Result(
        id=facts.columns.id,
        phenomena=tuple(name for name in PHENOMENA if name in witness),
        unknown=unknown,
        strongest=strongest(holding),
        witness={name: witness[name] for name in PHENOMENA if name in witness},
        _graph=(facts, all_edges),
    )
