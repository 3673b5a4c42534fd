"""The transactions and refreshes of a run as a history, for a checker of isolation ([D] 4).

The order of events is that of commit timestamps. A refresh is a transaction of one derivation. What a table
had inherited when it was cloned is initial.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from dynamic_tables.clock import Timestamp
from dynamic_tables.frontiers import TableId
from sim.claims import Judgeable
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
    one = [done for done in run.record.transactions if _reads_one_table_or_base_tables(run.record, done)]
    yield Judgeable(invariant=SNAPSHOT, level="PL-SI", history=_history(run.record, one), required=required)
    yield Judgeable(invariant=COMMITTED, level="PL-2", history=_history(run.record, run.record.transactions))
    # What skewed tables cost is counted: two of them read at once may be of different times.
    yield Judgeable(
        invariant="serializability",
        level="PL-3",
        history=_history(run.record, run.record.transactions),
        required=False,
    )


def _reads_one_table_or_base_tables(record: Record, done: Transaction) -> bool:
    """Whether what a transaction reads is one dynamic table, or none."""
    tables = {table for table, _ in done.reads}
    return len(tables) == 1 or all(table in record.bases for table in tables)


def _history(record: Record, transactions: list[Transaction]) -> dict[str, Any]:
    placed = [_user(done) for done in transactions if done.ended is not None]
    first = len(record.transactions) + 1
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
