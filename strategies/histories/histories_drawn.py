"""Draw small histories of any kind: operations, the versions that reads see, and version orders.

Every version exists before it is used and every transaction ends, so each history is well formed; no more is
promised. Reads may see uncommitted, intermediate, aborted or old versions; in half of the histories only
committed or old ones. The order of versions is that of the commits or any other. A derived version whose
transaction derives another one later, or aborts, is in the order or left out.

"""

import enum
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import DrawFn

from strategies.choices import choose
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

_OBJECTS, _TABLES, _PREDICATES = ("x", "y", "z"), ("s", "t"), ("P", "Q")
_FEWEST_STEPS, _MOST_STEPS = 3, 6  # per transaction, on average
_FARTHEST_BACK = 3
_BACKS = tuple(product((0, 0, *range(_FARTHEST_BACK + 1)), repeat=len(_OBJECTS)))


class DrawnAction(enum.Enum):
    """The actions of a step of a drawn history."""

    READ = "read"
    WRITE = "write"
    COMMIT = "commit"
    ABORT = "abort"
    SCAN = "read by a predicate"
    DERIVE = "derive"
    REFRESH = "refresh in a transaction of its own"
    CRASH = "refresh in a transaction of its own that aborts"


_BASIC = (
    *(DrawnAction.READ,) * 8,
    *(DrawnAction.WRITE,) * 6,
    *(DrawnAction.SCAN,) * 2,
    DrawnAction.COMMIT,
    DrawnAction.ABORT,
)
_DERIVING = (DrawnAction.DERIVE, *(DrawnAction.REFRESH,) * 3, DrawnAction.CRASH)


class _Step(NamedTuple):
    """One step; numbers too large for their choices wrap around."""

    action: DrawnAction
    transaction: int
    object: int
    back: tuple[int, ...]


@cache
def _steps(transactions: int, derivations: bool) -> st.SearchStrategy[list[_Step]]:
    step = st.builds(
        _Step,
        st.sampled_from(_BASIC + _DERIVING if derivations else _BASIC),
        st.integers(0, transactions - 1),
        st.integers(0, len(_OBJECTS) + len(_TABLES) - 1),
        st.sampled_from(_BACKS),
    )
    return st.lists(step, min_size=_FEWEST_STEPS * transactions, max_size=_MOST_STEPS * transactions)


@dataclass(slots=True)
class _HistoryBuilder:
    """The history so far."""

    objects: tuple[str, ...]
    tables: tuple[str, ...]
    clean: bool
    transactions: int
    refreshes: int
    operations: list[Operation] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)
    versions: dict[str, list[Version]] = field(default_factory=dict)
    writers: dict[Version, int] = field(default_factory=dict)
    written: dict[tuple[int, str], Version] = field(default_factory=dict)
    committed: dict[str, list[Version]] = field(default_factory=dict)
    derived: dict[tuple[int, str], Version] = field(default_factory=dict)
    installed: set[Version] = field(default_factory=set)

    def take(self, step: _Step) -> None:
        """Do a step, if possible, in a transaction that has not ended."""
        live = [number for number in range(1, self.transactions + 1) if number not in self.ended]
        if not live:
            return
        step = step._replace(transaction=live[step.transaction % len(live)])
        match step.action:
            case DrawnAction.READ:
                self._read(step)
            case DrawnAction.WRITE:
                self._write(step.transaction, self.objects[step.object % len(self.objects)])
            case DrawnAction.COMMIT | DrawnAction.ABORT:
                self.end(step.transaction, commits=step.action is DrawnAction.COMMIT)
            case DrawnAction.SCAN:
                self._scan(step)
            case DrawnAction.DERIVE:
                self._derive(step, step.transaction)
            case DrawnAction.REFRESH | DrawnAction.CRASH:
                self.refreshes += 1
                self._derive(step, self.refreshes)
                self.end(self.refreshes, commits=step.action is DrawnAction.REFRESH)

    def end(self, transaction: int, *, commits: bool) -> None:
        """End a transaction that has not ended; one without operations begins first."""
        self.ended.add(transaction)
        if all(operation.transaction != transaction for operation in self.operations):
            self.operations.append(Begin(transaction))
        self.operations.append((Commit if commits else Abort)(transaction))
        if commits:
            for (writer, name), version in self.written.items():
                if writer == transaction:
                    self.committed.setdefault(name, []).append(version)
            self.installed.update(version for (by, _), version in self.derived.items() if by == transaction)

    def _read(self, step: _Step) -> None:
        names = self.objects + self.tables
        version = self._visible_version(step.transaction, names[step.object % len(names)], step.back[0])
        if version is not None:
            self.operations.append(Read(step.transaction, version))

    def _write(self, transaction: int, name: str) -> None:
        count = sum(version.object == name for version, by in self.writers.items() if by == transaction)
        version = Version(name, f"{transaction}.{count + 1}")
        self.operations.append(Write(transaction, version))
        self.writers[version] = transaction
        self.written[transaction, name] = version
        self.versions.setdefault(name, []).append(version)

    def _scan(self, step: _Step) -> None:
        name = _PREDICATES[step.object % len(_PREDICATES)]
        chosen = [
            self._visible_version(step.transaction, member, back)
            for member, back in zip(self.domain(name), step.back, strict=False)
            if back < _FARTHEST_BACK
        ]
        versions = tuple(version for version in chosen if version is not None)
        self.operations.append(PredicateRead(step.transaction, name, versions))

    def domain(self, predicate: str) -> tuple[str, ...]:
        """Return a predicate's domain: all objects for the first one, else the last names, with tables."""
        return self.objects if predicate == _PREDICATES[0] else (self.objects + self.tables)[-3:]

    def _derive(self, step: _Step, transaction: int) -> None:
        table = self.tables[step.object % len(self.tables)]
        names = (self.objects + self.tables)[step.object % len(self.objects) :]
        chosen = [
            self._visible_version(transaction, name, back)
            for name, back in zip(names, step.back, strict=False)
            if back < _FARTHEST_BACK
        ]
        sources = tuple(version for version in chosen if version is not None)
        if sources:
            version = Version(table, str(len(self.versions.get(table, ())) + 1))
            self.operations.append(Derive(transaction, version, sources))
            self.derived[transaction, table] = version
            self.versions.setdefault(table, []).append(version)

    def _visible_version(self, transaction: int, name: str, back: int) -> Version | None:
        """Return an existing version of an object, `back` versions before the newest."""
        versions = self.versions.get(name, [])
        if self.clean and name in self.objects:
            versions = [version for version in versions if self._is_clean(transaction, version)]
        return versions[-1 - back % len(versions)] if versions else None

    def _is_clean(self, transaction: int, version: Version) -> bool:
        writer = self.writers.get(version)
        return writer in (None, transaction) or version in self.committed.get(version.object, ())


@st.composite
def histories(draw: DrawFn, *, derivations: bool | None = None, max_transactions: int = 6) -> History:
    """Well-formed histories of a few transactions, and refreshes besides.

    Shrinks to: fewer steps of fewer transactions, then newer versions, then orders that leave nothing out,
    then predicates that match nothing.

    Args:
        derivations: Whether there may be derivations; None for half of the histories.
        max_transactions: Of those that are no refreshes, at least one; refreshes have greater numbers. There
            are at least two where that is allowed.
    """
    if max_transactions < 1:
        raise InvalidArgument(f"Cannot draw histories of {max_transactions=} transactions")
    transactions = draw(st.integers(min(2, max_transactions), max_transactions))
    deriving = draw(st.booleans()) if derivations is None else derivations
    builder = _HistoryBuilder(
        objects=_OBJECTS[: draw(st.integers(1, len(_OBJECTS)))],
        tables=_TABLES if deriving else (),
        clean=draw(st.booleans()),
        transactions=transactions,
        refreshes=max_transactions,
    )
    for name in builder.objects + builder.tables:
        if choose(draw, (True, True, False)):
            builder.versions[name] = [Version(name, "0")]
            builder.committed[name] = [Version(name, "0")]
    if draw(st.booleans()):
        builder.operations += map(Begin, range(1, transactions + 1))
    for step in draw(_steps(transactions, deriving)):
        builder.take(step)
    for transaction in sorted({operation.transaction for operation in builder.operations}):
        if transaction not in builder.ended:
            builder.end(transaction, commits=choose(draw, (True,) * 7 + (False,)))
    return History(
        operations=tuple(builder.operations),
        orders=_orders(draw, builder),
        predicates=_predicates(draw, builder),
    )


def _orders(draw: DrawFn, builder: _HistoryBuilder) -> dict[str, tuple[Version, ...]]:
    """Draw version orders: initial versions first, then in the order of commits, derivations or any."""
    as_committed = draw(st.booleans())
    orders = {}
    for name in builder.objects + builder.tables:
        source = builder.versions if name in builder.tables else builder.committed
        versions = source.get(name, [])
        initial = [version for version in versions if version.tag == "0"]
        later = [version for version in versions if version.tag != "0"]
        if name in builder.tables:
            later = [of for of in later if of in builder.installed or not draw(st.booleans())]
        orders[name] = (*initial, *(later if as_committed else draw(st.permutations(later))))
    return orders


def _predicates(draw: DrawFn, builder: _HistoryBuilder) -> dict[str, Predicate]:
    predicates = {}
    for name in sorted({of.predicate for of in builder.operations if isinstance(of, PredicateRead)}):
        domain = builder.domain(name)
        versions = [version for member in domain for version in builder.versions.get(member, ())]
        matching = [version for version in versions if draw(st.booleans())]
        predicates[name] = Predicate(frozenset(domain), frozenset(matching))
    return predicates
