"""The isolation of statements, judged by the histories that the logs of their tables tell."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from oracles.isolation import Result, check
from pruning.dml import WriteMode, delete, update
from pruning.dml.opening import open_target
from pruning.dml.running import StatementRun
from pruning.dml.statements import statement_run
from pruning.dml.targets import Statement, StatementConflict
from pruning.errors import InputError
from pruning.metadata.delta import committing as delta_committing
from pruning.metadata.iceberg.commits import committing as iceberg_committing
from skipproof.histories.table_recording import record_table

ACCOUNTS = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "balance": pa.array([50, 50, 10], pa.int64())})


class MakeTable:
    """Makes tables of either format; a statement takes the handle, and a reader the path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def delta(self) -> tuple[Any, Callable[[], str]]:
        path = str(self._folder / "delta")
        write_deltalake(path, ACCOUNTS, configuration={"delta.enableDeletionVectors": "true"})
        return path, lambda: path

    def iceberg(self, *files: pa.Table) -> tuple[Any, Callable[[], str]]:
        catalog = SqlCatalog(
            "bank", uri=f"sqlite:///{self._folder}/bank.db", warehouse=f"file://{self._folder}"
        )
        catalog.create_namespace("bank")
        table = catalog.create_table("bank.accounts", ACCOUNTS.schema, properties={"format-version": "2"})
        for rows in files or (ACCOUNTS,):
            table.append(rows)
        return table, lambda: str(catalog.load_table("bank.accounts").metadata_location)


@pytest.fixture
def make_table(tmp_path: Path) -> MakeTable:
    return MakeTable(tmp_path)


def _start_update(
    spark: SparkSession, table: Any, assignment: str, where: str, mode: WriteMode
) -> StatementRun:
    """Return an update that has read the table as it is now."""
    target = open_target(spark, table)
    return statement_run(spark, target, Statement.UPDATE, where, mode, {"balance": assignment})


def _result(spark: SparkSession, path: str, keys: tuple[str, ...] = ()) -> Result:
    return check(record_table(spark, path, keys=keys).history)


@pytest.mark.parametrize("mode", WriteMode)
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_an_update_that_would_be_lost_is_refused(
    spark: SparkSession, make_table: MakeTable, kind: str, mode: WriteMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, path = getattr(make_table, kind)()
    first = _start_update(spark, table, "balance - 10", "id = 1", mode)
    second = _start_update(spark, table, "balance + 5", "id = 1", mode)
    first.execute()
    with pytest.raises(StatementConflict):
        second.execute()
    assert {"PL-3", "PL-SI"} <= set(_result(spark, path()).holding)
    # Without the check for conflicts, the same statement commits, and its history convicts it.
    monkeypatch.setattr(delta_committing, "conflict", lambda *_: None)
    monkeypatch.setattr(iceberg_committing, "check_conflicts", lambda *_: frozenset(_removed_files(second)))
    second.execute()
    if kind == "delta" and mode is WriteMode.MERGE_ON_READ:
        # One file then has two deletion vectors, which no reader takes.
        with pytest.raises(InputError, match="is in this version of the table twice"):
            record_table(spark, path(), keys=["id"])
    else:
        assert "G-single" in _result(spark, path(), ("id",)).phenomena


def _removed_files(run: StatementRun) -> tuple[str, ...]:
    """Return the files that a statement on one file removes, if it rewrites them."""
    return run.target.version.files.paths if run.mode is WriteMode.COPY_ON_WRITE else ()


def test_statements_one_after_the_other_are_serializable(spark: SparkSession, make_table: MakeTable) -> None:
    table, path = make_table.delta()
    update(spark, table, {"balance": "balance + 1"}, "id < 3")
    update(spark, table, {"balance": "balance * 2"}, "balance > 50", mode=WriteMode.COPY_ON_WRITE)
    delete(spark, table, "id = 3")
    recorded = record_table(spark, path())
    assert {"PL-3", "PL-SI"} <= set(check(recorded.history).holding)
    # The first commit is by another writer.
    assert recorded.unchecked == (0,)


def test_a_key_that_is_no_column_is_refused(spark: SparkSession, make_table: MakeTable) -> None:
    _, path = make_table.delta()
    with pytest.raises(InputError, match=r"--key name: .* has no such column"):
        record_table(spark, path(), keys=["name"])


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_write_skew_is_left_to_snapshot_isolation_alone(
    spark: SparkSession, make_table: MakeTable, isolation: str
) -> None:
    table, path = make_table.iceberg(ACCOUNTS[:2], ACCOUNTS[2:])
    with table.transaction() as transaction:
        transaction.set_properties({"write.update.isolation-level": isolation})
    # One after the other, all balances would be the same at the end.
    first = _start_update(spark, table, "10", "balance = 50", WriteMode.MERGE_ON_READ)
    second = _start_update(spark, table, "50", "balance = 10", WriteMode.MERGE_ON_READ)
    first.execute()
    if isolation == "serializable":
        with pytest.raises(StatementConflict):
            second.execute()
        return
    second.execute()
    result = _result(spark, path())
    assert "PL-SI" in result.holding
    assert "G2" in result.phenomena


def test_the_session_that_was_active_stays_so(spark: SparkSession, make_table: MakeTable) -> None:
    """Another session, in which the statement runs, would read later predicates in its own time zone."""
    table, _ = make_table.delta()
    spark.createDataFrame([], "x int")
    active = SparkSession.getActiveSession()
    update(spark, table, {"id": "id + 1"}, "id = 1")
    assert SparkSession.getActiveSession() is active
