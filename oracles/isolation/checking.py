"""The check of a history: phenomena, levels, witnesses."""

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oracles.isolation.columns import Columns, columns_of
from oracles.isolation.cycles import Cycle, cycles
from oracles.isolation.edges import Dependency, Edges, edges
from oracles.isolation.errors import UnusableHistory
from oracles.isolation.facts import Facts
from oracles.isolation.levels import LEVELS, PHENOMENA, strongest
from oracles.isolation.lists import Flags
from oracles.isolation.notation import history_of_json
from oracles.isolation.snapshots import aborted_read, begin_clash, intermediate_read, snapshot_clash
from oracles.isolation.validity import checked
from oracles.isolation.witnesses import Explaining, Witness
from strategies.histories.histories import History


class Verdict(enum.Enum):
    """Whether a history satisfies a level; what was not decided is not a pass."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a check found.

    Attributes:
        phenomena: Those that are there, in the order of `PHENOMENA`.
        unknown: Those of which it was not found out.
        strongest: The levels that hold and that no stronger one that holds implies, in the order of `LEVELS`.
        witness: For each phenomenon that is there what shows it.
        problem: Why the history could not be judged, or None.
        row: The row of a file, counted from 0, that the problem is in, where it is known.
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
        """Whether the history satisfies a level.

        Raises:
            KeyError: there is no such level.
        """
        proscribed = LEVELS[level]
        if self.problem is None and proscribed.intersection(self.phenomena):
            return Verdict.INVALID
        return Verdict.UNKNOWN if proscribed.intersection(self.unknown) else Verdict.VALID

    @property
    def holding(self) -> tuple[str, ...]:
        """The levels that hold."""
        return tuple(level for level in LEVELS if self.verdict(level) is Verdict.VALID)

    def edges(self) -> frozenset[str]:
        """The edges of the graph, as `T1-wr->T2`; made on demand, for small histories."""
        if self._graph is None:
            return frozenset()
        known, found = self._graph
        triples = set(zip(found.tail.tolist(), found.kind.tolist(), found.head.tolist(), strict=True))
        return frozenset(
            f"{known.name(tail)}-{Dependency(kind)}->{known.name(head)}" for tail, kind, head in triples
        )

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON; phenomena and levels are null where the history could not be judged."""
        judged = self.problem is None
        found: dict[str, Any] = {
            "id": self.id,
            "phenomena": list(self.phenomena) if judged else None,
            "strongest": list(self.strongest) if judged else None,
            "witness": {name: witness.to_dict() for name, witness in self.witness.items()},
        }
        if self.unknown:
            found["unknown"] = list(self.unknown)
        if self.problem is not None:
            found["problem"] = self.problem
        return found


def check(
    history: History | Columns | Mapping[str, Any],
    *,
    literal: bool = False,
    transactions: Collection[int] | None = None,
) -> Result:
    """Find the phenomena of a history, the isolation levels that it satisfies, and what shows it.

    Args:
        history: Objects, columns, or a line of the notation once it was read; one that is not possible is
            judged UNKNOWN and says why.
        literal: Take [D]'s clause on write-dependencies of derived versions as written; it condemns serial
            histories.
        transactions: Judge the part of the graph that is on these alone.

    Raises:
        UnusableHistory: one of `transactions` is not in the history.

    Source: Adya, Liskov, O'Neil, ICDE 2000; Adya's thesis; [D] section 4.
    """
    try:
        known = checked(_columns(history))
    except UnusableHistory as error:
        name = str(history.get("id", "")) if isinstance(history, Mapping) else history.id
        return unusable(name, str(error), row=error.row)
    kept = _kept(known, transactions)
    found = edges(known, literal=literal)
    if transactions is not None:
        found = found.where(kept[found.tail] & kept[found.head])
    return _judged(known, found, kept)


def _columns(history: History | Columns | Mapping[str, Any]) -> Columns:
    if isinstance(history, Columns):
        return history
    return columns_of(history if isinstance(history, History) else history_of_json(history))


def unusable(id: str, problem: str, *, row: int | None = None) -> Result:
    """The result for a history that cannot be judged."""
    return Result(id=id, phenomena=(), unknown=PHENOMENA, strongest=(), witness={}, problem=problem, row=row)


def _kept(known: Facts, transactions: Collection[int] | None) -> Flags:
    if transactions is None:
        return np.ones(len(known.transactions), np.bool_)
    missing = sorted(set(transactions).difference(known.transactions.tolist()))
    if missing:
        raise UnusableHistory(f"T{missing[0]} is not in the history")
    return np.isin(known.transactions, list(transactions))


def _judged(known: Facts, found: Edges, kept: Flags) -> Result:
    explaining = Explaining(known, found)
    cyclic = cycles(found, len(known.transactions), known.end)
    witness = {name: explaining.cycle(name, cycle) for name, cycle in cyclic.found.items()}
    nodes = np.flatnonzero(kept)
    for name, seen in (("G1a", aborted_read(known, nodes)), ("G1b", intermediate_read(known, nodes))):
        if seen is not None:
            witness[name] = explaining.seen(name, seen)
    clash = snapshot_clash(found, known, cyclic.found.get("G-single"))
    if isinstance(clash, Cycle):
        witness["G-SI"] = explaining.cycle("G-SI", clash)
    elif clash is not None:
        witness["G-SI"] = explaining.clash("G-SI", clash)
    begins = begin_clash(found, known)
    if begins is not None:
        witness["G-SI-rt"] = explaining.clash("G-SI-rt", begins)
    unknown = tuple(name for name in PHENOMENA if name in cyclic.unknown)
    holding = [level for level in LEVELS if not LEVELS[level] & (witness.keys() | cyclic.unknown)]
    return Result(
        id=known.columns.id,
        phenomena=tuple(name for name in PHENOMENA if name in witness),
        unknown=unknown,
        strongest=strongest(holding),
        witness={name: witness[name] for name in PHENOMENA if name in witness},
        _graph=(known, found),
    )
