"""Counterfactual files: a file's rows without its statistics, under those of another, or behind a trap."""

from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from known_files import ENGINES, GROUP_ROWS, GROUPS, ROW, Rids, facts, not_skipped, ranges, table, written
from needs import CORPUS, needs_corpus

from oracles.files import counterfactual_files, footers
from oracles.files.canaries import write_canary

FOREIGN = sorted(CORPUS.glob("*.par*"))


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return written(tmp_path / "original.parquet")


@pytest.mark.parametrize("rids", ENGINES)
@pytest.mark.parametrize("trap", range(GROUPS))
def test_a_trap_fails_the_queries_that_read_it_and_no_other(
    original: Path, tmp_path: Path, trap: int, rids: Rids
) -> None:
    trapped = counterfactual_files.write_trapped(original, trap, tmp_path / "trapped.parquet")
    assert counterfactual_files.row_group_rows(trapped) == (GROUP_ROWS,) * GROUPS
    for lower, upper in ranges():
        answer = rids(original, lower, upper)
        if trap * GROUP_ROWS in not_skipped(lower, upper):
            with pytest.raises((OSError, duckdb.Error)):
                rids(trapped, lower, upper)
        else:
            assert rids(trapped, lower, upper) == answer


def test_a_trap_spoils_one_row_group_alone(original: Path, tmp_path: Path) -> None:
    file = pq.ParquetFile(counterfactual_files.write_trapped(original, 2, tmp_path / "trapped.parquet"))
    for group in (0, 1, 3, 4):
        assert file.read_row_group(group).equals(table().slice(group * GROUP_ROWS, GROUP_ROWS))
    for name in table().column_names:
        with pytest.raises(OSError, match=r"."):
            file.read_row_group(2, columns=[name])


def test_a_stripped_file_has_the_rows_and_nothing_to_prune_by(original: Path, tmp_path: Path) -> None:
    before = original.read_bytes()
    stripped = counterfactual_files.write_stripped(original, tmp_path / "stripped.parquet")
    assert pq.read_table(stripped).equals(table())
    assert original.read_bytes() == before
    for chunk, other in zip(facts(stripped), facts(original), strict=True):
        assert other["is_stats_set"]
        assert not chunk["is_stats_set"]
    assert not any(pq.read_metadata(stripped).row_group(at).sorting_columns for at in range(GROUPS))
    for chunks in footers.chunks_of(footers.read_footer(stripped)[1]):
        for chunk in chunks:
            assert not {12, 14, 15, 16, 17} & footers.meta_of(chunk).keys()
            assert not {4, 5, 6, 7} & chunk.keys()
    assert pq.read_schema(stripped).equals(pq.read_schema(original), check_metadata=True)
    for lower, upper in ranges():
        for rids in ENGINES:
            assert rids(stripped, lower, upper) == rids(original, lower, upper)


@needs_corpus
@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_a_foreign_file_has_a_stripped_file_of_the_same_rows(path: Path, tmp_path: Path) -> None:
    stripped = counterfactual_files.write_stripped(path, tmp_path / "stripped.parquet")
    assert not any(chunk["is_stats_set"] for chunk in facts(stripped))
    try:
        rows = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        pytest.skip(f"pyarrow {pa.__version__} cannot read {path.name}: {error}")
    assert repr(pq.read_table(stripped).to_pylist()) == repr(rows.to_pylist())


def _other(rows: pa.Table, path: Path, **options: Any) -> Path:
    pq.write_table(rows, path, **{"row_group_size": GROUP_ROWS, **options})
    return path


@pytest.mark.parametrize(
    ("onto", "options", "sentence"),
    [
        (table().drop_columns("b"), {}, "differ in their columns"),
        (table().rename_columns(["rid", "x", *table().column_names[2:]]), {}, "differ in their columns"),
        (table(), {"row_group_size": GROUP_ROWS + 1}, "differ in the rows of their row groups"),
        (table().slice(1), {}, "differ in the rows of their row groups"),
        (table(), {}, "the pages of rid begin at other rows"),
        (table(), {"write_page_index": True}, "the pages of rid begin at other rows"),
    ],
)
def test_statistics_of_other_rows_are_not_grafted(
    original: Path, tmp_path: Path, onto: pa.Table, options: dict[str, Any], sentence: str
) -> None:
    other = _other(onto, tmp_path / "other.parquet", **options)
    with pytest.raises(ValueError, match=sentence):
        counterfactual_files.write_grafted(other, original, tmp_path / "grafted.parquet")
    assert not (tmp_path / "grafted.parquet").exists()


def test_a_graft_replaces_what_the_file_said_itself(tmp_path: Path) -> None:
    without = _other(table(), tmp_path / "without.parquet", write_statistics=False)
    other = _other(table(), tmp_path / "other.parquet", write_page_index=True)
    assert counterfactual_files.write_grafted(other, without, tmp_path / "bare.parquet")
    assert not any(chunk["is_stats_set"] for chunk in facts(tmp_path / "bare.parquet"))
    chunks = chain.from_iterable(footers.chunks_of(footers.read_footer(tmp_path / "bare.parquet")[1]))
    assert not any(footers.InChunk.COLUMN_INDEX in chunk for chunk in chunks)
    counterfactual_files.write_grafted(
        without,
        counterfactual_files.write_stripped(other, tmp_path / "bare.parquet"),
        tmp_path / "grafted.parquet",
    )
    assert pq.read_table(tmp_path / "grafted.parquet").equals(table())


def test_no_counterfactual_file_takes_the_place_of_its_source(original: Path, tmp_path: Path) -> None:
    before = original.read_bytes()
    for make in (
        lambda: counterfactual_files.write_stripped(original, original),
        lambda: counterfactual_files.write_trapped(
            original, 0, tmp_path / ".." / tmp_path.name / original.name
        ),
        lambda: counterfactual_files.write_grafted(original, original, original),
        lambda: write_canary(original, original, ROW, schema=table().schema),
    ):
        with pytest.raises(ValueError, match="would take its place"):
            make()
    assert original.read_bytes() == before


def test_a_trap_that_could_not_spring_is_refused(original: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.parquet"
    with pq.ParquetWriter(empty, pa.schema([])) as writer:
        writer.write_table(pa.table({}))
    for path, row_group, sentence in (
        (original, GROUPS, "has no row group 5; it has 5"),
        (original, -1, "has no row group -1; it has 5"),
        (empty, 0, "that could be a trap"),
    ):
        with pytest.raises(ValueError, match=sentence):
            counterfactual_files.write_trapped(path, row_group, tmp_path / "trapped.parquet")


def test_a_trap_leaves_the_bytes_of_other_columns_alone(original: Path, tmp_path: Path) -> None:
    body, footer = footers.read_footer(original)
    chunks = footers.chunks_of(footer)
    first, other = (footers.meta_of(group[0]) for group in chunks[:2])
    other[footers.InMeta.DATA_PAGE] = first[footers.InMeta.DATA_PAGE]
    other.pop(footers.InMeta.DICTIONARY_PAGE)
    path = tmp_path / "shared.parquet"
    path.write_bytes(footers.join_file(body, footer))
    with pytest.raises(ValueError, match="bytes overlap"):
        counterfactual_files.write_trapped(path, 0, tmp_path / "trapped.parquet")


def test_what_tells_how_statistics_are_read_comes_with_them(original: Path, tmp_path: Path) -> None:
    body, footer = footers.read_footer(original)
    footer[footers.InFile.CREATED_BY] = (footers.BINARY, b"another writer")
    del footer[footers.InFile.COLUMN_ORDERS]
    for group in footers.struct_list(footer, footers.InFile.ROW_GROUPS):
        del group[footers.InGroup.SORTING]
    other = tmp_path / "other.parquet"
    other.write_bytes(footers.join_file(body, footer))
    grafted = counterfactual_files.write_grafted(original, other, tmp_path / "grafted.parquet")
    metadata = pq.read_metadata(grafted)
    assert metadata.created_by == "another writer"
    assert metadata.row_group(0).sorting_columns == ()
    assert footers.InFile.COLUMN_ORDERS not in footers.read_footer(grafted)[1]
    assert pq.read_table(grafted).equals(table())


@pytest.mark.parametrize("kinds", [("bounds",), ("null_count",), ("bounds", "null_count")])
def test_a_forgetful_file_lacks_what_it_is_told_and_nothing_else(tmp_path, kinds):
    source, forgetful = tmp_path / "source.parquet", tmp_path / "forgetful.parquet"
    pq.write_table(pa.table({"a": [1, None, 3], "b": ["x", "y", None]}), source)
    counterfactual_files.write_forgetful(source, forgetful, kinds)
    assert pq.read_table(forgetful).equals(pq.read_table(source))
    for column in range(2):
        statistics = pq.ParquetFile(forgetful).metadata.row_group(0).column(column).statistics
        assert statistics.has_min_max == ("bounds" not in kinds)
        assert statistics.has_null_count == ("null_count" not in kinds)


def test_only_the_row_groups_that_are_named_become_forgetful(tmp_path):
    source, forgetful = tmp_path / "source.parquet", tmp_path / "forgetful.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), source, row_group_size=1)
    counterfactual_files.write_forgetful(source, forgetful, ["bounds"], row_groups=[1])
    groups = [pq.read_metadata(forgetful).row_group(ordinal) for ordinal in range(3)]
    assert [group.column(0).statistics.has_min_max for group in groups] == [True, False, True]


def test_without_column_indexes_pages_keep_their_places_and_chunks_their_bounds(tmp_path):
    source, forgetful = tmp_path / "source.parquet", tmp_path / "forgetful.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), source, write_page_index=True)
    counterfactual_files.write_forgetful(source, forgetful, ["column_index"])
    column = pq.read_metadata(forgetful).row_group(0).column(0)
    assert (column.has_column_index, column.has_offset_index) == (False, True)
    assert column.statistics.has_min_max


def test_an_unknown_kind_of_statistics_is_refused(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "source.parquet")
    with pytest.raises(ValueError, match="no statistics are called bloom; there are bounds, null_count"):
        counterfactual_files.write_forgetful(
            tmp_path / "source.parquet", tmp_path / "forgetful.parquet", ["bloom"]
        )
