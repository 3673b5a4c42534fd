"""The transactions and refreshes of a run as a history, for a checker of isolation ([D] 4).

The order of events is that of commit timestamps. A refresh is a transaction of one derivation. What a table
had inherited when it was cloned is initial.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import TableId
from sim.kernel.scenario_schema import Judgeable
from sim.refreshes.recording import Record, Refreshed, Transaction
from sim.refreshes.run import Run

# A transaction with when it ended and its operations.
Placed: TypeAlias = tuple[Timestamp, int, list[list[Any]]]
SNAPSHOT, COMMITTED = "DVS-14", "DVS-15"


def histories(run: Run) -> Iterator[Judgeable]:
    """What has to satisfy a level: readers of one dynamic table PL-SI, all PL-2."""
    if not run.setup.checked:
        return
    required = not run.setup.world.persisted
    record = run.record
    alone = [_only_writing(done) for done in record.transactions if done.writes or len(done.reads) == 1]
    yield Judgeable(invariant=SNAPSHOT, level="PL-SI", history=_history(record, alone), required=required)
    based = [done for done in record.transactions if all(table in record.bases for table, _ in done.reads)]
    yield Judgeable(invariant=SNAPSHOT, level="PL-SI", history=_history(record, based, refreshed=False))
    yield Judgeable(invariant=COMMITTED, level="PL-2", history=_history(record, record.transactions))
    # What skewed tables cost is counted: two of them read at once may be of different times.
    yield Judgeable(
        invariant="serializability",
        level="PL-3",
        history=_history(record, record.transactions),
        required=False,
    )


def _only_writing(done: Transaction) -> Transaction:
    """A transaction that writes, without its reads.

    [D] 4 orders two writers whose versions adjacent versions of a table derive from, though snapshot
    isolation lets them run at once; with a read between them, that would be a cycle of nobody's making.
    """
    return replace(done, reads=[]) if done.writes else done


def _history(record: Record, transactions: list[Transaction], *, refreshed: bool = True) -> dict[str, Any]:
    placed = [_user(done) for done in transactions if done.ended is not None]
    first = len(record.transactions) + 1
    if refreshed:
        placed += [_refresh(record, one, number) for number, one in enumerate(record.refreshes, first)]
    placed.sort(key=lambda one: one[0])
    operations = [operation for _, _, operations in placed for operation in operations]
    return {"ops": operations, "vo": _orders(record, operations)}


def _user(done: Transaction) -> Placed:
    assert done.ended is not None, "it was not aborted"
    number = done.number
    reads = [["r", number, f"{table}@{version}"] for table, version in done.reads]
    writes = [["w", number, f"{table}@{version}"] for table, version in done.writes]
    return done.ended, number, [["b", number], *reads, *writes, ["c", number]]


def _refresh(record: Record, one: Refreshed, number: int) -> Placed:
    sources = [
        f"{source}@{consumed.number}" if source in record.bases else f"{source}@d{one.read_us[source]}"
        for source, consumed in one.versions.items()
    ]
    derived = ["d", number, f"{one.table}@d{one.data_us}", sources]
    return one.committed, number, [["b", number], derived, ["c", number]]


def _orders(record: Record, operations: list[list[Any]]) -> dict[str, list[str]]:
    """The versions of each table that are named, in the order of their numbers or timestamps."""
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
