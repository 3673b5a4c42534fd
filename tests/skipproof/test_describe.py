"""`skipproof describe`: what is known of a lake, what is not and why, how blocks overlap, what is false."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from needs import CORPUS, needs_corpus

from pruning.errors import InputError
from pruning.metadata.views.clustering import clustering
from skipproof.commands import describing
from skipproof.commands.describing import describe


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two files of two row groups: `a` in order, `s` the same everywhere, `u` without an order of its own."""
    for number in range(2):
        start = number * 20
        rows = {
            "a": list(range(start, start + 20)),
            "s": ["x", None] * 10,
            "u": pa.array(range(20), pa.uint64()),
            "t": pa.array(range(20), pa.time64("us")),
            "p": [{"q": start}] * 20,
        }
        pq.write_table(pa.table(rows), tmp_path / f"{number}.parquet", row_group_size=10)
    return tmp_path


def test_what_is_known_is_counted_by_row_groups(lake: Path) -> None:
    """Bounds, NULL counts and depth of each column, nested ones too."""
    found = describe(str(lake))
    known = {column.name: (column.bounded, column.null_counted) for column in found.columns}
    assert (found.files, found.blocks, found.rows) == (2, 4, 40)
    assert known == {"a": (4, 4), "s": (4, 4), "u": (0, 4), "`p`.`q`": (4, 4)}
    depths = {column.name: column.clustering.depth for column in found.columns if column.clustering}
    assert depths == {"a": 1.0, "s": 4.0, "`p`.`q`": 2.0}
    assert found.left_out == ("t",)
    assert found.footer_bytes == sum(
        int.from_bytes(file.read_bytes()[-8:-4], "little") for file in lake.glob("*.parquet")
    )


def test_a_doubt_is_reported_where_it_took_something_away(lake: Path) -> None:
    """By name, with its reason and the number of row groups; not where there was nothing to take."""
    doubted = {column.name: column.doubted for column in describe(str(lake)).columns}
    (only,) = doubted["u"]
    assert (only.doubt, only.blocks) == ("no usable order", 4)
    assert "order" in only.reason
    assert doubted["a"] == doubted["s"] == ()
    pq.write_table(pa.table({"u": pa.array([1], pa.uint64())}), lake / "3.parquet", write_statistics=False)
    again = {column.name: column.doubted for column in describe(str(lake)).columns}
    assert again["u"][0].blocks == 4


BLOCKS = st.lists(
    st.tuples(st.integers(-5, 5), st.integers(0, 5)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    min_size=1,
)


@given(blocks=BLOCKS, unknown=st.integers(0, 2))
def test_the_depth_is_the_mean_over_all_bounds(blocks: list[tuple[int, int]], unknown: int) -> None:
    """Counted one by one; blocks with one bound, or none, count for nothing."""
    lower = pa.array([low for low, _ in blocks] + [None, 0][:unknown], pa.int64())
    upper = pa.array([high for _, high in blocks] + [9, None][:unknown], pa.int64())
    found = clustering(lower, upper)
    points = [bound for block in blocks for bound in block]
    held = [sum(low <= point <= high for low, high in blocks) for point in points]
    assert found is not None
    assert found.depth == pytest.approx(sum(held) / len(held))
    assert max(found.picture) <= max(held)
    assert found.picture[0] == held[points.index(min(points))]


@pytest.mark.parametrize(
    "bounds",
    [
        pa.array([True, False]),
        pa.array(["a", "b"]),
        pa.array([b"\xff", b""]),
        pa.array([1.5, -0.0]),
        pa.array([1, 2], pa.decimal128(38, 2)),
        pa.array([1, 2], pa.timestamp("us", tz="UTC")),
        pa.array([1, 2], pa.date32()),
        pa.array([1, 2], pa.int8()),
    ],
    ids=lambda bounds: str(bounds.type),
)
def test_bounds_of_any_type_have_a_depth(bounds: pa.Array) -> None:
    found = clustering(bounds, bounds)
    assert found is not None
    assert (found.depth, found.picture) == (1.0, (1, 1))


def test_without_bounds_there_is_no_depth() -> None:
    nothing = pa.nulls(3, pa.int64())
    assert clustering(nothing, nothing) is None


def test_a_description_is_text_or_json(run: Any, lake: Path) -> None:
    status, out, err = run("describe", str(lake))
    assert (status, err) == (0, "")
    for said in ("40 rows in 4 row groups", "`p`.`q`", "no usable order", "█", "Left out: t"):
        assert said in out
    status, out, _ = run("describe", str(lake), "--json")
    found = json.loads(out)
    assert status == 0
    assert found["checked"] is None
    assert found["columns"][0]["clustering"]["depth"] == 1.0


def test_a_table_of_another_format_is_named(run: Any, lake: Path) -> None:
    """Its removed files are among those described."""
    (lake / "_delta_log").mkdir()
    status, out, _ = run("describe", str(lake))
    assert status == 0
    assert f"{lake}: is a Delta Lake table (it has _delta_log)" in out
    notes = json.loads(run("describe", str(lake), "--json")[1])["notes"]
    assert [note.partition(": is ")[0] for note in notes] == [str(lake)]


def test_true_files_are_verified(run: Any, lake: Path) -> None:
    status, out, _ = run("describe", str(lake), "--verify")
    assert status == 0
    assert "none is false" in out
    status, out, _ = run("describe", str(lake), "--verify", "--json")
    found = json.loads(out)
    assert (status, found["lies"]) == (0, 0)
    assert sum(one["claims"] for one in found["checked"]) > 40


@needs_corpus
def test_a_file_that_lies_is_a_violation(run: Any) -> None:
    """Statistics that no reader can tell from true ones: the writer shifted them by its time zone."""
    lying = str(CORPUS / "duckdb__corrupt_stats.parquet")
    assert run("describe", lying)[0] == 0
    status, out, _ = run("describe", lying, "--verify")
    assert status == 1
    assert "FALSE: 2 of" in out
    assert "2021-01-01 12:00:00" in out
    status, out, _ = run("describe", lying, "--verify", "--json")
    lies = json.loads(out)["checked"][0]["lies"]
    assert status == 1
    assert {(lie["column"], lie["claim"], lie["row_group"]) for lie in lies} == {
        ("A", "maximum", 0),
        ("B", "maximum", 0),
    }


def test_a_file_that_cannot_be_read_is_one_sentence_and_status_2(run: Any, lake: Path) -> None:
    """The other files are described; where there is no other, nothing is."""
    bad = lake / "bad.parquet"
    bad.write_text("no")
    status, out, _ = run("describe", str(lake))
    assert status == 2
    assert f"{bad}: is not a complete Parquet file" in out
    assert "40 rows" in out
    for path in (str(bad), str(lake / "nowhere")):
        status, out, err = run("describe", path)
        assert (status, out) == (2, "")
        assert len(err.strip().splitlines()) == 1
    with pytest.raises(InputError):
        describe(str(bad))


def test_a_file_whose_data_cannot_be_read_is_one_sentence_and_status_2(
    run: Any, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash of the process that reads the data does not end this process."""
    sentence = f"{lake}/0.parquet: kills the process that reads it (SIGABRT); leave it out"
    checked = describing.FileCheck(file=f"{lake}/0.parquet", problems=(sentence,))
    monkeypatch.setattr(describing, "verify", lambda files: iter([checked]))
    status, out, _ = run("describe", str(lake), "--verify")
    assert status == 2
    assert sentence in out


def test_files_without_rows_are_described(run: Any, tmp_path: Path) -> None:
    """No row group to speak of is not "all"."""
    pq.write_table(pa.table({"a": pa.array([], pa.int32())}), tmp_path / "empty.parquet")
    status, out, _ = run("describe", str(tmp_path), "--verify")
    assert status == 0
    assert "0 rows in 0 row groups" in out
