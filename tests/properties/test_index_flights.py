"""Real data, indexed: no flight is lost, and rare values skip most blocks."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.expressions.trees import Column, Compare, Comparison, Literal
from pruning.expressions.types import INTEGER, STRING, Type, Value
from pruning.metadata.table.memberships import FIELD
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks
from skipproof.commands.flights import BLOCK_ROWS, FILE_ROWS, Layout, flights, write_lake

# Column, value, and the share of the blocks to be skipped at least, as the flights were shipped.
BARS = (("carrier", b"OO", 0.80), ("dest", b"LEX", 0.95))
COLUMNS: dict[str, Type] = {
    "carrier": STRING,
    "dest": STRING,
    "tailnum": STRING,
    "flight": INTEGER,
    "distance": INTEGER,
}
NDV = {"carrier": 16, "dest": 105, "tailnum": 1_500, "flight": 1_200, "distance": 200}
Blocks = list[dict[str, Counter[Value | None]]]


# Indexing the flights takes seconds.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The flights as shipped, without filters and with those that Parquet has."""
    root = tmp_path_factory.mktemp("flights")
    rows = flights()
    filtered = root / "filtered"
    filtered.mkdir()
    options = {name: {"ndv": ndv, "fpp": 0.01} for name, ndv in NDV.items()}
    for number, start in enumerate(range(0, rows.num_rows, FILE_ROWS)):
        pq.write_table(
            rows.slice(start, FILE_ROWS),
            filtered / f"part-{number:03}.parquet",
            row_group_size=BLOCK_ROWS,
            bloom_filter_options=options,
        )
    return {"data": write_lake(rows, root, Layout.SHIPPED), "filters": filtered}


@pytest.fixture(scope="module")
def indexed(lakes: dict[str, Path]) -> dict[str, pa.Table]:
    """Block metadata with what data tells, with the files' own filters, and with a small bound."""
    pruning.index(lakes["data"], list(COLUMNS))
    pruning.index(lakes["filters"], list(COLUMNS), read_data=False, bytes_per_block=4_096)
    found = {name: pruning.collect(lake) for name, lake in lakes.items()}
    small = lakes["data"].with_name("small")
    shutil.copytree(lakes["data"], small, ignore=shutil.ignore_patterns(".*"))
    pruning.index(small, list(COLUMNS), bytes_per_block=256)
    return {**found, "small": pruning.collect(small)}


@pytest.fixture(scope="module")
def truth(lakes: dict[str, Path]) -> Blocks:
    """How often each block holds each value, counted row by row."""
    blocks = []
    for file in sorted(lakes["data"].glob("*.parquet")):
        reader = pq.ParquetFile(file)
        for group in range(reader.num_row_groups):
            rows = reader.read_row_group(group, list(COLUMNS))
            blocks.append({name: Counter(map(_plain, rows[name].to_pylist())) for name in COLUMNS})
    return blocks


def _plain(value: Any) -> Value | None:
    return value.encode() if isinstance(value, str) else value


def verdicts(metadata: pa.Table, name: str, value: Value) -> list[int]:
    predicate = Compare(Comparison.EQUAL, Column(name, COLUMNS[name]), Literal(value, COLUMNS[name]))
    return list(classify_blocks(predicate, metadata).to_pylist())


@pytest.mark.parametrize("source", ["data", "filters", "small"])
def test_no_block_that_holds_a_value_is_skipped(
    source: str, indexed: dict[str, pa.Table], truth: Blocks
) -> None:
    """For every fortieth value of each column and each block; ALL only where all rows are it."""
    for name in COLUMNS:
        everything = sorted(set().union(*(block[name] for block in truth)) - {None})
        for value in [*everything[::40], everything[-1]]:
            for block, verdict in zip(truth, verdicts(indexed[source], name, value), strict=True):
                assert verdict != Match.NONE or value not in block[name]
                assert verdict != Match.ALL or block[name][value] == block[name].total()


@pytest.mark.parametrize("source", ["data", "filters"])
@pytest.mark.parametrize(("name", "value", "bar"), BARS)
def test_rare_values_skip_most_blocks(
    source: str, name: str, value: Value, bar: float, indexed: dict[str, pa.Table], truth: Blocks
) -> None:
    """Bounds alone skip none; dictionaries skip every block without a match."""
    metadata = indexed[source]
    skipped = verdicts(metadata, name, value).count(Match.NONE) / len(metadata)
    without_match = sum(value not in block[name] for block in truth) / len(truth)
    assert verdicts(metadata.drop_columns([FIELD]), name, value).count(Match.NONE) == 0
    assert bar <= skipped <= without_match
    if source == "data":
        assert skipped == without_match


def test_the_bound_is_kept_and_every_source_is_reached(lakes: dict[str, Path]) -> None:
    """Without this, the shares above might be bought with any number of bytes."""
    for bytes_per_block in (128, 256, 512, 1_024):
        report = pruning.index(lakes["data"], list(COLUMNS), bytes_per_block=bytes_per_block)
        assert all(column.bytes_per_block <= bytes_per_block for column in report.columns)
    parts = {column.name: (column.dictionary, column.filter) for column in report.columns}
    assert parts["carrier"] == parts["dest"] == (169, 0)
    assert parts["tailnum"] == parts["flight"] == (0, 169)


def test_absent_values_skip_nearly_everything(indexed: dict[str, pa.Table]) -> None:
    """Values inside of the bounds that no flight has: filters are wrong about few blocks."""
    for name, value in (("carrier", b"PQ"), ("dest", b"LEY"), ("tailnum", b"N3QQAA"), ("flight", 5_001)):
        for source in ("data", "filters"):
            assert verdicts(indexed[source], name, value).count(Match.NONE) >= 0.9 * len(indexed[source])
