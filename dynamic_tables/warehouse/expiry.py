"""Removal of old versions, data timestamps, refreshes and events of a warehouse."""

from collections.abc import Iterable
from dataclasses import dataclass

from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.warehouse.accounts import WarehouseAccount

# Files of no version are removed when they are older: their writers may still be about to commit.
STAGED_SECONDS = 24 * 3_600


@dataclass(frozen=True, slots=True)
class Expired:
    """The numbers of what was removed."""

    versions: int
    files: int
    timestamps: int
    events: int


def expire(account: WarehouseAccount, before_us: int) -> Expired:
    """Remove what only data timestamps before a time need; no later refresh needs it.

    The versions that present contents were computed from stay, so that the next refresh is incremental.
    """
    with account.database.transaction():
        account.catch_up()
        oldest_us = min([before_us, *frontiers_us(account)])
        timestamps = delete(account, "timestamps", oldest_us)
        delete(account, "refreshes", oldest_us)
        events = delete_events(account, before_us)
        first = first_versions(account)
    versions = files = 0
    staged_before = account.now_us() / 1_000_000 - STAGED_SECONDS
    for identity, table in account.tables.items():
        numbers = table.files.log.numbers()
        files += table.files.purge(first[identity], staged_before=staged_before)
        versions += len(numbers) - len(table.files.log.numbers())
    return Expired(versions, files, timestamps, events)


def frontiers_us(account: WarehouseAccount) -> Iterable[int]:
    """Yield the data timestamps of all dynamic tables."""
    for entity in account.catalog.state.dynamic_tables():
        frontier = account.tables[entity.identity].frontier
        if frontier is not None:
            yield frontier.data_us


def delete(account: WarehouseAccount, table: str, before_us: int) -> int:
    """Delete the rows of a table of the catalog with earlier data timestamps; return their number."""
    ((count,),) = account.database.rows(f"SELECT count(*) FROM {table} WHERE data_us < ?", before_us)
    account.database.run(f"DELETE FROM {table} WHERE data_us < ?", before_us)
    return int(count)


def delete_events(account: WarehouseAccount, before_us: int) -> int:
    """Delete earlier events, but not the newest of each kind of a table, from which drivers learn."""
    which = (
        "FROM events WHERE at_us < ? AND number NOT IN "
        "(SELECT max(number) FROM events GROUP BY identity, kind, json_extract(body, '$.action'))"
    )
    ((count,),) = account.database.rows(f"SELECT count(*) {which}", before_us)
    account.database.run(f"DELETE {which}", before_us)
    return int(count)


def first_versions(account: WarehouseAccount) -> dict[TableId, int]:
    """Return the first version of each table that is still needed."""
    first = {identity: table.latest.number for identity, table in account.tables.items()}

    def need(identity: TableId, number: int | None) -> None:
        if number is not None and identity in first:
            first[identity] = min(first[identity], number)

    for (data_us,) in account.database.rows("SELECT data_us FROM timestamps"):
        for identity, number in account.timestamps.versions(data_us).items():
            need(identity, number)
    refreshed = "SELECT identity, min(version) FROM refreshes GROUP BY identity"
    for identity, number in account.database.rows(refreshed):
        need(identity, number)
    for entity in account.catalog.state.entities.values():
        if entity.kind is EntityKind.DYNAMIC_TABLE:
            frontier = account.tables[entity.identity].frontier
            for source, read in ({} if frontier is None else frontier.versions).items():
                need(source, read.number)
    return first
