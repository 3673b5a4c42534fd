"""Mutants of warehouses: drivers and stores that are wrong in one way each."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dynamic_tables.storage.frontiers import Frontier
from dynamic_tables.storage.staging import StagedChanges
from dynamic_tables.stores.parquet_table import Staged
from dynamic_tables.warehouse import frontiers_json
from dynamic_tables.warehouse.accounts import WarehouseAccount
from dynamic_tables.warehouse.driver import Driver
from dynamic_tables.warehouse.leases import Lease
from dynamic_tables.warehouse.stored_tables import WarehouseTable
from dynamic_tables.warehouse.table_versions import TableVersion


class UncheckedLease(Lease):
    """A lease that is never looked at again."""

    def check(self) -> None:
        """Find nothing."""


class NeverChecks(Driver):
    """Commits, and renews its lease, although another driver took over."""

    def __init__(self, account: WarehouseAccount, **options: Any) -> None:
        super().__init__(account, **options)
        self.lease = UncheckedLease(account.database, self.lease.length_us)


class CommitsUnchecked(Driver):
    """Looks at its lease when it renews it alone, not with each commit."""

    @contextmanager
    def commit_transaction(self) -> Iterator[None]:
        """Open a transaction, without looking at the lease."""
        with self.account.database.transaction():
            yield


DRIVER_MUTANTS: Mapping[str, type[Driver]] = {
    mutant.__name__: mutant for mutant in (NeverChecks, CommitsUnchecked)
}


def without_frontier(table: WarehouseTable, frontier: Frontier, staged: StagedChanges) -> None:
    """Commit contents in a manifest, and their frontier in the catalog alone."""
    parent = table.files.latest()
    if staged.changes:
        parent = table.files.commit(staged.changes, parent, frontier.committed)
    table.record(frontiers_json.to_json(frontier, columns_since=0), parent.number)


def contents_first(table: WarehouseTable, frontier: Frontier, staged: StagedChanges) -> None:
    """Commit contents, and their frontier in a second version."""
    parent = table.files.latest()
    body = frontiers_json.to_json(frontier, columns_since=0)
    if staged.changes:
        parent = table.files.commit(staged.changes, parent, frontier.committed, parent.frontier)
        late = frontier.committed._replace(logical=frontier.committed.logical + 1)
        parent = table.files.commit(Staged(parent.number + 1), parent, late, body)
    table.record(body, parent.number)


def never_recorded(table: WarehouseTable, body: Mapping[str, Any], version: int) -> None:
    """Keep no refresh in the catalog."""


# The wrong methods of a table, by mutant.
TABLE_MUTANTS: Mapping[str, Mapping[str, Any]] = {
    "without_frontier": {"commit_refresh": without_frontier},
    "contents_first": {"commit_refresh": contents_first},
    "never_recorded": {"record": never_recorded},
}


def read_earlier(table: WarehouseTable, data_us: int) -> TableVersion:
    """Read one base table as it was before the version that the data timestamp was resolved to."""
    number = table.timestamps.versions(data_us)[table.identity]
    assert number is not None, "it can be read"
    return TableVersion(table.files.version(max(0, number - 1) if table.identity == "t1" else number))


def earlier_refresh(table: WarehouseTable, data_us: int) -> TableVersion:
    """Read one dynamic table as an earlier refresh left it."""
    version = TableVersion(table.files.latest())
    earlier = [number for number in table.files.log.numbers() if 0 < number < version.number]
    return TableVersion(table.files.version(earlier[-1])) if earlier and table.identity == "t3" else version


# The wrong methods of a table, by mutant: histories tell of each.
HISTORY_MUTANTS: Mapping[str, Mapping[str, Any]] = {
    "read_earlier": {"read_at": read_earlier},
    "earlier_refresh": {"refreshed_at": earlier_refresh},
}
