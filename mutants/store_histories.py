"""The stores, correct ones and mutants, and the phenomena that their histories show.

A mutant shows a phenomenon of its own, in nearly every history that is long enough. Its other phenomena come
with that one; those that the rest of the store rules out never occur.

"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st

from mutants.stores import (
    AbortsLinger,
    FirstWritesShow,
    LastCommitterWins,
    PredicatesUnwatched,
    RefreshesOvertake,
    RefreshesSeeAborts,
    RefreshesSeeFirstWrites,
    RefreshesSeeUncommitted,
    ReportsMix,
    ShardsDisagree,
    SitesLag,
    SnapshotsLate,
    SnapshotsMove,
    SnapshotsStale,
    TablesSkewed,
    UncommittedShow,
    WritesInterleave,
)
from strategies.histories.histories import History
from strategies.histories.stores import (
    ClientAction,
    CommittedStore,
    LockingStore,
    SnapshotStore,
    Store,
    Workload,
)

_LONG = 200
_G1 = frozenset({"G0", "G1a", "G1b", "G1c"})
_SKEW = frozenset({"G-single", "G-nonadjacent"})
_G2 = frozenset({"G2", "G2-item"})
_REAL, _SNAPSHOT = frozenset({"G-SI-rt"}), frozenset({"G-SI"})

_CHAINED = {"t": ("x0",), "u": ("x1",), "v": ("t",)}
_JOINED = {**_CHAINED, "w": ("u", "x2", "v")}
_MIXED = {
    ClientAction.READ: 4,
    ClientAction.WRITE: 1,
    ClientAction.UPDATE: 3,
    ClientAction.REWRITE: 1,
    ClientAction.SCAN: 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCase:
    """A store, its workload, and the phenomena of its histories.

    Attributes:
        shows: The phenomenon of a mutant's own mistake; None for a correct store.
        lacks: The phenomena that it never shows.
    """

    name: str
    store: type[Store]
    workload: Workload
    shows: str | None = None
    lacks: frozenset[str]


def record(case: StoreCase, seed: int, *, transactions: int = _LONG) -> History:
    """Run a store; the same seed gives the same history."""
    random = Random(f"{case.name}/{seed}")
    return case.store(case.workload, random).run(transactions)


def recordings(case: StoreCase, *, transactions: int = _LONG) -> st.SearchStrategy[History]:
    """Histories of one store. Shrinks to: the seed 0."""
    return st.integers(0, 2**32 - 1).map(lambda seed: record(case, seed, transactions=transactions))


_PLAIN = Workload(rows=2, actions=_MIXED)
_REPORTING = replace(_PLAIN, tables=_CHAINED, reports=0.3, refreshes=0.1)
_JOINING = replace(_REPORTING, tables=_JOINED)

_CORRECT = (
    StoreCase(
        name="serial",
        store=Store,
        workload=replace(_JOINING, clients=1),
        lacks=_G1 | _SKEW | _G2 | _SNAPSHOT,
    ),
    StoreCase(
        name="serializable snapshots",
        store=Store,
        workload=_REPORTING,
        lacks=_G1 | _SKEW | _G2 | _SNAPSHOT,
    ),
    StoreCase(
        name="serializable snapshots under a join",
        store=Store,
        workload=_JOINING,
        lacks=_G1 | _SKEW | _G2,
    ),
    StoreCase(
        name="locks",
        store=LockingStore,
        workload=_JOINING,
        lacks=_G1 | _SKEW | _G2,
    ),
    StoreCase(
        name="snapshots",
        store=SnapshotStore,
        workload=_REPORTING,
        lacks=_G1 | _SKEW | _SNAPSHOT,
    ),
    StoreCase(
        name="snapshots under a join",
        store=SnapshotStore,
        workload=_JOINING,
        lacks=_G1,
    ),
    StoreCase(
        name="snapshots of now",
        store=SnapshotStore,
        workload=_PLAIN,
        lacks=_G1 | _SKEW | _SNAPSHOT | _REAL,
    ),
    StoreCase(
        name="read committed",
        store=CommittedStore,
        workload=_JOINING,
        lacks=_G1,
    ),
)

_UPDATES = {ClientAction.READ: 3, ClientAction.UPDATE: 2}
_BLIND = {ClientAction.READ: 1, ClientAction.WRITE: 3}
_TWICE = {ClientAction.READ: 3, ClientAction.REWRITE: 2}
_INSERTS = {ClientAction.SCAN: 1, ClientAction.WRITE: 1}
_HALVES = {ClientAction.READ: 3, ClientAction.WRITE: 2}
_RARELY = {ClientAction.READ: 3, ClientAction.WRITE: 1}
_OF_ONE = {"t": ("x0",), "u": ("x0",)}
_OF_TWO = {"t": ("x0",), "u": ("x1",)}
_ITEMS = Workload(actions=_UPDATES)
_LONGER = Workload(actions=_UPDATES, steps=8, clients=6)
_STORED = replace(_ITEMS, tables=_CHAINED, reports=0.3, refreshes=0.1)
_EAGER = replace(_LONGER, tables=_OF_TWO, objects=2, aborts=0.0, refreshes=0.3, is_table_read=True)
_ALL = _G1 | _SKEW | _G2 | _SNAPSHOT

_MUTANTS = (
    StoreCase(
        name="dirty writes",
        store=WritesInterleave,
        workload=Workload(actions=_BLIND),
        shows="G0",
        lacks=frozenset({"G1a", "G1b"}),
    ),
    StoreCase(
        name="refreshes that overtake",
        store=RefreshesOvertake,
        workload=_STORED,
        shows="G0",
        lacks=frozenset({"G1a", "G1b"}),
    ),
    StoreCase(
        name="reads of aborted writes",
        store=AbortsLinger,
        workload=_ITEMS,
        shows="G1a",
        lacks=(_ALL | _REAL) - {"G1a"},
    ),
    StoreCase(
        name="refreshes from aborted writes",
        store=RefreshesSeeAborts,
        workload=_STORED,
        shows="G1a",
        lacks=_ALL - {"G1a"},
    ),
    StoreCase(
        name="intermediate reads",
        store=FirstWritesShow,
        workload=Workload(actions=_TWICE),
        shows="G1b",
        lacks=(_ALL | _REAL) - {"G1b"},
    ),
    StoreCase(
        name="refreshes from intermediate writes",
        store=RefreshesSeeFirstWrites,
        workload=replace(_STORED, actions=_TWICE),
        shows="G1b",
        lacks=_ALL - {"G1b"},
    ),
    StoreCase(
        name="circular information flow",
        store=UncommittedShow,
        workload=replace(_ITEMS, aborts=0.0),
        shows="G1c",
        lacks=_G1 - {"G1c"},
    ),
    StoreCase(
        name="circular information flow through refreshes",
        store=RefreshesSeeUncommitted,
        workload=_EAGER,
        shows="G1c",
        lacks=_G1 - {"G1c"},
    ),
    StoreCase(
        name="snapshots that move",
        store=SnapshotsMove,
        workload=_LONGER,
        shows="G-single",
        lacks=_G1,
    ),
    StoreCase(
        name="shards that disagree",
        store=ShardsDisagree,
        workload=replace(_LONGER, actions=_HALVES, reports=0.5, beside=5),
        shows="G-single",
        lacks=_G1,
    ),
    StoreCase(
        name="lost updates",
        store=LastCommitterWins,
        workload=_ITEMS,
        shows="G-single",
        lacks=_G1,
    ),
    StoreCase(
        name="tables beside objects",
        store=ReportsMix,
        workload=replace(_STORED, reports=0.5, beside=4, refreshes=0.03),
        shows="G-single",
        lacks=_G1,
    ),
    StoreCase(
        name="skewed tables",
        store=TablesSkewed,
        workload=replace(_STORED, objects=3, tables=_OF_ONE, beside=0),
        shows="G-single",
        lacks=_G1,
    ),
    StoreCase(
        name="long forks",
        store=SitesLag,
        workload=replace(_LONGER, actions=_RARELY, aborts=0.0),
        shows="G-nonadjacent",
        lacks=_G1 | {"G-single"},
    ),
    StoreCase(
        name="write skew",
        store=SnapshotStore,
        workload=_ITEMS,
        shows="G2-item",
        lacks=_G1 | _SKEW | _SNAPSHOT | _REAL,
    ),
    StoreCase(
        name="phantoms",
        store=PredicatesUnwatched,
        workload=Workload(rows=6, actions=_INSERTS),
        shows="G2",
        lacks=(_ALL | _REAL) - {"G2"},
    ),
    StoreCase(
        name="late snapshots",
        store=SnapshotsLate,
        workload=_ITEMS,
        shows="G-SI",
        lacks=_G1 | _SKEW | _G2,
    ),
    StoreCase(
        name="stale snapshots",
        store=SnapshotsStale,
        workload=_ITEMS,
        shows="G-SI-rt",
        lacks=_ALL,
    ),
)

CORRECT: Mapping[str, StoreCase] = {case.name: case for case in _CORRECT}
MUTANTS: Mapping[str, StoreCase] = {case.name: case for case in _MUTANTS}
