"""Of what is kept about a table of many columns, `prune` reads the columns that the query asks of."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.metadata.store import collecting, packs
from pruning.metadata.table import reading
from pruning.metadata.table.partial import noted_columns, unread_columns, with_columns_read, with_more_columns

COLUMNS = 30


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Four files of two row groups; column 7 is in order over the files, column 8 against it."""
    for number in range(4):
        values = {f"c{place}": [place, number] for place in range(COLUMNS)}
        rising = [2 * number, 2 * number + 1]
        table = pa.table({**values, "c7": rising, "c8": [-value for value in rising]})
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=1)
    pruning.collect(tmp_path)
    return tmp_path


@pytest.fixture
def read_columns(monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Tells, and forgets, the columns that were read of what is kept."""
    names: list[str] = []
    sections = packs.Pack.sections

    def record(self: packs.Pack, wanted: list[str]) -> list[bytes]:
        for name in wanted:
            shard, *group_and_place = name.split(".")
            if len(group_and_place) == 2:
                names.append(self.notes["shards"][int(shard)]["columns"][int(group_and_place[1])])
        return sections(self, wanted)

    monkeypatch.setattr(packs.Pack, "sections", record)
    collecting._kept_metadata.cache_clear()

    def take() -> set[str]:
        before = set(names)
        assert len(before) == len(names), "a column was read twice"
        names.clear()
        return before

    return take


def keep_nothing(lake: Path) -> None:
    """Drop what is kept, and let nothing be kept."""
    shutil.rmtree(lake / ".skipproof")
    (lake / ".skipproof").touch()


QUERIES = {
    "SELECT c1 FROM t WHERE c7 = 3": {"c1", "c7"},
    "SELECT * FROM t WHERE c7 = 3": {"c7"},
    "SELECT * FROM t WHERE c7 >= 3 ORDER BY c8 LIMIT 1": {"c7", "c8"},
    "SELECT * FROM t ORDER BY c8 LIMIT 1": {"c8"},
    "SELECT * FROM t WHERE c7 > 3 AND c7 < 5 LIMIT 1": {"c7"},
    "SELECT * FROM t WHERE c7 IN (SELECT c8 + 9 FROM t WHERE c7 > 4)": {"c7", "c8"},
}


@pytest.mark.parametrize(("sql", "columns"), QUERIES.items())
def test_only_the_columns_that_a_query_asks_of_are_read(
    spark: Any, lake: Path, read_columns: Callable[[], set[str]], sql: str, columns: set[str]
) -> None:
    """And the same files are kept as with all columns at hand."""
    spark.read.parquet(str(lake)).createOrReplaceTempView("t")
    df = spark.sql(sql)
    report = pruning.explain(df)
    assert read_columns() == columns
    assert [scan.files_kept for scan in report.scans] != [4] * len(report.scans)
    assert sorted(map(str, pruning.prune(df).collect())) == sorted(map(str, df.collect()))
    keep_nothing(lake)
    collecting._kept_metadata.cache_clear()
    assert pruning.explain(df).to_dict()["scans"] == report.to_dict()["scans"]


def test_a_self_join_reads_each_footer_once_where_nothing_is_kept(
    spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sides ask of different columns."""
    keep_nothing(lake)
    names: list[str] = []
    read = reading.read_footers

    def record(files: Any, **options: Any) -> Any:
        names.extend(files)
        return read(files, **options)

    monkeypatch.setattr(reading, "read_footers", record)
    spark.read.parquet(str(lake)).createOrReplaceTempView("t")
    df = spark.sql("SELECT * FROM t a JOIN t b ON a.c7 = -b.c8 WHERE a.c7 > 5 AND b.c8 < -5")
    assert pruning.prune(df).count() == df.count() == 2
    assert len(names) == 4


def test_columns_of_other_blocks_are_not_joined(lake: Path) -> None:
    """A file may be written again between two readings."""
    blocks = pruning.collect(lake)
    some = with_columns_read(blocks, {"c1"})
    assert unread_columns(some, ["c1", "`c7`.`x`"]) == {"c7"}
    assert with_more_columns(some, blocks[1:]) is None
    united = with_more_columns(some, with_columns_read(blocks, {"c7"}))
    assert united is not None
    assert noted_columns(united) == {"c1", "c7"}
    assert united.schema.field("columns").type.num_fields == COLUMNS
    assert noted_columns(with_columns_read(united, None)) is None


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT * FROM t WHERE c7 > 0 ORDER BY c8 LIMIT 1", [{"c7", "c8"}]),
        ("SELECT * FROM (SELECT c1, c8 AS k FROM t) ORDER BY k + 1 LIMIT 1", [{"c1", "c8"}]),
        ("SELECT * FROM t a JOIN t b ON a.c7 = b.c8 WHERE a.c6 > 0", [{"c6", "c7"}, {"c8"}]),
        ("SELECT c9 FROM t GROUP BY c9 ORDER BY c9 LIMIT 1", [{"c9"}]),
        ("SELECT c1 FROM t UNION ALL SELECT c8 FROM t ORDER BY c1 LIMIT 1", [{"c1"}, {"c8"}]),
        ("SELECT c1 + c2 AS s FROM t WHERE c7 = 1", [{"c1", "c2", "c7"}]),
    ],
)
def test_each_scan_reads_at_once_what_its_techniques_ask_for(
    spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch, sql: str, columns: list[set[str]]
) -> None:
    """Keys are known from the plan, through projections and unions."""
    asked: list[frozenset[str]] = []

    def record(files: Any, **options: Any) -> Any:
        asked.append(options["columns"])
        return collecting.read_blocks(files, **options)

    monkeypatch.setattr("pruning.spark.drive.block_reading.read_blocks", record)
    spark.read.parquet(str(lake)).createOrReplaceTempView("t")
    pruning.prune(spark.sql(sql))
    assert asked == columns
