"""Manual and first refreshes: done by this process if no driver runs, else by the driver that does."""

import time
from collections.abc import Callable

from dynamic_tables.catalog.ddl import Name
from dynamic_tables.scheduling.events import Fault
from dynamic_tables.scheduling.policy import ATTEMPTS_MAX
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.warehouse.accounts import WarehouseAccount
from dynamic_tables.warehouse.driver import POLL_SECONDS, Driver
from dynamic_tables.warehouse.events import EventKind, LoggedEvent
from pruning.errors import InputError


def refresh_as_of_now(account: WarehouseAccount, name: Name) -> None:
    """Request a refresh of a table, and return when it is done.

    Raises:
        InputError: There is no such dynamic table, or the refresh failed.
    """
    with account.database.transaction() as clock:
        account.catch_up()
        event = account.request_refresh(name, clock=clock, wall_us=account.now_us())
        account.database.run("INSERT INTO requests VALUES (NULL, ?, ?, -1)", event.table, event.asked_us)
        ((number,),) = account.database.rows("SELECT last_insert_rowid()")
    try:
        wait_for_refresh(account, event.table, event.asked_us)
    finally:
        with account.database.transaction():
            account.database.run("DELETE FROM requests WHERE number = ?", number)


def wait_for_refresh(account: WarehouseAccount, identity: TableId, after_us: int) -> None:
    """Return when a table has a data timestamp after another one; drive the warehouse if nobody does.

    Raises:
        InputError: The refresh failed; the message has the reason.
    """
    began = account.events.newest()

    def is_done() -> bool:
        frontier = account.tables[identity].frontier
        if frontier is not None and frontier.data_us > after_us:
            return True
        reason = failure_of(account, identity, after_us, began)
        if reason is not None:
            entity = account.catalog.state.entities.get(identity)
            raise InputError(f"{entity.name if entity else 'the table'} was not refreshed: {reason}")
        return False

    drive_until(account, is_done)


def drive_until(account: WarehouseAccount, is_done: Callable[[], bool]) -> None:
    """Return when something is done, by the driver that runs or by one of this process."""
    driver = Driver(account)
    while not is_done():
        if driver.lease.take(driver.now_us()):
            driver.drive(is_done, anew=False)
        else:
            time.sleep(POLL_SECONDS)
            account.catch_up()


def failure_of(account: WarehouseAccount, identity: TableId, after_us: int, began: int) -> str | None:
    """Return the reason why a refresh failed for good; None if it did not."""
    for event in account.events.read(identity, after=began):
        if event.kind not in (EventKind.FAILED, EventKind.SKIPPED) or event.body["data_us"] <= after_us:
            continue
        if event.kind is EventKind.FAILED and is_final(event):
            return str(event.body["message"])
        if event.kind is EventKind.SKIPPED:
            return upstream_failure(account, event, began)
    return None


def is_final(event: LoggedEvent) -> bool:
    """Tell whether no other attempt follows a failure."""
    is_last = event.body["attempt"] + 1 >= ATTEMPTS_MAX
    return bool(is_last or event.body["fault"] != Fault.SYSTEM.name)


def upstream_failure(account: WarehouseAccount, skipped: LoggedEvent, began: int) -> str:
    """Return the reason of a refresh that did not begin, which may be the failure of another table."""
    for event in account.events.read(after=began):
        if event.kind is EventKind.FAILED and event.body["data_us"] == skipped.body["data_us"]:
            entity = account.catalog.state.entities.get(event.identity)
            return f"{entity.name if entity else event.identity}: {event.body['message']}"
    return str(skipped.body["reason"])
