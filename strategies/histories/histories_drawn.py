"""Draws small histories of any kind: what transactions do, what they see, in which order versions came.

Every version exists before it is used and every transaction ends, so each history is well formed; no more is
promised. What is read may be uncommitted, intermediate, aborted or old, in half of the histories committed or
old; the order of versions is that of the commits or any other. A derived version whose transaction derives
another one later, or aborts, is in the order or left out.
"""

import enum
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import DrawFn

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
_FEWEST_STEPS, _MOST_STEPS = 3, 6  # A transaction, on average.
_FARTHEST_BACK = 3
_BACKS = tuple(product((0, 0, *range(_FARTHEST_BACK + 1)), repeat=len(_OBJECTS)))


class Action(enum.Enum):
    """What one step of a drawn history does."""

    READ = "read"
    WRITE = "write"
    COMMIT = "commit"
    ABORT = "abort"
    SCAN = "read by a predicate"
    DERIVE = "derive"
    REFRESH = "refresh in a transaction of its own"
    CRASH = "refresh in a transaction of its own that aborts"


_BASIC = (*(Action.READ,) * 8, *(Action.WRITE,) * 6, *(Action.SCAN,) * 2, Action.COMMIT, Action.ABORT)
_DERIVING = (Action.DERIVE, *(Action.REFRESH,) * 3, Action.CRASH)


class _Step(NamedTuple):
    """One step; numbers too large for what they choose from begin anew."""

    action: Action
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
class _Happening:
    """What has happened so far."""

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
        """Do what the step says, where that is possible, in a transaction that has not ended."""
        live = [number for number in range(1, self.transactions + 1) if number not in self.ended]
        if not live:
            return
        step = step._replace(transaction=live[step.transaction % len(live)])
        match step.action:
            case Action.READ:
                self._read(step)
            case Action.WRITE:
                self._write(step.transaction, self.objects[step.object % len(self.objects)])
            case Action.COMMIT | Action.ABORT:
                self.end(step.transaction, commits=step.action is Action.COMMIT)
            case Action.SCAN:
                self._scan(step)
            case Action.DERIVE:
                self._derive(step, step.transaction)
            case Action.REFRESH | Action.CRASH:
                self.refreshes += 1
                self._derive(step, self.refreshes)
                self.end(self.refreshes, commits=step.action is Action.REFRESH)

    def end(self, transaction: int, *, commits: bool) -> None:
        """End a transaction that has not ended; one that has done nothing begins first."""
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
        version = self._seen(step.transaction, names[step.object % len(names)], step.back[0])
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
            self._seen(step.transaction, member, back)
            for member, back in zip(self.domain(name), step.back, strict=False)
            if back < _FARTHEST_BACK
        ]
        seen = tuple(version for version in chosen if version is not None)
        self.operations.append(PredicateRead(step.transaction, name, seen))

    def domain(self, predicate: str) -> tuple[str, ...]:
        """The first predicate ranges over the objects, the second over what comes last, tables included."""
        return self.objects if predicate == _PREDICATES[0] else (self.objects + self.tables)[-3:]

    def _derive(self, step: _Step, transaction: int) -> None:
        table = self.tables[step.object % len(self.tables)]
        names = (self.objects + self.tables)[step.object % len(self.objects) :]
        chosen = [
            self._seen(transaction, name, back)
            for name, back in zip(names, step.back, strict=False)
            if back < _FARTHEST_BACK
        ]
        sources = tuple(version for version in chosen if version is not None)
        if sources:
            version = Version(table, str(len(self.versions.get(table, ())) + 1))
            self.operations.append(Derive(transaction, version, sources))
            self.derived[transaction, table] = version
            self.versions.setdefault(table, []).append(version)

    def _seen(self, transaction: int, name: str, back: int) -> Version | None:
        """An existing version of an object, so many versions back."""
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
    happening = _Happening(
        objects=_OBJECTS[: draw(st.integers(1, len(_OBJECTS)))],
        tables=_TABLES if deriving else (),
        clean=draw(st.booleans()),
        transactions=transactions,
        refreshes=max_transactions,
    )
    for name in happening.objects + happening.tables:
        if draw(st.sampled_from((True, True, False))):
            happening.versions[name] = [Version(name, "0")]
            happening.committed[name] = [Version(name, "0")]
    if draw(st.booleans()):
        happening.operations += map(Begin, range(1, transactions + 1))
    for step in draw(_steps(transactions, deriving)):
        happening.take(step)
    for transaction in sorted({operation.transaction for operation in happening.operations}):
        if transaction not in happening.ended:
            happening.end(transaction, commits=draw(st.sampled_from((True,) * 7 + (False,))))
    return History(
        operations=tuple(happening.operations),
        orders=_orders(draw, happening),
        predicates=_predicates(draw, happening),
    )


def _orders(draw: DrawFn, happening: _Happening) -> dict[str, tuple[Version, ...]]:
    """An initial version stays the first; others come as they were committed, or derived, or in any order."""
    as_committed = draw(st.booleans())
    orders = {}
    for name in happening.objects + happening.tables:
        source = happening.versions if name in happening.tables else happening.committed
        versions = source.get(name, [])
        initial = [version for version in versions if version.tag == "0"]
        later = [version for version in versions if version.tag != "0"]
        if name in happening.tables:
            later = [of for of in later if of in happening.installed or not draw(st.booleans())]
        orders[name] = (*initial, *(later if as_committed else draw(st.permutations(later))))
    return orders


def _predicates(draw: DrawFn, happening: _Happening) -> dict[str, Predicate]:
    predicates = {}
    for name in sorted({of.predicate for of in happening.operations if isinstance(of, PredicateRead)}):
        domain = happening.domain(name)
        versions = [version for member in domain for version in happening.versions.get(member, ())]
        matching = [version for version in versions if draw(st.booleans())]
        predicates[name] = Predicate(frozenset(domain), frozenset(matching))
    return predicates
