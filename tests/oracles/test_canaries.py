"""What comes back from a canary is what was not skipped, and a canary that is wrong is noticed."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from known_files import (
    BLOOMS,
    ENGINES,
    GROUP_ROWS,
    INTEGER_DECIMALS,
    ROW,
    ROWS,
    Rids,
    by_duckdb,
    facts,
    not_skipped,
    numbers,
    ranges,
    table,
    written,
)

from oracles.files import canaries, counterfactual_files, footers
from oracles.files.canaries import write_canary, write_none_match
from oracles.files.footers import InMeta


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return written(tmp_path / "original.parquet")


def unlike(original: Path, tmp_path: Path, rids: Rids, spoil: Callable[[Path], None] = lambda _: None) -> int:
    """For how many of the ranges a canary tells something else than the values do."""
    canary, wrong = tmp_path / "canary.parquet", 0
    for lower, upper in ranges():
        write_canary(original, canary, ROW | {"a": lower}, schema=table().schema)
        spoil(canary)
        wrong += rids(canary, lower, upper) != not_skipped(lower, upper)
    return wrong


@pytest.mark.parametrize("rids", ENGINES)
def test_a_canary_returns_the_row_groups_that_were_not_skipped(
    original: Path, tmp_path: Path, rids: Rids
) -> None:
    skipped = [ROWS - len(not_skipped(*each)) for each in ranges()]
    assert max(skipped) == ROWS
    assert 0 < min(skipped) < ROWS - GROUP_ROWS
    assert unlike(original, tmp_path, rids) == 0


@pytest.mark.parametrize("rids", ENGINES)
def test_a_graft_that_forgets_a_column_is_noticed(original: Path, tmp_path: Path, rids: Rids) -> None:
    def forget(canary: Path) -> None:
        body, footer = footers.read_footer(canary)
        for chunks in footers.chunks_of(footer):
            del footers.meta_of(chunks[1])[InMeta.STATISTICS]
        canary.write_bytes(footers.join_file(body, footer))

    assert unlike(original, tmp_path, rids, forget) == len(ranges())


@pytest.mark.parametrize("dictionary", [False, True])
def test_a_canary_has_the_statistics_of_the_original_and_the_row_throughout(
    original: Path, tmp_path: Path, dictionary: bool
) -> None:
    canary = write_canary(
        original, tmp_path / "canary.parquet", ROW, schema=table().schema, first=7, dictionary=dictionary
    )
    rows = pq.read_table(canary).to_pylist()
    assert rows == [{"rid": 7 + at, **ROW} for at in range(ROWS)]
    for ours, theirs in zip(facts(canary), facts(original), strict=True):
        assert ours["statistics"] == theirs["statistics"]
        assert ours["path_in_schema"] == theirs["path_in_schema"]
        assert ours["has_dictionary_page"] == (dictionary and ours["path_in_schema"] not in ("rid", "b"))
    assert pq.read_metadata(canary).created_by == pq.read_metadata(original).created_by
    assert pq.read_schema(canary).equals(pq.read_schema(original), check_metadata=True)


def test_a_canary_has_the_pages_of_the_original(original: Path, tmp_path: Path) -> None:
    canary = write_canary(original, tmp_path / "canary.parquet", ROW, schema=table().schema)
    (body, footer), (source, stated) = footers.read_footer(canary), footers.read_footer(original)
    chunks, others = ([*chain.from_iterable(footers.chunks_of(file))] for file in (footer, stated))
    pages = [counterfactual_files.first_rows(body, chunk) for chunk in chunks]
    assert pages == [counterfactual_files.first_rows(source, other) for other in others]
    assert {len(firsts or []) for firsts in pages} >= {5}
    for field in (footers.InChunk.COLUMN_INDEX, footers.InChunk.OFFSET_INDEX):
        assert all(field in chunk for chunk in chunks)
    for chunk, other in zip(chunks, others, strict=True):
        indexes = (
            footers.decode_struct(data, footers.int_field(each, footers.InChunk.COLUMN_INDEX))[0]
            for data, each in ((body, chunk), (source, other))
        )
        assert next(indexes) == next(indexes)


@pytest.mark.parametrize("rids", ENGINES)
def test_a_none_match_file_returns_only_rows_of_blocks_that_match_throughout(
    original: Path, tmp_path: Path, rids: Rids
) -> None:
    none_match = write_none_match(
        original, tmp_path / "none_match.parquet", ROW | {"a": None}, schema=table().schema
    )
    for lower, upper in [*ranges(), (-50, 500), (0, 90)]:
        groups = {rid // GROUP_ROWS for rid in rids(none_match, lower, upper)}
        for group in groups:
            values = numbers()[group * GROUP_ROWS : (group + 1) * GROUP_ROWS]
            assert lower <= min(values) <= max(values) <= upper


def test_a_none_match_file_shows_what_duckdb_declares_to_match(original: Path, tmp_path: Path) -> None:
    none_match = write_none_match(
        original, tmp_path / "none_match.parquet", ROW | {"a": -99}, schema=table().schema
    )
    assert by_duckdb(none_match, -50, 500) == list(range(ROWS))
    assert by_duckdb(none_match, 90, 500) == []


@pytest.mark.skipif(not BLOOMS, reason="this pyarrow writes no bloom filters")
def test_a_bloom_filter_is_carried_to_the_canary(original: Path, tmp_path: Path) -> None:
    canary = write_canary(original, tmp_path / "canary.parquet", ROW, schema=table().schema)
    data = canary.read_bytes(), original.read_bytes()
    ours, theirs = (footers.chunks_of(footers.split_file(each)[1])[3][1] for each in data)
    starts = [footers.int_field(footers.meta_of(chunk), InMeta.BLOOM) for chunk in (ours, theirs)]
    size = footers.int_field(footers.meta_of(theirs), InMeta.BLOOM_SIZE)
    assert footers.int_field(footers.meta_of(ours), InMeta.BLOOM_SIZE) == size
    assert data[0][starts[0] : starts[0] + size] == data[1][starts[1] : starts[1] + size]


@pytest.mark.skipif(not BLOOMS, reason="this pyarrow writes no bloom filters")
def test_a_canary_tells_what_a_bloom_filter_skipped(original: Path, tmp_path: Path) -> None:
    values, fewer = numbers(), 0
    for value in range(35, 60):
        canary = write_canary(
            original, tmp_path / "canary.parquet", ROW | {"a": value}, schema=table().schema
        )
        groups = {at // GROUP_ROWS for at in range(ROWS) if values[at] == value}
        assert by_duckdb(canary, value, value) == [at for at in range(ROWS) if at // GROUP_ROWS in groups]
        fewer += len(groups) * GROUP_ROWS < len(not_skipped(value, value))
    assert fewer > 5


@pytest.mark.parametrize(
    ("row", "schema", "sentence"),
    [
        ({"a": 1}, table().schema, "is missing from the row"),
        (ROW, table().schema.remove(1), "the original's columns are"),
        (ROW, table().schema.set(1, pa.field("a", pa.int32())), "pyarrow stores int32 otherwise"),
        (ROW, table().schema.set(5, pa.field("t", pa.timestamp("ms"))), "t is read as"),
    ],
)
def test_a_row_that_is_not_the_originals_is_refused(
    original: Path, tmp_path: Path, row: dict[str, Any], schema: pa.Schema, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        write_canary(original, tmp_path / "canary.parquet", row, schema=schema)


@pytest.mark.skipif(not INTEGER_DECIMALS, reason="this pyarrow stores decimals otherwise than DuckDB")
@pytest.mark.parametrize("dictionary", [False, True])
def test_files_of_duckdb_have_canaries(original: Path, tmp_path: Path, dictionary: bool) -> None:
    path, canary = tmp_path / "duckdb.parquet", tmp_path / "canary.parquet"
    duckdb.sql(f"COPY (FROM '{original}' ORDER BY rid) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    write_canary(path, canary, ROW, schema=table().schema, dictionary=dictionary)
    assert [chunk["statistics"] for chunk in facts(canary)] == [chunk["statistics"] for chunk in facts(path)]
    assert pq.read_table(canary).to_pylist() == [{"rid": at, **ROW} for at in range(ROWS)]
    assert duckdb.sql(f"FROM '{canary}'").fetchall() == [(at, *ROW.values()) for at in range(ROWS)]


def test_a_page_that_pyarrow_splits_is_refused(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"data_page_size": 1, "write_batch_size": 1, "write_statistics": False, "compression": "NONE"}
    monkeypatch.setattr(canaries, "_options", lambda *_: small)
    with pytest.raises(ValueError, match="pyarrow writes 9 rows of rid as several pages"):
        write_canary(original, tmp_path / "canary.parquet", ROW, schema=table().schema)


@pytest.mark.parametrize("name", ["a", "s", "n", "d", "t", "day", "b"])
def test_a_canary_may_hold_nulls(original: Path, tmp_path: Path, name: str) -> None:
    canary = write_canary(original, tmp_path / "canary.parquet", ROW | {name: None}, schema=table().schema)
    assert pq.read_table(canary)[name].null_count == ROWS


def test_nested_columns_and_empty_row_groups_have_canaries(tmp_path: Path) -> None:
    nested = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))])
    schema = pa.schema([("o", nested), ("rid", pa.int64()), ("l", pa.list_(pa.float64()))])
    rows = [{"o": {"x": at, "y": ["p"] * (at % 4)}, "rid": at, "l": [1.0] * (at % 3)} for at in range(30)]
    path = tmp_path / "nested.parquet"
    with pq.ParquetWriter(
        path, schema, write_page_index=True, data_page_size=1, write_batch_size=4
    ) as writer:
        for size in (0, 20, 10):
            writer.write_table(pa.Table.from_pylist(rows[:size], schema))
    chunks = footers.chunks_of(footers.read_footer(path)[1])
    row = {"o": {"x": 5, "y": ["q", None]}, "l": [2.0, None, 3.0]}
    canary = write_canary(path, tmp_path / "canary.parquet", row, schema=schema)
    assert pq.read_table(canary).to_pylist() == [{**row, "rid": at} for at in range(30)]
    assert [len(group) for group in footers.chunks_of(footers.read_footer(canary)[1])] == [
        len(group) for group in chunks
    ]
    assert counterfactual_files.row_group_rows(canary) == (0, 20, 10)
