"""Queries over the tables of a warehouse, at one moment or at a data timestamp."""

from collections.abc import Iterable, Mapping
from typing import Any

from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.refreshes.engine import layout
from dynamic_tables.sql.selects import read_select
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.storage.versions import NoVersion
from dynamic_tables.stores.parquet_intervals import VersionRows
from dynamic_tables.values.errors import UserError
from dynamic_tables.warehouse.accounts import WarehouseAccount
from dynamic_tables.warehouse.answers import Answer, answer
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.naming import lookup_in
from pruning.errors import InputError


def run_query(
    account: WarehouseAccount, text: str, as_of_us: int | None, *, records_reads: bool = False
) -> Answer:
    """Return the rows of a SELECT.

    Args:
        account: The account.
        text: The SELECT.
        as_of_us: The newest data timestamp until then is read; None: all tables as they are now.
        records_reads: True to write to the log which versions are read now.

    Raises:
        InputError: The query is refused or failed, or nothing is known of that time.
    """
    if as_of_us is None and any(entity.location for entity in account.catalog.state.entities.values()):
        follow_now(account, read_select(text, lookup_in(account)).query.sources)
    with account.database.transaction():
        account.catch_up()
        ordered = read_select(text, lookup_in(account))
        sources = versions(account, ordered.query.sources, as_of_us)
        if records_reads and as_of_us is None:
            record_reads(account, sources)
    try:
        return answer(ordered, sources, account.backend)
    except UserError as error:
        raise InputError(f"the query failed on the rows: {error}") from None


def follow_now(account: WarehouseAccount, identities: Iterable[TableId]) -> None:
    """Bring tables that others write to their newest versions.

    Raises:
        InputError: One cannot be read.
    """
    for identity in account.follow_sources(identities):
        event = account.events.newest_of(identity, EventKind.UNREADABLE)
        name = account.catalog.state.entities[identity].name
        raise InputError(f"{name} cannot be read: {event.body['message'] if event else 'it is gone'}")


def versions(
    account: WarehouseAccount, identities: Iterable[TableId], as_of_us: int | None
) -> Mapping[TableId, VersionRows]:
    """Return the rows of tables, all at one moment."""
    data_us = None
    if as_of_us is not None:
        data_us = account.timestamps.newest_until(as_of_us)
        if data_us is None:
            raise InputError(f"no data timestamp of this warehouse is at or before {as_of_us} us")
    return {identity: version(account, identity, data_us) for identity in identities}


def version(account: WarehouseAccount, identity: TableId, data_us: int | None) -> VersionRows:
    """Return the rows of a table now, or at a data timestamp."""
    table, entity = account.tables[identity], account.catalog.state.entities[identity]
    positions = layout(entity)
    is_dynamic = entity.kind is EntityKind.DYNAMIC_TABLE
    if data_us is None:
        if is_dynamic and table.frontier is None:
            raise InputError(f"{entity.name} is not initialized yet: refresh it")
        return table.rows(table.latest.number, positions)
    try:
        there = table.refreshed_until(data_us) if is_dynamic else table.read_at(data_us)
        return table.rows(there.number, positions)
    except NoVersion:
        raise InputError(f"{entity.name} had no contents yet at {data_us} us") from None


def record_reads(account: WarehouseAccount, sources: Mapping[TableId, VersionRows]) -> None:
    """Write to the log which versions a query reads, for a history of the warehouse."""
    reads: list[list[Any]] = []
    for identity, rows in sources.items():
        frontier = account.tables[identity].frontier if account.tables[identity].is_refreshed else None
        reads.append([identity, rows.manifest.number if frontier is None else f"d{frontier.data_us}"])
    with account.database.transaction() as clock:
        committed = list(clock.tick(account.now_us()))
        account.events.add("", EventKind.READ, at_us=account.now_us(), reads=reads, committed=committed)
