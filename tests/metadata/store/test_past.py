"""`as_of` gives a table as it was at a look, or says why it cannot."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.errors import InputError
from pruning.metadata.store.collecting import read_blocks
from pruning.metadata.store.past import complete_looks, microseconds


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A directory that was collected when it had one file, then two, then three."""
    root = tmp_path / "t"
    root.mkdir()
    for number in range(3):
        write(root / f"{number}.parquet", number)
        pruning.collect(root)
    return root


def write(path: Path, value: int) -> None:
    """Write a file of one row."""
    pq.write_table(pa.table({"x": [value]}), path)


def minima(blocks: pa.Table) -> list[int]:
    """Return the minimum of each block."""
    return [row["x"]["min"] for row in blocks["columns"].to_pylist()]


def test_each_look_can_be_asked_for(table: Path, reads: list[str]) -> None:
    """At its time, later, and as a time, its text or seconds; no footer is read."""
    looks = complete_looks(table)
    assert [(look.files, look.added, look.removed) for look in looks] == [(1, 1, 0), (2, 1, 0), (3, 1, 0)]
    reads.clear()
    for number, look in enumerate(looks):
        for time in (look.time, look.time.isoformat(), look.time.timestamp() + 1e-6):
            assert minima(pruning.collect(table, as_of=time)) == list(range(number + 1))
        assert set(pruning.blocks(table, as_of=look.time)["file"].to_pylist()) == {
            f"{table}/{file}.parquet" for file in range(number + 1)
        }
    assert reads == []


def test_between_looks_the_one_before_answers(table: Path) -> None:
    """A file that only a query of it has found since is in no answer until the table is collected."""
    looks = complete_looks(table)
    write(table / "3.parquet", 3)
    read_blocks([str(table / "3.parquet")])
    now = datetime.now(UTC)
    assert minima(pruning.collect(table, as_of=now)) == [0, 1, 2]
    assert minima(pruning.collect(table)) == [0, 1, 2, 3]
    assert minima(pruning.collect(table, as_of=now)) == [0, 1, 2]
    assert minima(pruning.collect(table, as_of=looks[-1].time)) == [0, 1, 2]


@pytest.mark.parametrize("is_noticed", [True, False])
@pytest.mark.parametrize("change", ["removed", "written again"])
def test_a_file_that_is_gone_is_named(table: Path, change: str, is_noticed: bool) -> None:
    """There is no partial answer; the first time that can be told is said."""
    looks = complete_looks(table)
    if change == "removed":
        (table / "1.parquet").unlink()
    else:
        write(table / "1.parquet", 9)
    if is_noticed:
        pruning.collect(table)
    with pytest.raises(
        InputError, match=r"1\.parquet: was in the table at .*removed or written again"
    ) as error:
        pruning.collect(table, as_of=looks[1].time)
    assert looks[0].time.isoformat(sep=" ") in str(error.value)
    assert minima(pruning.collect(table, as_of=looks[0].time)) == [0]


def test_what_the_store_has_not_seen_is_not_told(table: Path, tmp_path: Path) -> None:
    """Before the first look; and of what has no history."""
    first = complete_looks(table)[0].time
    with pytest.raises(
        InputError, match=f"are not known; the first time that can be told is {first:%Y-%m-%d}"
    ):
        pruning.collect(table, as_of=first - timedelta(seconds=1))
    other = tmp_path / "other"
    other.mkdir()
    write(other / "0.parquet", 0)
    assert complete_looks(other) == []
    with pytest.raises(InputError, match="has no history"):
        pruning.collect(other, as_of=first)
    for paths in (table / "0.parquet", str(table / "*.parquet"), [table, other]):
        with pytest.raises(InputError, match="name one directory"):
            pruning.collect(paths, as_of=first)


@pytest.mark.parametrize("value", ["yesterday", None, b"2026-01-01", -1, True, float("nan"), 1e300])
def test_what_is_no_time_is_refused(value: Any) -> None:
    """In one sentence that shows it."""
    with pytest.raises(InputError, match=r"^as_of is "):
        microseconds(value)


def test_a_time_without_a_zone_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `datetime` takes it."""
    time = datetime(2026, 5, 1, 12)
    assert microseconds(time) == microseconds("2026-05-01 12:00:00") == round(time.timestamp() * 1e6)
    assert microseconds("2026-05-01T12:00:00+00:00") == 1_777_636_800_000_000


def test_a_stray_file_is_no_part_of_the_table(table: Path) -> None:
    """Nor does it keep a look from being complete."""
    (table / "notes.txt").write_text("no data")
    write(table / "3.parquet", 3)
    with pytest.warns(pruning.errors.SkippedFileWarning):
        pruning.collect(table)
    last = complete_looks(table)[-1]
    assert (last.files, last.added) == (4, 1)
    assert minima(pruning.collect(table, as_of=last.time)) == [0, 1, 2, 3]


def test_a_file_that_may_change_unseen_makes_no_look_complete(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is in whole seconds and young, so it is not kept, and the look does not count."""
    looks = complete_looks(table)
    write(table / "3.parquet", 3)
    second = int(datetime.now().timestamp())
    os.utime(table / "3.parquet", (second, second))
    monkeypatch.setattr("pruning.metadata.store.recording.time.time_ns", lambda: second * 10**9 + 1)
    assert minima(pruning.collect(table)) == [0, 1, 2, 3]
    assert complete_looks(table) == looks
