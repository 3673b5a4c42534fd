"""Intervals of tables in Parquet files: few rows in Python and all rows by Spark are those of memory."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from spark_intervals import Intervals, comparable, drawn_intervals, python_deltas

from dynamic_tables.bags.intervals import WantedKeys
from dynamic_tables.bags.operators import key_function
from dynamic_tables.maintenance.plans import Moment
from dynamic_tables.on_spark.few_changes import FewRowsInterval, FrameSource, TooManyRows
from dynamic_tables.on_spark.frames import changes_frame, contents_of, delta_of, frame_of
from dynamic_tables.on_spark.key_conditions import decimal_value
from dynamic_tables.on_spark.spark_backend import SparkBackend, exact_settings
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.netting import difference
from dynamic_tables.stores import parquet_intervals
from dynamic_tables.stores.arrow_rows import stored_field
from dynamic_tables.stores.parquet_intervals import ParquetInterval, VersionRows
from dynamic_tables.stores.parquet_table import ParquetTable
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Action, Change, Contents
from dynamic_tables.values.expressions import Column, Expression
from dynamic_tables.values.functions import call
from dynamic_tables.values.types import INTEGER, TEXT, Field, decimal
from strategies.dynamic.cases import drawn_case
from strategies.dynamic.contents import CELLS, FIELDS, SourceTable, drawn_contents

SOURCE = SourceTable("t", FIELDS)
SEEDS = (7, 17, 21, 23)


def at(second: int) -> Timestamp:
    return Timestamp(second * 1_000_000, 0, 0)


Fields = Mapping[str, tuple[Field, ...]]


def store_sources(directory: Path, intervals: Intervals, fields: Fields) -> dict[str, ParquetTable]:
    """The sources of a query in files: the first contents overwritten, then a version for each interval."""
    tables = {}
    for identity, columns in fields.items():
        stored_columns = [stored_field(field, short=field.name == "k") for field in columns]
        table = tables[identity] = ParquetTable.create(directory / identity, stored_columns, at(0))
        parent = table.latest()
        table.commit(table.stage_whole(intervals.versions[0][identity], parent), parent, at(1))
        for second, changes in enumerate(intervals.changes, 2):
            parent = table.latest()
            table.commit(table.stage(changes[identity], parent), parent, at(second))
    return tables


def open_intervals(
    spark: Any, tables: dict[str, ParquetTable], old: int, new: int
) -> dict[str, ParquetInterval]:
    return {
        identity: ParquetInterval(lambda: spark, table, table.version(old), table.version(new))
        for identity, table in tables.items()
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_few_changes_are_those_of_memory(spark: Any, tmp_path: Path, seed: int) -> None:
    """STORE-4. For each query and interval, whatever rows the plan wants: ids and rows are the same."""
    random = Random(seed)
    case = drawn_case(random, 3 if seed % 2 else 1)
    intervals, backend = drawn_intervals(random, case), SparkBackend(spark)
    tables = store_sources(tmp_path, intervals, {table.identity: table.fields for table in case.tables})
    for number, expected in enumerate(python_deltas(intervals), 1):
        delta = backend.few_changes(intervals.query, open_intervals(spark, tables, number, number + 1))
        assert delta is not None
        assert comparable(delta) == comparable(expected)


def test_spark_reads_the_same_rows_and_changes(spark: Any, tmp_path: Path) -> None:
    """STORE-4 again, where Spark reads the files: over several versions, of which one was overwritten."""
    random = Random(16)
    case = drawn_case(random, 1)
    intervals, backend = drawn_intervals(random, case), SparkBackend(spark)
    tables = store_sources(tmp_path, intervals, {table.identity: table.fields for table in case.tables})
    for old, new in ((0, 3), (2, 6)):
        for source in open_intervals(spark, tables, old, new).values():
            before, after = source.table.contents(old), source.table.contents(new)
            with exact_settings(spark):
                assert exact(contents_of(source.before)) == exact(before)
                assert exact(contents_of(source.after)) == exact(after)
                assert comparable(delta_of(source.changes)) == comparable(difference(before, after))
        expected = backend.few_changes(intervals.query, open_intervals(spark, tables, old, new))
        assert expected
        with exact_settings(spark):
            changes = delta_of(backend.changes(intervals.query, open_intervals(spark, tables, old, new)))
        assert comparable(changes) == comparable(expected)


def exact(contents: Contents) -> dict[str, Any]:
    return {row_id: exact_key(row) for row_id, row in contents.items()}


@pytest.mark.parametrize("seed", range(20))
def test_wanted_rows_are_never_left_out(spark: Any, tmp_path: Path, seed: int) -> None:
    """STORE-5. Files, row groups and rows without wanted keys are left out, and no others."""
    random = Random(seed)
    contents = {
        f"{file}-{row_id}": row for file in range(4) for row_id, row in drawn_contents(random, SOURCE).items()
    }
    table = ParquetTable.create(tmp_path / "t", [stored_field(field) for field in FIELDS], at(0))
    for file in range(4):
        parent = table.latest()
        delta = [Change(Action.INSERT, *pair) for pair in contents.items() if pair[0].startswith(f"{file}-")]
        table.commit(table.stage(tuple(delta), parent), parent, at(file + 1))
    places = sorted(random.sample(range(len(FIELDS)), 2))
    expressions = tuple(Column(place, FIELDS[place].type) for place in places)
    key = key_function(expressions)
    row = tuple(random.choice(CELLS[field.name]) for field in FIELDS)
    row_ids = (
        frozenset(random.sample(sorted(contents), 1)) if contents and seed % 3 == 0 else frozenset[str]()
    )
    wanted = WantedKeys(expressions, frozenset({key(row)}), row_ids)
    rows = VersionRows(table, table.latest()).few_rows(range(len(FIELDS)), wanted, 100)
    answered = exact(dict(rows))
    needed = {row_id for row_id, row in contents.items() if key(row) in wanted.keys}
    assert needed | row_ids <= answered.keys()
    assert answered.items() <= exact(contents).items()


def two_files(directory: Path) -> ParquetTable:
    """A table of two files, with keys 0 to 9 and 10 to 19."""
    columns = [stored_field(Field("k", INTEGER), short=True), stored_field(Field("t", TEXT))]
    table = ParquetTable.create(directory / "t", columns, at(0))
    for file in range(2):
        parent = table.latest()
        keys = range(10 * file, 10 * file + 10)
        delta = tuple(Change(Action.INSERT, f"r{k}", (k, f"it's {k} \\")) for k in keys)
        table.commit(table.stage(delta, parent), parent, at(file + 1))
    return table


FIRST = Column(0, INTEGER)


def keys_of(*keys: Any, part: Expression = FIRST) -> WantedKeys:
    return WantedKeys((part,), frozenset((key,) for key in keys), frozenset())


def test_files_without_wanted_keys_are_not_opened(spark: Any, tmp_path: Path) -> None:
    """STORE-5 reaches both."""
    table = two_files(tmp_path)
    rows = VersionRows(table, table.latest())
    (path, groups) = rows.groups_with(keys_of(12, 13, 2**80))[0]
    assert (path, groups) == (str(table.path(table.latest().data[1])), [0])
    assert len(rows.groups_with(keys_of(12))) == 1
    assert [row_id for row_id, _ in rows.few_rows([0], keys_of(12, 40), 10)] == ["r12"]
    by_text = keys_of("it's 3 \\", part=Column(1, TEXT))
    assert rows.few_rows([0, 1], by_text, 10) == [("r3", (3, "it's 3 \\"))]
    computed = keys_of(1, part=call("+", Column(0, INTEGER), Column(0, INTEGER)))
    assert len(rows.groups_with(computed)) == 2


def test_what_is_too_much_for_python_is_left_to_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = two_files(tmp_path)
    rows, places = VersionRows(table, table.latest()), [0]
    for wanted, rows_max in ((None, 19), (keys_of(1, 2), 1)):
        with pytest.raises(TooManyRows):
            rows.few_rows(places, wanted, rows_max)
    assert len(rows.few_rows(places, None, 20)) == 20
    monkeypatch.setattr(parquet_intervals, "SEARCHED_MAX", 9)
    with pytest.raises(TooManyRows):
        rows.few_rows(places, keys_of(1), 5)


def test_frames_give_few_rows_by_spark(spark: Any, tmp_path: Path) -> None:
    """Of a source that is only a DataFrame."""
    contents = {f"r{k}": (k, None if k == 3 else f"it's {k} \\") for k in range(6)}
    types = (INTEGER, TEXT)
    delta = (Change(Action.DELETE, "r1", contents["r1"]),)
    with exact_settings(spark):
        whole = frame_of(spark, contents, types)
        source = FrameSource(whole, whole, changes_frame(spark, delta, types))
        interval = FewRowsInterval({"T": source}, 5)
        assert source.few_changes(5) == delta
        assert interval.keyed_sources["T"].width == 2
        rows = source.few_rows(Moment.AFTER, [1, 0], keys_of("it's 4 \\", None, part=Column(1, TEXT)), 5)
        assert sorted(rows) == [("r3", (None, 3)), ("r4", ("it's 4 \\", 4))]
        with pytest.raises(TooManyRows):
            source.few_rows(Moment.BEFORE, [0], None, 5)
        with pytest.raises(TooManyRows):
            source.few_changes(0)


def test_numbers_of_other_scales_are_wanted_too(spark: Any, tmp_path: Path) -> None:
    table = ParquetTable.create(tmp_path / "t", [stored_field(Field("d", decimal(2)))], at(0))
    parent = table.latest()
    delta = (Change(Action.INSERT, "r", (Decimal("2.00"),)),)
    table.commit(table.stage(delta, parent), parent, at(1))
    wanted = keys_of(2, Decimal("2.005"), part=Column(0, decimal(2)))
    assert VersionRows(table, table.latest()).few_rows([0], wanted, 5) == [("r", (Decimal("2.00"),))]


def test_numbers_of_38_digits_are_compared_exactly() -> None:
    """Python's decimals round to 28 digits, unless they are told otherwise."""
    long = Decimal("12345678901234567890123456789012.345678")
    assert decimal_value(long, 6) == long
    assert decimal_value(long, 5) is None
    assert decimal_value(7, 2) == 7
