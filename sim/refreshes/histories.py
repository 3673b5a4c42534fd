"""The transactions and refreshes of a run as a history, for a checker of isolation ([D] 4).

Events are ordered by commit timestamps. A refresh is a transaction of one derivation. Versions that a clone
inherited are initial.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import TableId
from sim.kernel.scenario_schema import IsolationClaim
from sim.refreshes.recording import CommittedRefresh, Record, Transaction
from sim.refreshes.run import RefreshRun

# The end of a transaction, its number, and its operations.
TimedTransaction: TypeAlias = tuple[Timestamp, int, list[list[Any]]]
SNAPSHOT, COMMITTED = "DVS-14", "DVS-15"


def histories(run: RefreshRun) -> Iterator[IsolationClaim]:
    """Yield the histories and the levels they must satisfy: PL-SI for readers of one dynamic table, PL-2 for
    all.
    """
    if not run.setup.checked:
        return
    required = not run.setup.world.persisted
    record = run.record
    alone = [_only_writing(done) for done in record.transactions if done.writes or len(done.reads) == 1]
    yield IsolationClaim(
        invariant=SNAPSHOT, level="PL-SI", history=_history(record, alone), required=required
    )
    based = [done for done in record.transactions if all(table in record.bases for table, _ in done.reads)]
    yield IsolationClaim(invariant=SNAPSHOT, level="PL-SI", history=_history(record, based, refreshed=False))
    yield IsolationClaim(invariant=COMMITTED, level="PL-2", history=_history(record, record.transactions))
    # Skewed tables cost serializability: two of them read at once may have different times. This is only
    # counted.
    yield IsolationClaim(
        invariant="serializability",
        level="PL-3",
        history=_history(record, record.transactions),
        required=False,
    )


def _only_writing(done: Transaction) -> Transaction:
    """Return a transaction that writes without its reads; others as they are.

    [D] 4 orders two writers if adjacent versions of a table derive from their versions, though snapshot
    isolation lets them run at once; a read between them would then make a cycle that is no anomaly.
    """
    return replace(done, reads=[]) if done.writes else done


def _history(record: Record, transactions: list[Transaction], *, refreshed: bool = True) -> dict[str, Any]:
    placed = [_user(done) for done in transactions if done.ended is not None]
    first = len(record.transactions) + 1
    if refreshed:
        placed += [
            _refresh(record, refresh, number) for number, refresh in enumerate(record.refreshes, first)
        ]
    placed.sort(key=lambda timed: timed[0])
    operations = [operation for _, _, operations in placed for operation in operations]
    return {"ops": operations, "vo": _orders(record, operations)}


def _user(done: Transaction) -> TimedTransaction:
    assert done.ended is not None, "it was not aborted"
    number = done.number
    reads = [["r", number, f"{table}@{version}"] for table, version in done.reads]
    writes = [["w", number, f"{table}@{version}"] for table, version in done.writes]
    return done.ended, number, [["b", number], *reads, *writes, ["c", number]]


def _refresh(record: Record, refresh: CommittedRefresh, number: int) -> TimedTransaction:
    sources = [
        f"{source}@{consumed.number}" if source in record.bases else f"{source}@d{refresh.read_us[source]}"
        for source, consumed in refresh.versions.items()
    ]
    derived = ["d", number, f"{refresh.table}@d{refresh.data_us}", sources]
    return refresh.committed, number, [["b", number], derived, ["c", number]]


def _orders(record: Record, operations: list[list[Any]]) -> dict[str, list[str]]:
    """Return the versions of each table that operations name, in the order of numbers or timestamps."""
    named: dict[TableId, set[str]] = {}
    for operation in operations:
        for label in [*operation[2:3], *(operation[3] if len(operation) > 3 else ())]:
            table, _, version = label.rpartition("@")
            named.setdefault(table, set()).add(version)
    return {
        table: [f"{table}@{version}" for version in sorted(versions, key=_number)]
        for table, versions in named.items()
    }


def _number(version: str) -> int:
    return int(version.removeprefix("d"))
