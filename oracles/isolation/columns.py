"""A history as columns of integers: the one form that is checked, whatever it was read from."""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from oracles.isolation.errors import UnusableHistory
from oracles.isolation.lists import Ints, Lists
from strategies.histories.histories import (
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


class Kind(enum.IntEnum):
    """The kind of an operation; the numbers are those of the columnar files."""

    BEGIN = 0
    COMMIT = 1
    ABORT = 2
    READ = 3
    WRITE = 4
    DERIVE = 5
    PREDICATE_READ = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """One history.

    Versions, objects and predicates are numbered from 0; their names are texts or numbers.

    Attributes:
        kind: The `Kind` of each operation; operations are in real-time order. Shape (n,).
        transaction: The transaction of each operation. Shape (n,).
        subject: The version read, written or derived, or the predicate read by, or -1. Shape (n,).
        lists: The sources of a derivation, the version set of a predicate read; otherwise empty. Length n.
        object_of: The object of each version.
        orders: The versions of each object, oldest first.
        domains: The objects of each predicate.
        matching: The versions that match each predicate.
        rows: The rows in the file of operations, orders and predicates, if it has rows.
    """

    id: str
    kind: Ints
    transaction: Ints
    subject: Ints
    lists: Lists
    object_of: Ints
    orders: Lists
    domains: Lists
    matching: Lists
    objects: Sequence[object]
    tags: Sequence[object]
    predicates: Sequence[object]
    rows: "Rows" = field(default_factory=lambda: Rows())

    def name(self, version: int) -> str:
        """Return the name of a version, `object@tag`."""
        return f"{self.objects[int(self.object_of[version])]}@{self.tags[version]}"

    def version(self, version: int) -> Version:
        """Return a version as an object with names."""
        return Version(str(self.objects[int(self.object_of[version])]), str(self.tags[version]))


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of the parts of a history, in a file that has rows."""

    operations: Ints | None = None
    orders: Ints | None = None
    predicates: Ints | None = None


class _Numbers:
    """The numbers of versions, objects and predicates, in order of appearance."""

    def __init__(self) -> None:
        self.objects: dict[str, int] = {}
        self.versions: dict[Version, int] = {}
        self.predicates: dict[str, int] = {}

    def object(self, name: str) -> int:
        return self.objects.setdefault(name, len(self.objects))

    def version(self, version: Version) -> int:
        self.object(version.object)
        return self.versions.setdefault(version, len(self.versions))

    def predicate(self, name: str) -> int:
        return self.predicates.setdefault(name, len(self.predicates))

    def operation(self, operation: Operation) -> tuple[Kind, int, list[int]]:
        """Return the kind of an operation, its subject and its list."""
        match operation:
            case Begin():
                return Kind.BEGIN, -1, []
            case Commit():
                return Kind.COMMIT, -1, []
            case Abort():
                return Kind.ABORT, -1, []
            case Read(_, version):
                return Kind.READ, self.version(version), []
            case Write(_, version):
                return Kind.WRITE, self.version(version), []
            case Derive(_, version, sources):
                return Kind.DERIVE, self.version(version), [self.version(source) for source in sources]
            case PredicateRead(_, predicate, versions):
                return (
                    Kind.PREDICATE_READ,
                    self.predicate(predicate),
                    [self.version(version) for version in versions],
                )


def columns_of(history: History) -> Columns:
    """Return the columns of a history of objects; `check` finds out whether it is possible.

    Raises:
        UnusableHistory: A transaction reads by a predicate that is not defined.

    >>> x1 = Version("x", "1")
    >>> history = History(operations=(Begin(1), Write(1, x1), Commit(1)), orders={"x": (x1,)})
    >>> columns = columns_of(history)
    >>> columns.kind.tolist(), columns.transaction.tolist(), columns.subject.tolist()
    ([0, 4, 1], [1, 1, 1], [-1, 0, -1])
    >>> columns.name(0)
    'x@1'
    """
    numbers = _Numbers()
    operations = [numbers.operation(operation) for operation in history.operations]
    orders = {
        numbers.object(name): [numbers.version(version) for version in order]
        for name, order in history.orders.items()
    }
    defined = {
        numbers.predicate(name): (
            [numbers.object(object_name) for object_name in sorted(predicate.domain)],
            [numbers.version(version) for version in sorted(predicate.matching)],
        )
        for name, predicate in history.predicates.items()
    }
    for name, index in numbers.predicates.items():
        if index not in defined:
            raise UnusableHistory(f"a transaction reads by {name}, which no predicate is called")
    predicates = [defined[index] for index in range(len(numbers.predicates))]
    return Columns(
        id=history.id,
        kind=_array(kind for kind, _, _ in operations),
        transaction=_array(operation.transaction for operation in history.operations),
        subject=_array(subject for _, subject, _ in operations),
        lists=Lists.of(versions for _, _, versions in operations),
        object_of=_array(numbers.objects[version.object] for version in numbers.versions),
        orders=Lists.of(orders.get(index, []) for index in range(len(numbers.objects))),
        domains=Lists.of(objects for objects, _ in predicates),
        matching=Lists.of(versions for _, versions in predicates),
        objects=list(numbers.objects),
        tags=[version.tag for version in numbers.versions],
        predicates=list(numbers.predicates),
    )


def _array(values: Iterable[int]) -> Ints:
    return np.array([int(value) for value in values], np.int64)


def history_of(columns: Columns) -> History:
    """Return the history of objects that the columns hold.

    >>> x1 = Version("x", "1")
    >>> history = History(operations=(Begin(1), Write(1, x1), Commit(1)), orders={"x": (x1,)})
    >>> history_of(columns_of(history)) == history
    True
    """
    versioned = set(columns.object_of.tolist())
    return History(
        id=columns.id,
        operations=tuple(_operation(columns, index) for index in range(len(columns.kind))),
        orders={
            str(name): tuple(columns.version(int(version)) for version in columns.orders[index])
            for index, name in enumerate(columns.objects)
            if index in versioned or len(columns.orders[index])
        },
        predicates={
            str(name): Predicate(
                frozenset(str(columns.objects[int(object_index)]) for object_index in columns.domains[index]),
                frozenset(columns.version(int(version)) for version in columns.matching[index]),
            )
            for index, name in enumerate(columns.predicates)
        },
    )


def _operation(columns: Columns, index: int) -> Operation:
    transaction, subject = int(columns.transaction[index]), int(columns.subject[index])
    listed = tuple(columns.version(int(version)) for version in columns.lists[index])
    match Kind(int(columns.kind[index])):
        case Kind.BEGIN:
            return Begin(transaction)
        case Kind.COMMIT:
            return Commit(transaction)
        case Kind.ABORT:
            return Abort(transaction)
        case Kind.READ:
            return Read(transaction, columns.version(subject))
        case Kind.WRITE:
            return Write(transaction, columns.version(subject))
        case Kind.DERIVE:
            return Derive(transaction, columns.version(subject), listed)
        case Kind.PREDICATE_READ:
            return PredicateRead(transaction, str(columns.predicates[subject]), listed)
