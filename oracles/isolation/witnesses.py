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
from oracles.isolation.snapshots import Clash, DirtyRead

TIME = "time"  # the kind of a step that follows only from the times of begin and commit


@dataclass(frozen=True, slots=True)
class Step:
    """A step from one transaction to another that must come after it, with the reason."""

    tail: int
    kind: str
    head: int
    because: str

    def __str__(self) -> str:
        return f"T{self.tail} < T{self.head}, because {self.because}"

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON."""
        return {"from": self.tail, "to": self.head, "kind": self.kind, "because": self.because}


@dataclass(frozen=True, slots=True)
class Witness:
    """The evidence for a phenomenon: a cycle, or for G1a and G1b one read.

    Attributes:
        steps: In a cycle each step begins where the previous one ends, and the first where the last ends.
        smallest: True if it is known that no cycle has fewer steps.
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
        """Return the witness as JSON."""
        return {
            "steps": [step.to_dict() for step in self.steps],
            "smallest": self.smallest,
            "text": str(self),
        }


@dataclass(frozen=True, slots=True)
class Explainer:
    """Builds witnesses from the facts and edges of a history."""

    facts: Facts
    edges: Edges

    def cycle(self, phenomenon: str, cycle: Cycle) -> Witness:
        """Return the witness for a cycle."""
        return Witness(phenomenon, tuple(self.step(link) for link in cycle.links), cycle.smallest)

    def clash(self, phenomenon: str, clash: Clash) -> Witness:
        """Return the witness for edges that contradict times."""
        steps = [self.step(link) for link in clash.links]
        first, last = steps[0].tail, steps[-1].head
        why = f"T{last} {clash.why.format(first=f'T{first}')}"
        return Witness(phenomenon, (*steps, Step(last, TIME, first, why)))

    def dirty_read(self, phenomenon: str, read: DirtyRead) -> Witness:
        """Return the witness for a dirty read."""
        facts, writer = self.facts, int(self.facts.writer[read.base])
        name, base = facts.name(writer), facts.columns.name(read.base)
        if phenomenon == "G1b":
            fate = f"which {name} wrote and then wrote over"
        elif facts.end[writer] < len(facts.columns.kind):
            fate = f"which {name} wrote before it aborted"
        else:
            fate = f"which {name} wrote and never committed"
        by = ""
        if facts.columns.kind[read.operation] == Kind.PREDICATE_READ:
            by = f" by predicate {facts.columns.predicates[int(facts.columns.subject[read.operation])]}"
        because = f"{facts.name(read.reader)} read{by} {self._derives(read.version, read.base)}, {fate}"
        assert base in because
        step = Step(self._number(writer), str(Dependency.WR), self._number(read.reader), because)
        return Witness(phenomenon, (step,))

    def step(self, link: Link) -> Step:
        """Return the step over an edge of a link; of several edges, the one with the lowest versions."""
        edges = self.edges
        here = (edges.tail == link.tail) & (edges.head == link.head)
        there = edges.where(here & np.isin(edges.kind, [int(kind) for kind in link.kinds]))
        assert len(there)
        first = int(np.lexsort((there.after, there.via, there.base, there.kind))[0])
        kind = Dependency(int(there.kind[first]))
        base, via, after = (int(column[first]) for column in (there.base, there.via, there.after))
        because = _REASONS[kind](self, link, base, via, after)
        return Step(self._number(link.tail), str(kind), self._number(link.head), because)

    def _number(self, transaction: int) -> int:
        return int(self.facts.transactions[transaction])

    def _derives(self, version: int, base: int) -> str:
        """Return the chain of derivations as text, such as `y@3, which derives from x@1`."""
        path = chain(self.facts.columns, self.facts.created, version, base)
        return ", which derives from ".join(self.facts.columns.name(link_version) for link_version in path)

    def _ww(self, link: Link, base: int, via: int, after: int) -> str:
        name, facts = self.facts.columns.name, self.facts
        tail, head = facts.name(link.tail), facts.name(link.head)
        if via == base:
            return f"{tail} wrote {name(base)}, and {head} wrote {name(after)}, the next version"
        newer = int(facts.after[via])
        return (
            f"{name(newer)} follows {name(via)} in their order: {self._derives(via, base)}, which {tail} "
            f"wrote, and {self._derives(newer, after)}, which {head} wrote"
        )

    def _wr(self, link: Link, base: int, via: int, after: int) -> str:
        reads = f"{self.facts.name(link.head)} read {self._derives(via, base)}"
        return f"{reads}, which {self.facts.name(link.tail)} wrote"

    def _rw(self, link: Link, base: int, via: int, after: int) -> str:
        reads = f"{self.facts.name(link.tail)} read {self._derives(via, base)}"
        overwrites = f"{self.facts.name(link.head)} wrote {self.facts.columns.name(after)}"
        return f"{reads}, and {overwrites}, the next version"

    def _wrp(self, link: Link, base: int, via: int, after: int) -> str:
        columns = self.facts.columns
        of_object = columns.lists[via][columns.object_of[columns.lists[via]] == columns.object_of[after]]
        saw = "saw"
        if int(of_object[0]) != after:
            saw = f"saw {columns.name(int(of_object[0]))}, which comes after"
        return self._by_predicate(saw, link.head, link.tail, base, via, after)

    def _rwp(self, link: Link, base: int, via: int, after: int) -> str:
        return self._by_predicate("did not see", link.tail, link.head, base, via, after)

    def _by_predicate(self, saw: str, reader: int, writer: int, base: int, via: int, after: int) -> str:
        facts, columns = self.facts, self.facts.columns
        predicate = columns.predicates[int(columns.subject[via])]
        return (
            f"{facts.name(reader)} read by predicate {predicate} and {saw} {self._derives(after, base)}, "
            f"which {facts.name(writer)} wrote; {columns.name(after)} changes what matches"
        )


_REASONS: Mapping[Dependency, Callable[[Explainer, Link, int, int, int], str]] = {
    Dependency.WW: Explainer._ww,
    Dependency.WR: Explainer._wr,
    Dependency.WRP: Explainer._wrp,
    Dependency.RW: Explainer._rw,
    Dependency.RWP: Explainer._rwp,
}
