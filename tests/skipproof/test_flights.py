"""The flights of the demo: types, rows and layouts."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet
import pytest

from pruning.errors import InputError
from skipproof.commands import flights as source
from skipproof.commands.flights import BLOCK_ROWS, FILE_ROWS, ROW_COUNT, SCHEMA, Layout, flights, write_lake


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return flights()


@pytest.fixture(scope="module")
def lakes(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[Layout, Path]:
    root = tmp_path_factory.mktemp("lakes")
    return {layout: write_lake(table, root, layout) for layout in Layout}


def test_there_are_as_many_flights_as_documented_and_each_number_is_an_integer(table: pa.Table) -> None:
    assert table.num_rows == ROW_COUNT
    assert table.schema == SCHEMA


def test_what_is_not_available_is_null(table: pa.Table) -> None:
    nulls = {name: table[name].null_count for name in SCHEMA.names if table[name].null_count}
    assert nulls == {
        "dep_time": 8255,
        "dep_delay": 8255,
        "arr_time": 8713,
        "arr_delay": 9430,
        "tailnum": 2512,
        "air_time": 9430,
    }


def test_time_hour_is_an_instant_and_hour_is_new_york_time(table: pa.Table) -> None:
    local = pc.hour(table["time_hour"].cast(pa.timestamp("us", tz="America/New_York")))
    assert pc.all(pc.equal(local, table["hour"])).as_py()


def in_one_order(rows: pa.Table) -> pa.Table:
    return rows.select(SCHEMA.names).cast(SCHEMA).sort_by([(name, "ascending") for name in SCHEMA.names])


@pytest.mark.parametrize("layout", Layout)
def test_every_layout_holds_the_same_rows(layout: Layout, table: pa.Table, lakes: dict[Layout, Path]) -> None:
    written = pyarrow.dataset.dataset(lakes[layout], partitioning="hive").to_table()
    assert in_one_order(written).equals(in_one_order(table))


@pytest.mark.parametrize("layout", Layout)
def test_every_block_but_the_last_of_a_file_is_full(layout: Layout, lakes: dict[Layout, Path]) -> None:
    for file in lakes[layout].rglob("*.parquet"):
        footer = pa.parquet.read_metadata(file)
        rows = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
        assert set(rows[:-1]) <= {BLOCK_ROWS}
        assert rows[-1] <= BLOCK_ROWS
        assert sum(rows) <= FILE_ROWS


def test_the_shuffled_lake_is_the_same_each_time(table: pa.Table, tmp_path: Path) -> None:
    part = table.slice(0, 5 * BLOCK_ROWS)
    first = pa.parquet.read_table(write_lake(part, tmp_path / "first", Layout.SHUFFLED))
    second = pa.parquet.read_table(write_lake(part, tmp_path / "second", Layout.SHUFFLED))
    assert first.equals(second)
    assert not first.equals(part)


def test_a_lake_is_never_written_over(table: pa.Table, tmp_path: Path) -> None:
    write_lake(table.slice(0, 10), tmp_path, Layout.SHIPPED)
    with pytest.raises(InputError, match="--lake"):
        write_lake(table.slice(0, 10), tmp_path, Layout.SHIPPED)


def test_missing_data_is_one_sentence_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'skipproof\[demo\]'"):
        flights()
