"""The query of a dynamic table, bound to the tables that it reads."""

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dynamic_tables.maintenance.algebra import Relation, Scan, inputs, scans, with_inputs
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.types import Field

# Of nodes of a bound definition: what has no bearing on its contents.
NAMES = frozenset({"names", "positions"})


@dataclass(frozen=True, eq=False)
class Query:
    """A bound query. It equals itself alone, so that backends can keep what they compile from it.

    Attributes:
        relation: What it computes, from sources named by their identities.
        obstacle: The construct because of which it cannot be maintained incrementally; None if it can.
    """

    relation: Relation
    obstacle: str | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of its result."""
        return self.relation.fields

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of its result."""
        return tuple(field.name for field in self.relation.fields)

    @property
    def incremental(self) -> bool:
        """Whether it can be maintained by changes."""
        return self.obstacle is None

    def require_incremental(self) -> None:
        """Raise what stands in the way of maintaining it incrementally (R-DVS-22)."""
        if self.obstacle is not None:
            raise Refused(self.obstacle, "cannot be maintained incrementally; use REFRESH_MODE = FULL")

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The identities of the tables that it reads, each once, in the order in which it names them."""
        return tuple(dict.fromkeys(scan.source for scan in scans(self.relation)))

    @cached_property
    def used_columns(self) -> Mapping[str, frozenset[str]]:
        """The columns that it reads, by source (R-DVS-43)."""
        used: dict[str, frozenset[str]] = {}
        for scan in scans(self.relation):
            used[scan.source] = used.get(scan.source, frozenset()) | {field.name for field in scan.fields}
        return used

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal bound definitions, whatever names they use inside and unused columns there are."""
        bound = f"{self.columns!r} {described(self.relation)}"
        return hashlib.blake2b(bound.encode(), digest_size=16).hexdigest()

    def rewired(self, identities: Mapping[str, str]) -> "Query":
        """The same query over other sources, as a clone's is; those not in `identities` stay."""
        return Query(rewired(self.relation, identities), self.obstacle)


def described(node: object) -> str:
    """A bound definition as text, without what has no bearing on its contents."""
    if dataclasses.is_dataclass(node):
        kept = (field.name for field in dataclasses.fields(node) if field.name not in NAMES)
        return f"{type(node).__name__}({', '.join(described(getattr(node, name)) for name in kept)})"
    if isinstance(node, tuple):
        return f"[{', '.join(map(described, node))}]"
    return f"{type(node).__name__} {node!r}"


def rewired(relation: Relation, identities: Mapping[str, str]) -> Relation:
    """A relation whose scans read other sources."""
    if isinstance(relation, Scan):
        return dataclasses.replace(relation, source=identities.get(relation.source, relation.source))
    return with_inputs(relation, tuple(rewired(below, identities) for below in inputs(relation)))
