"""Histories of transactions with derivations: operations, version orders, and matches of predicates.

The notation is Adya's (Generalized Isolation Level Definitions, ICDE 2000, section 4), with the derivations
of Streaming Democratized (SIGMOD-Companion 2025, section 4): values computed purely from stored data. This
module draws nothing and checks nothing; `docs/reference/histories.md` has the notation in full.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Version(NamedTuple):
    """One version of an object, written `object@tag`."""

    object: str
    tag: str

    def __str__(self) -> str:
        return f"{self.object}@{self.tag}"


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction's begin; without one, a transaction begins at its first operation."""

    transaction: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction's commit."""

    transaction: int


@dataclass(frozen=True, slots=True)
class Abort:
    """A transaction's abort."""

    transaction: int


@dataclass(frozen=True, slots=True)
class Read:
    """A read of one version."""

    transaction: int
    version: Version


@dataclass(frozen=True, slots=True)
class Write:
    """A write of a new version; a transaction's last version of an object is installed when it commits."""

    transaction: int
    version: Version


@dataclass(frozen=True, slots=True)
class Derive:
    """A derivation of a version from others; it installs nothing."""

    transaction: int
    version: Version
    sources: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class PredicateRead:
    """A read by a predicate; objects of its domain that have no version here were not yet born."""

    transaction: int
    predicate: str
    versions: tuple[Version, ...]


Operation: TypeAlias = Begin | Commit | Abort | Read | Write | Derive | PredicateRead


@dataclass(frozen=True, slots=True)
class Predicate:
    """The objects that a predicate ranges over, and the versions that match it."""

    domain: frozenset[str]
    matching: frozenset[Version]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The operations of some transactions, and the orders of versions.

    Attributes:
        operations: In real-time order.
        orders: For each object its committed final versions, the oldest first; versions that nobody writes or
            derives are those of an implicit transaction that committed before all others.
    """

    id: str = ""
    operations: tuple[Operation, ...]
    orders: Mapping[str, tuple[Version, ...]]
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
