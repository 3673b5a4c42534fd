"""`pruning.blocks` shows what is believed of each column in each row group, and why the rest is not."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.errors import InputError
from pruning.metadata.footers.trust import DOUBTS
from pruning.metadata.store.system_table import SCHEMA, SCHEMA_VERSION


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two files, the first of two row groups, with a column of bytes that the second lacks."""
    pq.write_table(
        pa.table({"x": [1, None, 5], "b": [b"\0", b"\xff", b""]}), tmp_path / "a.parquet", row_group_size=2
    )
    pq.write_table(pa.table({"x": [7]}), tmp_path / "b.parquet")
    return tmp_path


def test_a_row_for_each_row_group_and_column(lake: Path) -> None:
    """In the order of files, row groups and columns; bytes are in hexadecimal digits."""
    table = pruning.blocks(lake)
    assert table.schema.equals(SCHEMA, check_metadata=True)
    assert table.schema.metadata[b"skipproof.blocks"] == str(SCHEMA_VERSION).encode()
    rows = [
        (
            Path(row["file"]).name,
            row["row_group"],
            row["row_count"],
            row["column"],
            row["type"],
            row["min"],
            row["max"],
        )
        for row in table.to_pylist()
    ]
    assert rows == [
        ("a.parquet", 0, 2, "x", "bigint", "1", "1"),
        ("a.parquet", 0, 2, "b", "binary", "00", "ff"),
        ("a.parquet", 1, 1, "x", "bigint", "5", "5"),
        ("a.parquet", 1, 1, "b", "binary", "", ""),
        ("b.parquet", 0, 1, "x", "bigint", "7", "7"),
        ("b.parquet", 0, 1, "b", "binary", None, None),
    ]
    assert table["null_count"].to_pylist() == [1, 0, 0, 0, 0, None]
    assert len(set(table["first_seen"].to_pylist())) == 1


def test_columns_can_be_chosen(lake: Path) -> None:
    """One that is in no file is refused, with those that are."""
    assert pruning.blocks(lake, columns=["b"])["column"].to_pylist() == ["b"] * 3
    assert pruning.blocks(lake, columns=[]).num_rows == 0
    with pytest.raises(InputError, match="'y' is in no file, or has no bounds; the columns are x, b"):
        pruning.blocks(lake, columns=["y"])


def test_it_opens_no_file_that_is_kept(lake: Path, reads: list[str]) -> None:
    """Reasons not to believe come from the footers in the store."""
    first = pruning.blocks(lake)
    reads.clear()
    assert pruning.blocks(lake).equals(first)
    assert reads == []


def test_a_file_that_is_not_kept_was_never_seen(lake: Path) -> None:
    (lake / ".skipproof").touch()
    assert pruning.blocks(lake)["first_seen"].null_count == 6


@pytest.mark.parametrize("is_kept", [True, False])
def test_reasons_are_those_of_the_doubts(tmp_path: Path, is_kept: bool) -> None:
    """Of the elements of an array, the NULL count is not believed; a file may be named twice."""
    file, empty = tmp_path / "a.parquet", tmp_path / "b.parquet"
    lists = pa.table({"a": pa.array([[1, None], [2]], pa.list_(pa.int64())), "x": [1, 2]})
    pq.write_table(lists, file, row_group_size=1)
    pq.write_table(lists.slice(0, 0), empty)
    if not is_kept:
        (tmp_path / ".skipproof").touch()
    (doubt,) = (doubt for doubt in DOUBTS if doubt.name == "NULLs of elements")
    rows = [row for row in pruning.blocks([file, empty, file]).to_pylist() if row["row_count"]]
    assert [(row["column"], row["not_believed"]) for row in rows] == [
        ("x", []) if place % 2 else ("`a`[]", [f"{doubt.name}: {doubt.reason}"]) for place in range(8)
    ]
    assert [row["null_count"] for row in rows] == [None, 0] * 4
