"""Measured statistics beside those of footers: which of them counts, and what Parquet's reader has."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rewriting import BYTE, I32, STRUCT, element, rewrite, statistics

from mutants.metadata.measuring import NARROW_BELIEVED
from pruning.expressions import types
from pruning.metadata.backfill.measured_files import measure_files
from pruning.metadata.backfill.measuring import BOUND_BYTES_MAX, shortened_bounds
from pruning.metadata.store.collecting import collect
from pruning.metadata.table import measured
from pruning.metadata.table.comparable import comparable_columns
from pruning.metadata.table.measured import DISTINCT, STATED, attach_measured
from pruning.spark.drive.unread import PushedRange, unread_blocks

NULL_COUNT = 3
TEXT_MAX = BOUND_BYTES_MAX + 8
LONG_TEXTS = st.text(
    st.sampled_from("aö\ud7ff\ue000\U00010000\U0010ffff"), min_size=BOUND_BYTES_MAX // 4, max_size=TEXT_MAX
)


def write(path: Path, column: Any, **options: Any) -> Path:
    pq.write_table(pa.table({"x": column}), path, **options)
    return path


def without_bounds(footer: dict[int, Any]) -> None:
    """Leave the NULL count as the only statistic of a file with one chunk."""
    stated = statistics(footer, column=0)
    for number in set(stated) - {NULL_COUNT}:
        del stated[number]


def overlaid(path: Path) -> pa.Table:
    """The block metadata of a file with what is measured of it."""
    outcome = measure_files([str(path)], columns=None)
    assert not outcome.failures
    return attach_measured(collect(path, cache=False), outcome.shards)


def facts(path: Path) -> dict[str, Any]:
    (columns,) = overlaid(path)["columns"].to_pylist()
    return dict(columns["x"])


@given(LONG_TEXTS, LONG_TEXTS)
@example("\U0010ffff" * TEXT_MAX, "a")
@example("a" * 255 + "\ud7ff", "a")
def test_shortened_bounds_are_bounds_and_texts(text: str, other: str) -> None:
    """Lower at most, upper at least; and texts, of which at most the last character grows."""
    lower, upper = sorted((text.encode(), other.encode()))
    least, greatest = shortened_bounds(lower, upper, is_text=True)
    assert least <= lower
    assert len(least) <= BOUND_BYTES_MAX
    assert least.decode() is not None
    if greatest is None:
        assert upper.startswith("\U0010ffff".encode() * (BOUND_BYTES_MAX // 4))
        return
    assert upper <= greatest
    assert len(greatest.decode().encode()) <= BOUND_BYTES_MAX + 1
    assert (greatest == upper) == (len(upper) <= BOUND_BYTES_MAX)
    least, end = shortened_bounds(lower, upper, is_text=False)
    assert least <= lower
    assert end is not None
    assert upper <= end


def test_a_believed_bound_is_kept_where_the_measured_one_was_shortened(tmp_path: Path) -> None:
    """The footer's is no wider; the counts are measured all the same."""
    texts = ["a" * 300, "b" * 300, None]
    statistics = facts(write(tmp_path / "stated.parquet", texts))
    assert (statistics["min"], statistics["max"], statistics["max_exact"]) == ("a" * 300, "b" * 300, True)
    assert (statistics[DISTINCT], statistics["null_count"]) == (2, 1)
    statistics = facts(write(tmp_path / "bare.parquet", texts, write_statistics=False))
    assert (statistics["min"], statistics["min_exact"]) == ("a" * 256, False)
    assert (statistics["max"], statistics["max_exact"]) == ("b" * 255 + "c", False)


def test_a_block_without_values_has_counts_and_no_bounds(tmp_path: Path) -> None:
    """Of NULL and NaN alone; and a block without rows."""
    statistics = facts(write(tmp_path / "x.parquet", [float("nan"), None], write_statistics=False))
    assert [statistics[part] for part in ("null_count", "nan_count", DISTINCT, "min", "max")] == [
        1,
        1,
        0,
        None,
        None,
    ]
    empty = facts(write(tmp_path / "none.parquet", pa.array([], pa.int64())))
    assert [empty[part] for part in ("null_count", DISTINCT, "min")] == [0, 0, None]


def test_numbers_that_may_exceed_their_type_stay_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that calls wide numbers narrow, without bounds: Arrow wraps them. A mutant believes them."""

    def call_narrow(footer: dict[int, Any]) -> None:
        field = element(footer, column=0)
        field[6] = (I32, 15)
        field[10] = (STRUCT, {10: (STRUCT, {1: (BYTE, 8), 2: (1, True)})})

    path = rewrite(
        write(tmp_path / "x.parquet", pa.array([300, 1], pa.int32()), write_statistics=False), call_narrow
    )
    assert facts(path)["min"] is None
    assert DISTINCT not in facts(path) or facts(path)[DISTINCT] is None
    monkeypatch.setattr(*NARROW_BELIEVED)
    assert facts(path)[DISTINCT] == 2


def test_the_reader_has_what_footers_state_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block is sure to be left out by it only then. A mutant takes measured bounds for its own."""
    below = [PushedRange(column="x", type=types.LONG, upper=0)]

    def unread(path: Path) -> list[bool]:
        return list(unread_blocks(below, overlaid(path), {"x": types.LONG}))

    stated = write(tmp_path / "stated.parquet", [1, 2, None])
    bare = write(tmp_path / "bare.parquet", [1, 2, None], write_statistics=False)
    assert (unread(stated), unread(bare)) == ([True], [False])
    assert comparable_columns(overlaid(stated)) == {"x"}
    assert (facts(stated)[STATED], facts(bare)[STATED]) == (True, False)
    bare_null = write(tmp_path / "null.parquet", pa.array([None], pa.int64()), write_statistics=False)
    assert facts(bare_null)[STATED] is False
    assert facts(write(tmp_path / "null2.parquet", pa.array([None], pa.int64())))[STATED] is True
    counted = rewrite(write(tmp_path / "counted.parquet", [1, 2, None]), without_bounds)
    assert unread(counted) == [False]
    monkeypatch.setattr(measured, "_has_same_statistics", lambda footer, lanes: True)
    assert unread(counted) == [True]
