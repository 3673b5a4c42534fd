"""The query of a dynamic table, bound to the tables that it reads."""

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dynamic_tables.maintenance.algebra import Opaque, Relation, Scan, inputs, scans, with_inputs
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.types import Field

# Fields of a bound definition that do not affect its contents.
NAMES = frozenset({"names", "positions"})


@dataclass(frozen=True, eq=False)
class Query:
    """A bound query. It equals only itself, so that backends can keep what they compile from it.

    Attributes:
        relation: The relation that computes it, from sources that are named by identity.
        obstacle: The construct that prevents incremental maintenance; None if there is none.
    """

    relation: Relation
    obstacle: str | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the result."""
        return self.relation.fields

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the result."""
        return tuple(field.name for field in self.relation.fields)

    @property
    def incremental(self) -> bool:
        """True if the query can be maintained incrementally."""
        return self.obstacle is None

    def require_incremental(self) -> None:
        """Raise `Refused` with the obstacle if the query cannot be maintained incrementally (R-DVS-22)."""
        if self.obstacle is not None:
            raise Refused(self.obstacle, "cannot be maintained incrementally; use REFRESH_MODE = FULL")

    @property
    def reads_time(self) -> bool:
        """True if the result may differ at another data timestamp, though no source has changed."""
        return isinstance(self.relation, Opaque) and bool(self.relation.times)

    def at(self, data_us: int) -> "Query":
        """Return the query whose calls for the time give this data timestamp, microseconds since 1970."""
        if not isinstance(self.relation, Opaque) or not self.relation.times:
            return self
        return Query(dataclasses.replace(self.relation, at_us=data_us), self.obstacle)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The identities of the tables that the query reads, each once, in the order of the query."""
        return tuple(dict.fromkeys(scan.source for scan in scans(self.relation)))

    @cached_property
    def used_columns(self) -> Mapping[str, frozenset[str]]:
        """The columns that the query reads, by source (R-DVS-43)."""
        used: dict[str, frozenset[str]] = {}
        for scan in scans(self.relation):
            used[scan.source] = used.get(scan.source, frozenset()) | {field.name for field in scan.fields}
        return used

    @cached_property
    def fingerprint(self) -> str:
        """A hash that is equal for equal definitions, whatever their internal names and unused columns."""
        bound = f"{self.columns!r} {definition_text(self.relation)}"
        return hashlib.blake2b(bound.encode(), digest_size=16).hexdigest()

    def with_sources(self, identities: Mapping[str, str]) -> "Query":
        """Return the query over other sources, as in a clone; sources not in `identities` stay."""
        return Query(with_sources(self.relation, identities), self.obstacle)


def definition_text(node: object) -> str:
    """Return a bound definition as text, without the fields that do not affect its contents."""
    if dataclasses.is_dataclass(node):
        kept = (field.name for field in dataclasses.fields(node) if field.name not in NAMES)
        return f"{type(node).__name__}({', '.join(definition_text(getattr(node, name)) for name in kept)})"
    if isinstance(node, tuple):
        return f"[{', '.join(map(definition_text, node))}]"
    return f"{type(node).__name__} {node!r}"


def with_sources(relation: Relation, identities: Mapping[str, str]) -> Relation:
    """Return a relation whose scans read other sources."""
    if isinstance(relation, Scan):
        return dataclasses.replace(relation, source=identities.get(relation.source, relation.source))
    return with_inputs(relation, tuple(with_sources(below, identities) for below in inputs(relation)))
