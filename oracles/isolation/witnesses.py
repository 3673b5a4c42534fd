"""Witnesses of phenomena: steps from transaction to transaction, each with its reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oracles.isolation.closures import chain
from oracles.isolation.columns import Kind
from oracles.isolation.cycles import Cycle, Link
from oracles.isolation.edges import Dependency, Edges
from oracles.isolation.facts import Facts
from oracles.isolation.snapshots import Clash, Seen

TIME = "time"  # the kind of a step that only the times of begin and commit give


@dataclass(frozen=True, slots=True)
class Step:
    """That one transaction comes before another, and why."""

    tail: int
    kind: str
    head: int
    because: str

    def __str__(self) -> str:
        return f"T{self.tail} < T{self.head}, because {self.because}"

    def to_dict(self) -> dict[str, Any]:
        """The step in JSON."""
        return {"from": self.tail, "to": self.head, "kind": self.kind, "because": self.because}


@dataclass(frozen=True, slots=True)
class Witness:
    """What shows a phenomenon: a cycle, or for G1a and G1b one read.

    Attributes:
        steps: In a cycle each step begins where the one before ends, and the first where the last ends.
        smallest: Whether there is known to be no cycle of fewer steps.
    """

    phenomenon: str
    steps: tuple[Step, ...]
    smallest: bool = True

    def __str__(self) -> str:
        if len(self.steps) == 1:
            return f"{self.phenomenon}: {self.steps[0].because}"
        lines = [f"{self.phenomenon}:", *(f"  {step}" for step in self.steps[:-1])]
        return "\n".join([*lines, f"  but {self.steps[-1]}: a contradiction"])

    def to_dict(self) -> dict[str, Any]:
        """The witness in JSON."""
        return {
            "steps": [step.to_dict() for step in self.steps],
            "smallest": self.smallest,
            "text": str(self),
        }


@dataclass(frozen=True, slots=True)
class Explaining:
    """What the reasons are taken from."""

    known: Facts
    edges: Edges

    def cycle(self, phenomenon: str, cycle: Cycle) -> Witness:
        """The witness that a cycle is."""
        return Witness(phenomenon, tuple(self.step(link) for link in cycle.links), cycle.smallest)

    def clash(self, phenomenon: str, clash: Clash) -> Witness:
        """The witness that edges and times are."""
        steps = [self.step(link) for link in clash.links]
        first, last = steps[0].tail, steps[-1].head
        why = f"T{last} {clash.why.format(first=f'T{first}')}"
        return Witness(phenomenon, (*steps, Step(last, TIME, first, why)))

    def seen(self, phenomenon: str, seen: Seen) -> Witness:
        """The witness that a read is."""
        known, writer = self.known, int(self.known.writer[seen.base])
        name, base = known.name(writer), known.columns.name(seen.base)
        if phenomenon == "G1b":
            fate = f"which {name} wrote and then wrote over"
        elif known.end[writer] < len(known.columns.kind):
            fate = f"which {name} wrote before it aborted"
        else:
            fate = f"which {name} wrote and never committed"
        by = ""
        if known.columns.kind[seen.operation] == Kind.PREDICATE_READ:
            by = f" by predicate {known.columns.predicates[int(known.columns.subject[seen.operation])]}"
        because = f"{known.name(seen.reader)} read{by} {self._derives(seen.version, seen.base)}, {fate}"
        assert base in because
        step = Step(self._number(writer), str(Dependency.WR), self._number(seen.reader), because)
        return Witness(phenomenon, (step,))

    def step(self, link: Link) -> Step:
        """The step over an edge of the graph, whichever has the least versions of those that there are."""
        edges = self.edges
        here = (edges.tail == link.tail) & (edges.head == link.head)
        there = edges.where(here & np.isin(edges.kind, [int(kind) for kind in link.kinds]))
        assert len(there)
        first = int(np.lexsort((there.after, there.seen, there.base, there.kind))[0])
        kind = Dependency(int(there.kind[first]))
        base, seen, after = (int(column[first]) for column in (there.base, there.seen, there.after))
        because = _REASONS[kind](self, link, base, seen, after)
        return Step(self._number(link.tail), str(kind), self._number(link.head), because)

    def _number(self, transaction: int) -> int:
        return int(self.known.transactions[transaction])

    def _derives(self, version: int, base: int) -> str:
        """`y@3, which derives from x@1`, step by step; `x@1` alone if that is it."""
        path = chain(self.known.columns, self.known.created, version, base)
        return ", which derives from ".join(self.known.columns.name(one) for one in path)

    def _ww(self, link: Link, base: int, seen: int, after: int) -> str:
        name, known = self.known.columns.name, self.known
        tail, head = known.name(link.tail), known.name(link.head)
        if seen == base:
            return f"{tail} wrote {name(base)}, and {head} wrote {name(after)}, the next version"
        newer = int(known.after[seen])
        return (
            f"{name(newer)} follows {name(seen)} in their order: {self._derives(seen, base)}, which {tail} "
            f"wrote, and {self._derives(newer, after)}, which {head} wrote"
        )

    def _wr(self, link: Link, base: int, seen: int, after: int) -> str:
        reads = f"{self.known.name(link.head)} read {self._derives(seen, base)}"
        return f"{reads}, which {self.known.name(link.tail)} wrote"

    def _rw(self, link: Link, base: int, seen: int, after: int) -> str:
        reads = f"{self.known.name(link.tail)} read {self._derives(seen, base)}"
        overwrites = f"{self.known.name(link.head)} wrote {self.known.columns.name(after)}"
        return f"{reads}, and {overwrites}, the next version"

    def _wrp(self, link: Link, base: int, seen: int, after: int) -> str:
        columns = self.known.columns
        of_object = columns.lists[seen][columns.object_of[columns.lists[seen]] == columns.object_of[after]]
        saw = "saw"
        if int(of_object[0]) != after:
            saw = f"saw {columns.name(int(of_object[0]))}, which comes after"
        return self._by_predicate(saw, link.head, link.tail, base, seen, after)

    def _rwp(self, link: Link, base: int, seen: int, after: int) -> str:
        return self._by_predicate("did not see", link.tail, link.head, base, seen, after)

    def _by_predicate(self, saw: str, reader: int, writer: int, base: int, seen: int, after: int) -> str:
        known, columns = self.known, self.known.columns
        predicate = columns.predicates[int(columns.subject[seen])]
        return (
            f"{known.name(reader)} read by predicate {predicate} and {saw} {self._derives(after, base)}, "
            f"which {known.name(writer)} wrote; {columns.name(after)} changes what matches"
        )


_REASONS: Mapping[Dependency, Callable[[Explaining, Link, int, int, int], str]] = {
    Dependency.WW: Explaining._ww,
    Dependency.WR: Explaining._wr,
    Dependency.WRP: Explaining._wrp,
    Dependency.RW: Explaining._rw,
    Dependency.RWP: Explaining._rwp,
}
