"""Histories of a warehouse for a checker of isolation ([D] 4): what was written, derived and read.

Objects are tables. A write makes a version of a base table; a refresh derives a version of a dynamic table
from versions of those that it reads. Versions of dynamic tables are named by their data timestamps.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.warehouse.accounts import WarehouseAccount
from dynamic_tables.warehouse.events import EventKind, LoggedEvent

# Which reads are in a history: of one table each, or all.
ALONE, ALL = "readers of one table", "all readers"


def histories(account: WarehouseAccount) -> list[dict[str, Any]]:
    """Return the histories of all events: with the reads of single tables, and with all reads."""
    events = sorted(
        (event for event in account.events.read() if "committed" in event.body),
        key=lambda event: (event.body["committed"], event.number),
    )
    written = writes_of(events)
    single = [event for event in events if len(event.body.get("reads", [])) <= 1]
    return [history(ALONE, single, written), history(ALL, events, written)]


def writes_of(events: Iterable[LoggedEvent]) -> dict[TableId, list[int]]:
    """Return the versions that writes made of each base table, in order; maintenance made the others."""
    versions: dict[TableId, list[int]] = {}
    for event in events:
        if event.kind is EventKind.WRITTEN:
            versions.setdefault(event.identity, [0]).append(event.body["version"])
    return {identity: sorted(numbers) for identity, numbers in versions.items()}


def label(source: Sequence[Any], written: dict[TableId, list[int]]) -> str:
    """Return the name of a version: of a base table, that of the write which its rows are from."""
    identity, version = source
    if isinstance(version, str):
        return f"{identity}@{version}"
    numbers = written.get(identity, [0])
    return f"{identity}@{numbers[max(0, bisect_right(numbers, version) - 1)]}"


def history(name: str, events: Sequence[LoggedEvent], written: dict[TableId, list[int]]) -> dict[str, Any]:
    """Return a history in the notation of `docs/reference/histories.md`; each event is one transaction."""
    operations: list[list[Any]] = []
    for number, event in enumerate(events, 1):
        operations.append(["b", number])
        match event.kind:
            case EventKind.WRITTEN:
                operations.append(["w", number, f"{event.identity}@{event.body['version']}"])
            case EventKind.REFRESHED:
                sources = [label(source, written) for source in event.body["sources"]]
                operations.append(["d", number, f"{event.identity}@d{event.body['data_us']}", sources])
            case EventKind.READ:
                operations += [["r", number, label(source, written)] for source in event.body["reads"]]
        operations.append(["c", number])
    return {"id": name, "ops": operations, "vo": version_orders(operations)}


def version_orders(operations: Iterable[Sequence[Any]]) -> dict[str, list[str]]:
    """Return the versions of each table that operations name, in their order."""
    named: dict[str, set[str]] = {}
    for operation in operations:
        for version in [*operation[2:3], *(operation[3] if len(operation) > 3 else ())]:
            named.setdefault(version.partition("@")[0], set()).add(version)
    return {table: sorted(versions, key=order_of) for table, versions in named.items()}


def order_of(version: str) -> int:
    """Return the number or the data timestamp of a version."""
    return int(version.partition("@")[2].removeprefix("d"))


def multi_table_reads(history: dict[str, Any]) -> int:
    """Return the number of transactions that read several tables."""
    reads: dict[int, int] = {}
    for operation in history["ops"]:
        if operation[0] == "r":
            reads[operation[1]] = reads.get(operation[1], 0) + 1
    return sum(count > 1 for count in reads.values())
