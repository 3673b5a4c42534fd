"""Statements that change rows of base tables, run against a warehouse."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.on_spark import frames
from dynamic_tables.on_spark.frames import RowFrame, contents_of
from dynamic_tables.refreshes.engine import layout
from dynamic_tables.sql.writes import Write, read_write
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.storage.netting import same_row
from dynamic_tables.stores.frame_files import write_frame
from dynamic_tables.stores.manifests import Manifest
from dynamic_tables.stores.parquet_intervals import VersionRows
from dynamic_tables.stores.parquet_table import Staged
from dynamic_tables.values.changes import Action, Change, Contents, Delta, Row, RowId
from dynamic_tables.values.errors import UserError
from dynamic_tables.values.types import TEXT
from dynamic_tables.warehouse.accounts import WarehouseAccount
from dynamic_tables.warehouse.naming import SCHEMA, lookup_in
from dynamic_tables.warehouse.new_rows import arrow_rows, new_id, spark_rows
from pruning.errors import InputError

# The most attempts at a statement that other writers overtake.
ATTEMPTS_MAX = 20


def run_write(account: WarehouseAccount, write: Write, text: str, home: str = SCHEMA) -> str:
    """Change the rows of a table in one commit; return what was done.

    The statement is bound and run again if another writer changed the table meanwhile.

    Args:
        account: The account.
        write: The statement, as it is bound now.
        text: Its text.
        home: The schema of names without one.

    Raises:
        InputError: The table is not a base table of this warehouse, a value does not fit its column, a row
            would be changed in two ways, or an expression failed on the rows.
    """
    try:
        inserted, deleted = write_rows(account, write, text, home)
    except UserError as error:
        raise InputError(f"the statement failed on the rows: {error}") from None
    return f"{inserted} rows inserted, {deleted} deleted"


def check_base_table(account: WarehouseAccount, identity: TableId) -> None:
    """Raise InputError unless a table is a base table that is written here."""
    entity = account.catalog.state.entities[identity]
    if entity.kind is not EntityKind.TABLE:
        raise InputError(f"{entity.name} is a {entity.kind.value} and cannot be written")
    if entity.location:
        raise InputError(f"{entity.name} is written by others, at {entity.location}")


def write_rows(account: WarehouseAccount, write: Write, text: str, home: str) -> tuple[int, int]:
    """Change the rows of a table; return the numbers of inserted and deleted rows."""
    for _ in range(ATTEMPTS_MAX):
        check_base_table(account, write.table)
        table = account.tables[write.table]
        table.remove_dropped(account.now_us)
        parent = table.head()
        delta = changes_of(account, write, parent)
        if not delta:
            return 0, 0
        staged = table.files.stage(delta, parent)
        if account.commit_rows(write.table, staged, parent):
            if table.is_scattered():
                table.compact(account.now_us)
            return staged.row_counts
        account.catch_up()
        write = bind_again(account, text, home)
    raise InputError(f"other writers changed the table {ATTEMPTS_MAX} times meanwhile: try again")


def bind_again(account: WarehouseAccount, text: str, home: str) -> Write:
    """Return a statement that changes rows, as it is bound now."""
    write = read_write(text, lookup_in(account, home))
    assert write is not None, "it was one before"
    return write


def changes_of(account: WarehouseAccount, write: Write, parent: Manifest) -> Delta:
    """Return the changes that a statement makes to the newest version of its table."""
    sources = {}
    for identity in {write.table, *write.sources}:
        table, positions = account.tables[identity], layout(account.catalog.state.entities[identity])
        number = parent.number if identity == write.table else table.latest.number
        sources[identity] = table.rows(number, positions)
    changes: list[Change] = []
    if write.changed_query is not None:
        changes += changed_rows(result_rows(account, write.changed_query, write.table, sources), parent)
    new_rows: Iterable[Row] = write.new_rows
    if write.new_query is not None:
        new_rows = result_rows(account, write.new_query, write.table, sources).values()
    version = parent.number + 1
    changes += [Change(Action.INSERT, new_id(version, ordinal), row) for ordinal, row in enumerate(new_rows)]
    return tuple(sorted(changes, key=lambda change: change.action is Action.INSERT))


def result_rows(
    account: WarehouseAccount, query: Any, target: TableId, sources: Mapping[TableId, VersionRows]
) -> Contents:
    """Return the rows of a query, whose source `target` has its row ids behind its cells."""
    wanted = {identity: sources[identity] for identity in query.sources}
    rows_max = account.backend.limits.full_rows
    if sum(source.written_count for source in wanted.values()) <= rows_max:
        contents = {identity: source.few_contents(rows_max) for identity, source in wanted.items()}
        if target in contents:
            contents[target] = {row_id: (*row, row_id) for row_id, row in contents[target].items()}
        return account.backend.bag.full(query, contents)
    backend = account.backend.on_spark()
    by_spark = {identity: source.frame(backend.spark) for identity, source in wanted.items()}
    if target in by_spark:
        by_spark[target] = with_ids(by_spark[target])
    return contents_of(backend.full(query, by_spark))


def with_ids(frame: RowFrame) -> RowFrame:
    """Return rows with their ids behind their cells."""
    return frame.select([*frame.cells, F.col(frames.ROW_ID)], (*frame.types, TEXT))


def changed_rows(rows: Contents, parent: Manifest) -> list[Change]:
    """Return the changes of existing rows.

    Raises:
        InputError: A row is to become two different ones.
    """
    width = len(parent.columns)
    outcomes: dict[RowId, tuple[Row, Row | None]] = {}
    for row_id, is_deleted, *cells in rows.values():
        assert isinstance(row_id, str), "the first column has the ids"
        old, new = tuple(cells[:width]), None if is_deleted else tuple(cells[width:])
        if not same(outcomes.setdefault(row_id, (old, new))[1], new):
            raise InputError(f"the row {old} is matched by several rows that change it differently")
    changes = []
    for row_id, (old, new) in outcomes.items():
        if same(old, new):
            continue
        changes.append(Change(Action.DELETE, row_id, old))
        if new is not None:
            changes.append(Change(Action.INSERT, row_id, new))
    return changes


def same(old: Row | None, new: Row | None) -> bool:
    """Tell whether no expression tells two rows apart; None is no row."""
    if old is None or new is None:
        return old is new
    return same_row(old, new)


def append(account: WarehouseAccount, identity: TableId, rows: pa.Table | Any) -> int:
    """Add rows to a base table in one commit; return their number.

    Args:
        account: The account.
        identity: The table.
        rows: An Arrow table or a DataFrame of Spark, with the columns of the table by name, in any order.

    Raises:
        InputError: A column is missing, or its values do not fit.
    """
    check_base_table(account, identity)
    table = account.tables[identity]
    files = table.files
    for _ in range(ATTEMPTS_MAX):
        account.catch_up()
        table.remove_dropped(account.now_us)
        parent = table.head()
        version = parent.number + 1
        if isinstance(rows, pa.Table):
            written = files.write_table(arrow_rows(rows, parent, version, 0), version)
        else:
            written = write_frame(files, spark_rows(rows, parent, version), parent.columns, version)
        staged = Staged(version, written)
        if not written or account.commit_rows(identity, staged, parent):
            if table.is_scattered():
                table.compact(account.now_us)
            return staged.row_counts[0]
    raise InputError(f"other writers changed the table {ATTEMPTS_MAX} times meanwhile: try again")
