"""Coverings of files stay with the blocks that they were made of."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from needs import needs_s2

import pruning
from pruning.errors import InputError
from pruning.expressions.trees import And, Column, Compare, Comparison, Literal
from pruning.expressions.types import DOUBLE
from pruning.metadata.table import coverings
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.coverings import LISTS, NO_POINTS, coverings_of, with_coverings
from pruning.metadata.table.points import attach, file_coverings, without_column
from pruning.rules.sets.regions import CoordinatePair
from pruning.verdicts.classification import classify_blocks

PAIR, OTHER = CoordinatePair("lat", "lon"), CoordinatePair("x", "y")
PARIS, YORK, SYDNEY = (48.85, 2.35), (40.7, -74.0), (-33.9, 151.2)


def write(file: Path, blocks: list[list[tuple[float | None, float | None]]]) -> str:
    """A file with a row group for each block, of points and other columns."""
    rows = [row for block in blocks for row in block]
    table = pa.table(
        {
            "id": list(range(len(rows))),
            "lat": pa.array([latitude for latitude, _ in rows], pa.float64()),
            "lon": pa.array([longitude for _, longitude in rows], pa.float64()),
            "x": pa.array([0.0] * len(rows), pa.float32()),
            "y": [0.0] * len(rows),
        }
    )
    pq.write_table(table, file, row_group_size=len(blocks[0]))
    return str(file)


def shard(metadata: pa.Table, lists: dict[CoordinatePair, pa.ListArray]) -> Shard:
    files = tuple(dict.fromkeys(metadata["file"].to_pylist()))
    return Shard(files, with_coverings(metadata.select(["file", "row_group", "row_count"]), lists))


@needs_s2
def test_a_file_has_a_covering_for_each_row_group(tmp_path: Path) -> None:
    """Null where the columns are no pair of doubles, and where one is not there."""
    file = write(tmp_path / "a.parquet", [[PARIS, PARIS], [YORK, (None, 1.0)], [SYDNEY, (99.0, 0.0)]])
    missing, strange = CoordinatePair("lat", "longitude"), CoordinatePair("id", "lon")
    found = file_coverings(file, [PAIR, OTHER, missing, strange], cells_max=8)
    paris, york, others = found[PAIR].to_pylist()
    assert (len(paris), len(york), len(others)) == (1, 1, 2)
    assert paris != york
    assert others[-1] == NO_POINTS
    assert [found[pair].to_pylist() for pair in (OTHER, missing, strange)] == [[None] * 3] * 3


def test_coverings_are_found_by_file_row_group_and_row_count(tmp_path: Path) -> None:
    """In the metadata's order; of other blocks nothing is known."""
    files = [write(tmp_path / f"{name}.parquet", [[PARIS], [YORK]]) for name in "ab"]
    metadata = pruning.collect(files, cache=False)
    kept = shard(metadata, {PAIR: pa.array([[1], [3], [5], None], LISTS)})
    assert coverings_of(attach(metadata, [kept]))[PAIR].to_pylist() == [[1], [3], [5], None]
    mixed = metadata.take(pa.array([3, 0, 0, 2]))
    assert coverings_of(attach(mixed, [kept]))[PAIR].to_pylist() == [None, [1], [1], [5]]
    longer = metadata.set_column(
        metadata.schema.get_field_index("row_count"),
        metadata.schema.field("row_count"),
        pa.array([2, 1, 1, 1], pa.int64()),
    )
    assert coverings_of(attach(longer, [kept]))[PAIR].to_pylist() == [None, [3], [5], None]
    assert attach(metadata, []) is metadata
    halves = [shard(metadata.slice(2), {OTHER: pa.array([[7], [9]], LISTS)}), shard(metadata.slice(0, 2), {})]
    assert coverings_of(attach(metadata, halves)).keys() == {OTHER}
    assert coverings_of(attach(metadata, halves))[OTHER].to_pylist() == [None, None, [7], [9]]


def test_a_column_that_takes_anothers_name_has_no_covering() -> None:
    """Nor has the pair that it is in."""
    lists = pa.array([[1]], LISTS)
    metadata = with_coverings(pa.table({"row_count": [1]}), {PAIR: lists, OTHER: lists})
    assert coverings_of(without_column(metadata, "lon")) == {OTHER: lists}
    assert coverings_of(without_column(metadata, "lat")) == {OTHER: lists}
    assert without_column(metadata, "id") is metadata


@needs_s2
def test_blocks_far_from_what_is_asked_for_are_not_read(tmp_path: Path) -> None:
    """Where bounds leave them: between two far points lies everything."""
    around = [YORK, (60.0, 150.0)]
    blocks = [[row, *around] for row in (PARIS, YORK, (None, 2.5), (48.5, 400.0))]
    file = write(tmp_path / "a.parquet", blocks)
    metadata = pruning.collect(file, cache=False)
    lists = file_coverings(file, [PAIR])
    covered = attach(metadata, [shard(metadata, lists)])
    near_paris = between("lat", 48.0, 49.0) + between("lon", 2.0, 3.0)
    assert classify_blocks(And(near_paris), metadata).to_pylist() == [1, 1, 1, 1]
    assert classify_blocks(And(near_paris), covered).to_pylist() == [1, 0, 0, 0]
    unbounded = near_paris[:-1]  # A longitude of 400 is no point, and satisfies this.
    assert classify_blocks(And(unbounded), covered).to_pylist() == [1, 0, 0, 1]


@needs_s2
def test_an_index_of_points_is_used_until_a_file_changes(tmp_path: Path) -> None:
    """Through `pruning.index` and `collect`, whatever else is indexed."""
    around = [YORK, (60.0, 150.0)]
    blocks = [[row, *around] for row in (PARIS, YORK)]
    write(tmp_path / "a.parquet", blocks)
    near_paris = And(between("lat", 48.0, 49.0) + between("lon", 2.0, 3.0))
    assert classify_blocks(near_paris, pruning.collect(tmp_path)).to_pylist() == [1, 1]
    report = pruning.index(tmp_path, ["id"], points=[("lat", "lon")])
    assert [(point.names, point.blocks) for point in report.points] == [(("lat", "lon"), 2)]
    assert classify_blocks(near_paris, pruning.collect(tmp_path)).to_pylist() == [1, 0]
    write(tmp_path / "a.parquet", [*blocks[::-1], *blocks])
    assert classify_blocks(near_paris, pruning.collect(tmp_path)).to_pylist() == [1, 1, 1, 1]
    with pytest.raises(InputError, match=r"^No file has 'id' and 'lon' as two columns of doubles$"):
        pruning.index(tmp_path, points=[("id", "lon")])


def test_points_cannot_be_indexed_without_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence that says what to install."""
    monkeypatch.setattr(coverings, "find_spec", lambda name: None)
    write(tmp_path / "a.parquet", [[PARIS]])
    with pytest.raises(InputError, match=r"pip install 'skipproof\[geo\]'"):
        pruning.index(tmp_path, points=[("lat", "lon")])


def between(name: str, low: float, high: float) -> tuple[Compare, Compare]:
    column = Column(name, DOUBLE)
    return (
        Compare(Comparison.AT_LEAST, column, Literal(low, DOUBLE)),
        Compare(Comparison.AT_MOST, column, Literal(high, DOUBLE)),
    )
