"""Closures: the written versions at the end of all chains of derivations."""

import numpy as np

from oracles.isolation.columns import Columns
from oracles.isolation.errors import UnusableHistory
from oracles.isolation.lists import Flags, Ints, Lists, distinct

VALUES_MAX = 50_000_000  # more would not fit into memory


def closures(columns: Columns, derivations: Ints) -> Lists:
    """Return for each version the written and initial versions that it is or derives from, ascending.

    Args:
        derivations: The operations that derive, shape (n,).

    Raises:
        UnusableHistory: Versions derive from each other in a cycle, or from too many others.

    Source: [D] section 4, "derives from".
    """
    versions = len(columns.object_of)
    derived = np.zeros(versions, np.bool_)
    derived[columns.subject[derivations]] = True
    owners, sources = columns.lists.expand(derivations)
    owners = columns.subject[derivations][owners]
    inner = derived[sources]
    consumers = Lists.by_owner(sources[inner], owners[inner], versions)
    waiting = np.bincount(owners[inner], minlength=versions)
    of_version = Lists.by_owner(owners, sources, versions)

    growing = _Growing(versions, derived)
    ready = np.flatnonzero(derived & (waiting == 0))
    done = 0
    while len(ready):
        done += len(ready)
        growing.add(ready, of_version)
        _, fed = consumers.expand(ready)
        fed, times = np.unique(fed, return_counts=True)
        waiting[fed] -= times
        ready = fed[waiting[fed] == 0]
    if done < int(derived.sum()):
        raise UnusableHistory(_cycle(columns, of_version, derived & (waiting > 0)))
    return Lists(growing.starts, growing.stops, growing.values[: growing.used])


class _Growing:
    """The closures computed so far; the closure of a version that is not derived is itself."""

    def __init__(self, versions: int, derived: Flags) -> None:
        self.values = np.arange(versions, dtype=np.int64)
        self.used = versions
        self.starts = np.arange(versions, dtype=np.int64)
        self.stops = self.starts + ~derived

    def add(self, versions: Ints, sources: Lists) -> None:
        """Compute the closures of versions whose sources have theirs already."""
        owners, direct = sources.expand(versions)
        again, bases = Lists(self.starts, self.stops, self.values).expand(direct)
        width = len(self.starts)
        keys = distinct(owners[again] * width + bases)
        lengths = np.bincount(keys // width, minlength=len(versions))
        if self.used + len(keys) > VALUES_MAX:
            raise UnusableHistory(f"its versions derive from more than {VALUES_MAX:,} others together")
        if self.used + len(keys) > len(self.values):
            room = max(2 * len(self.values), self.used + len(keys))
            self.values = np.resize(self.values, room)
        self.values[self.used : self.used + len(keys)] = keys % width
        stops = self.used + np.cumsum(lengths)
        self.starts[versions], self.stops[versions] = stops - lengths, stops
        self.used += len(keys)


def _cycle(columns: Columns, sources: Lists, waiting: Flags) -> str:
    """Return the clause that describes a cycle among versions that wait for each other."""
    path = [int(np.flatnonzero(waiting)[0])]
    while True:
        following = next(int(source) for source in sources[path[-1]] if waiting[source])
        if following in path:
            names = [columns.name(version) for version in [*path[path.index(following) :], following]]
            return ", which derives from ".join([f"{names[0]} derives from {names[1]}", *names[2:]])
        path.append(following)


def chain(columns: Columns, created: Ints, version: int, base: int) -> list[int]:
    """Return a shortest chain of derivations from a version down to `base`, including both."""
    came: dict[int, int] = {version: version}
    queue = [version]
    for current in queue:
        if current == base:
            break
        if created[current] < 0:
            continue
        for source in columns.lists[int(created[current])].tolist():
            if source not in came:
                came[source] = current
                queue.append(source)
    path = [base]
    while path[-1] != version:
        path.append(came[path[-1]])
    return path[::-1]
