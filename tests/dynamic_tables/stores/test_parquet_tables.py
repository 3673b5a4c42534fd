"""Tables in Parquet files hold what tables in memory hold, also if their writer is killed at any call."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from crashing import Crash, crash_at
from store_writes import all_writes_of, log_in_tests

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.netting import difference
from dynamic_tables.storage.versions import Purged, Table
from dynamic_tables.stores.arrow_rows import stored_field
from dynamic_tables.stores.formats import LOGS
from dynamic_tables.stores.manifests import Manifest
from dynamic_tables.stores.parquet_table import ParquetTable
from dynamic_tables.stores.version_logs import ManifestLog, VersionExists, VersionLog
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Action, Change, Contents, Delta
from dynamic_tables.values.types import BOOLEAN, INTEGER, TEXT, Field, decimal
from mutants.parquet_tables import PARQUET_MUTANTS, REWRITING_MUTANTS
from pruning.errors import InputError
from strategies.dynamic.contents import FIELDS, SourceTable, drawn_step

SOURCE = SourceTable("t", FIELDS)
COLUMNS = [stored_field(field, short=field.name == "k") for field in FIELDS]


def at(second: int) -> Timestamp:
    return Timestamp(second * 1_000_000, 0, 0)


def create_table(
    directory: Path, kind: type[ParquetTable] = ParquetTable, log: type[VersionLog] = ManifestLog
) -> ParquetTable:
    return kind.create(directory / "t", COLUMNS, at(0), log)


def exact(contents: Contents) -> dict[str, Any]:
    return {row_id: exact_key(row) for row_id, row in contents.items()}


def changes_as_set(delta: Delta) -> set[Any]:
    return {(change.action, change.row_id, exact_key(change.row)) for change in delta}


def drawn_world(
    random: Random, directory: Path, steps: int, kind: type[ParquetTable], log: type[VersionLog]
) -> tuple[ParquetTable, Table]:
    """The same commits to a table in files and to one in memory; some overwrite all rows."""
    stored, memory = create_table(directory, kind, log), Table(at(0))
    for second in range(1, steps + 1):
        before = memory.contents(memory.latest.number)
        if random.random() < 0.15:
            stored.compact(at(second), rows_min=random.choice((1, 3, 100)))
            memory.commit(at(second), ())
            continue
        step, parent = drawn_step(random, SOURCE, before), stored.latest()
        whole = random.random() < 0.2
        staged = stored.stage_whole(step.after, parent) if whole else stored.stage(step.changes, parent)
        stored.commit(staged, parent, at(second))
        memory.commit(at(second), step.changes)
    return stored, memory


def assert_same_versions(stored: ParquetTable, memory: Table) -> None:
    """Contents of each version, and the changes between each two."""
    numbers = range(memory.latest.number + 1)
    for number in numbers:
        assert exact(stored.contents(number)) == exact(memory.contents(number))
    for old in numbers:
        for new in numbers[old:]:
            delta = stored.changes(old, new)
            if delta is None:  # a version in between was overwritten
                delta = difference(stored.contents(old), stored.contents(new))
            assert changes_as_set(delta) == changes_as_set(memory.changes(old, new))
            assert not delta or stored.changed_count(old, new) > 0


def take_steps(random: Random, directory: Path, steps: int, format: str) -> set[bool]:
    """Steps of a table in files and of one in memory; return for ends of the process if a commit was made."""
    log, writes = log_in_tests(format), all_writes_of(format)
    stored, memory = create_table(directory, log=log), Table(at(0))
    ends: set[bool] = set()
    for second in range(1, steps + 1):
        before, parent = memory.contents(memory.latest.number), stored.latest()
        step = drawn_step(random, SOURCE, before)
        compacts, whole = random.random() < 0.1, random.random() < 0.1
        has_crashed, call = False, random.randrange(60)
        try:
            with crash_at(writes, call, after=random.random() < 0.5):
                if compacts:
                    stored.compact(at(second), rows_min=random.choice((1, 3, 100)))
                else:
                    staged = (
                        stored.stage_whole(step.after, parent)
                        if whole
                        else stored.stage(step.changes, parent)
                    )
                    stored.commit(staged, parent, at(second))
        except Crash:
            has_crashed, stored = True, ParquetTable(stored.directory, log)
        is_made = stored.latest().number > parent.number
        if has_crashed:
            ends.add(is_made)
        if is_made:
            memory.commit(at(second), () if compacts else step.changes)
        newest = memory.latest.number
        assert stored.latest().number == newest
        assert exact(stored.contents(newest)) == exact(memory.contents(newest))
        old = random.choice([number for number in stored.log.numbers() if number <= newest])
        delta = stored.changes(old, newest)
        if delta is not None:
            assert changes_as_set(delta) == changes_as_set(memory.changes(old, newest))
        if random.random() < 0.1:
            stored.purge(max(0, newest - random.randrange(5)), staged_before=time.time() + 60)
    return ends


def assert_worlds_agree(
    directory: Path,
    kind: type[ParquetTable] = ParquetTable,
    log: type[VersionLog] = ManifestLog,
    seeds: int = 12,
) -> None:
    for seed in range(seeds):
        stored, memory = drawn_world(Random(seed), directory / str(seed), 8, kind, log)
        assert_same_versions(kind(stored.directory, log), memory)


@pytest.mark.parametrize("format", LOGS)
def test_files_hold_what_memory_holds(tmp_path: Path, format: str) -> None:
    """STORE-1. After each of many commits, also opened anew."""
    assert_worlds_agree(tmp_path, log=log_in_tests(format), seeds=4 if format == "iceberg" else 12)


@pytest.mark.parametrize("mutant", PARQUET_MUTANTS)
def test_a_mutant_of_tables_in_files_is_found_out(tmp_path: Path, mutant: str) -> None:
    """STORE-1 can fail."""
    with pytest.raises(AssertionError):
        assert_worlds_agree(tmp_path, PARQUET_MUTANTS[mutant])


@pytest.mark.parametrize("mutant", REWRITING_MUTANTS)
def test_a_mutant_of_the_rewriting_of_files_is_found_out(tmp_path: Path, mutant: str) -> None:
    """STORE-1 can fail where deleted rows are not kept apart."""
    with pytest.raises(AssertionError):
        assert_worlds_agree(tmp_path, REWRITING_MUTANTS[mutant], log_in_tests("delta"))


@pytest.mark.deep
@pytest.mark.parametrize("format", LOGS)
@pytest.mark.parametrize("seed", range(17))
def test_five_thousand_steps_of_all_stores(tmp_path: Path, seed: int, format: str) -> None:
    """STORE-1 to STORE-3: commits that end anywhere, compaction, and processes that open the table anew."""
    take_steps(Random(seed), tmp_path, 100, format)


@pytest.mark.parametrize("format", LOGS)
def test_steps_of_each_store(tmp_path: Path, format: str) -> None:
    """STORE-1 to STORE-3."""
    assert take_steps(Random(7), tmp_path, 25, format) == {False, True}


ROW = (1, "a", 2, 0.5, None, True, (1, None))
FIRST: Delta = (Change(Action.INSERT, "r1", ROW), Change(Action.INSERT, "r2", ROW))
SECOND: Delta = (Change(Action.DELETE, "r1", ROW), Change(Action.INSERT, "r3", ROW))
FRONTIER = {"data_us": 7}


def commit(
    table: ParquetTable, delta: Delta, second: int, frontier: Mapping[str, Any] | None = None
) -> Manifest:
    parent = table.latest()
    return table.commit(table.stage(delta, parent), parent, at(second), frontier)


@pytest.mark.parametrize("format", LOGS)
def test_a_crash_at_any_call_leaves_the_old_version_or_the_new_one(tmp_path: Path, format: str) -> None:
    """STORE-2. Contents and frontier change together; what was staged is removed later."""
    outcomes = set()
    log, writes = log_in_tests(format), all_writes_of(format)
    for number in range(40):
        for after in (False, True):
            table = create_table(tmp_path / f"{number} {after}", log=log)
            commit(table, FIRST, 1)
            crashed = True
            try:
                with crash_at(writes, number, after=after):
                    commit(table, SECOND, 2, FRONTIER)
                    crashed = False
            except Crash:
                pass
            again = ParquetTable(table.directory, log)
            latest = again.latest()
            contents = again.contents(latest.number)
            assert (set(contents), latest.frontier) in (({"r1", "r2"}, None), ({"r2", "r3"}, FRONTIER))
            outcomes.add((crashed, latest.number))
            again.purge(0, staged_before=time.time() + 60)
            named = {file.name for kept in (1, latest.number) for file in files(again.version(kept))}
            assert set(os.listdir(table.directory / "data")) == named
            assert exact(again.contents(latest.number)) == exact(contents)
            commit(again, (Change(Action.DELETE, "r2", ROW),), 3)
        if (False, 2) in outcomes:
            break
    assert outcomes == {(True, 1), (True, 2), (False, 2)}


def files(manifest: Manifest) -> list[Any]:
    return list(manifest.files)


@pytest.mark.parametrize("format", LOGS)
def test_of_two_commits_to_one_version_the_second_fails(tmp_path: Path, format: str) -> None:
    """STORE-3. Compare and swap: no update is lost, and none is made twice."""
    log = log_in_tests(format)
    table, other = create_table(tmp_path, log=log), ParquetTable(tmp_path / "t", log)
    parent = other.latest()
    staged = other.stage(SECOND[1:], parent)
    commit(table, FIRST, 1, FRONTIER)
    with pytest.raises(VersionExists, match="version 1 exists"):
        other.commit(staged, parent, at(2))
    assert set(other.contents(other.latest().number)) == {"r1", "r2"}
    assert other.latest().frontier == FRONTIER


def test_a_table_that_is_overwritten_by_no_rows_has_changed(tmp_path: Path) -> None:
    """Otherwise a refresh would find that there is nothing to do (R-DVS-23)."""
    table = create_table(tmp_path)
    commit(table, FIRST, 1)
    parent = table.latest()
    table.commit(table.stage_whole({}, parent), parent, at(2))
    assert table.contents(2) == {}
    assert table.changed_count(1, 2) == 2


def test_compaction_changes_no_row_and_leaves_one_file(tmp_path: Path) -> None:
    """Trap 29. Rows keep their versions, so that later deletions find them; large files stay."""
    table = create_table(tmp_path)
    for second, delta in enumerate((FIRST, SECOND), 1):
        commit(table, delta, second, FRONTIER)
    compacted = table.compact(at(3))
    assert (len(compacted.data), compacted.deletions, compacted.frontier) == (1, (), FRONTIER)
    assert table.changes(2, 3) == ()
    assert table.changed_count(2, 3) == 0
    assert table.compact(at(4), rows_min=2).data == compacted.data
    commit(table, (Change(Action.DELETE, "r2", ROW),), 5)
    assert set(table.contents(5)) == {"r3"}


@pytest.mark.parametrize("format", LOGS)
def test_purged_versions_cannot_be_read_and_others_stay(tmp_path: Path, format: str) -> None:
    table = create_table(tmp_path, log=log_in_tests(format))
    for second, delta in enumerate((FIRST, SECOND), 1):
        commit(table, delta, second)
    table.purge(2, staged_before=0)
    with pytest.raises(Purged, match="version 1 is not retained"):
        table.changes(1, 2)
    assert set(table.contents(2)) == {"r2", "r3"}
    table.purge(9, staged_before=0)
    assert table.latest().number == 2


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    with pytest.raises(InputError, match="holds a table already"):
        create_table(tmp_path)
    with pytest.raises(InputError, match="is no table: it has no versions"):
        ParquetTable(tmp_path / "other")
    with pytest.raises(InputError, match="a number does not fit column k, which has 64 bits: use DECIMAL"):
        commit(table, (Change(Action.INSERT, "r1", (2**70, *ROW[1:])),), 1)
    with pytest.raises(InputError, match="a column cannot be called _row_id"):
        ParquetTable.create(tmp_path / "u", [stored_field(Field("_row_id", TEXT))], at(0))
    manifest = table.directory / "versions" / f"{0:020}.json"
    manifest.write_text('{"format": 2}')
    with pytest.raises(InputError, match="has format 2, which is of a later release"):
        ParquetTable(table.directory).latest()
    manifest.write_text("[]")
    with pytest.raises(InputError, match="is no manifest of a table"):
        ParquetTable(table.directory).latest()


def test_numbers_of_any_length_are_kept(tmp_path: Path) -> None:
    fields = (Field("n", INTEGER), Field("d", decimal(2)), Field("b", BOOLEAN))
    table = ParquetTable.create(tmp_path / "t", [stored_field(field) for field in fields], at(0))
    row = (10**38 - 1, None, False)
    commit(table, (Change(Action.INSERT, "r", row),), 1)
    assert table.contents(1) == {"r": row}
