"""Of what is kept of many columns, those are read that a query, a predicate or a caller names."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.errors import InputError
from pruning.metadata.store import collecting, packs
from pruning.metadata.table import reading
from pruning.metadata.table.comparable import comparable_columns
from pruning.metadata.table.coverings import coverings_of
from pruning.metadata.table.partial import noted_columns, unread_columns, with_columns_read, with_more_columns
from pruning.metadata.table.schema import column_types, columns_only

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
    collecting._METADATA.clear()

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
    collecting._METADATA.clear()
    assert pruning.explain(df).to_dict()["scans"] == report.to_dict()["scans"]


#             predicate                          the columns that are read; None is all
PREDICATES = {
    "c7 = 3 AND c8 < 0": {"c7", "c8"},
    "C7 = 3 OR c1 IS NULL": {"c1", "c7"},
    "exists(array(1, c2), x -> x = c3)": {"c2", "c3"},
    "c1 IN (3, 4) AND 'c2' = 'c4'": {"c1"},
    "true": set[str](),
    "struct(*).c1 = 1": None,
    "c1 IN (SELECT 1)": None,
}


@pytest.mark.parametrize(("predicate", "columns"), PREDICATES.items())
def test_only_the_columns_that_a_predicate_names_are_read(
    spark: Any, lake: Path, read_columns: Callable[[], set[str]], predicate: str, columns: set[str] | None
) -> None:
    """Of what a predicate with a star or a subquery may name, nothing is known."""
    verdicts = pruning.classify(predicate, lake)
    assert read_columns() == ({f"c{place}" for place in range(COLUMNS)} if columns is None else columns)
    assert verdicts == pruning.classify(predicate, pruning.collect(lake))


def test_the_columns_that_are_named_alone_are_collected(
    lake: Path, read_columns: Callable[[], set[str]]
) -> None:
    """Their metadata is kept, read now, or compared with what is kept."""
    blocks = pruning.collect(lake)
    read_columns()
    some = pruning.collect(lake, columns=["c7", "c2", "c7"])
    assert read_columns() == {"c2", "c7"}
    assert noted_columns(some) == {"c2", "c7"}
    expected = columns_only(blocks, ["c2", "c7"])
    assert some.equals(expected)
    assert comparable_columns(some) == {"c2", "c7"} <= comparable_columns(blocks)
    for options in {"cache": False}, {"verify": True}:
        assert pruning.collect(lake, columns=["c7", "c2"], **options).equals(some, check_metadata=True)
    assert pruning.collect(lake, columns=[]).num_rows == blocks.num_rows


def test_a_struct_stands_for_its_fields_and_a_map_for_its_keys_and_values(tmp_path: Path) -> None:
    """Names are exact, and coverings of points go with their columns."""
    rows = {"s": [{"x": 1.0, "y": [2.0]}], "m": [[("k", 1)]], "a": [1.0], "b": [2.0]}
    types = {"s": pa.struct({"x": pa.float64(), "y": pa.list_(pa.float64())}), "a": pa.float64()}
    schema = pa.schema(types | {"m": pa.map_(pa.string(), pa.int64()), "b": pa.float64()})
    pq.write_table(pa.table(rows, schema=schema), tmp_path / "0.parquet")
    pruning.index(tmp_path, points=[("a", "b")])

    def statistics_of(*names: str) -> pa.Table:
        return pruning.collect(tmp_path, columns=names)

    for _ in "read now", "kept":
        assert set(column_types(statistics_of("s"))) == {"`s`.`x`", "`s`.`y`[]"}
        assert set(column_types(statistics_of("m"))) == {"`m`{key}", "`m`{value}"}
        assert not coverings_of(statistics_of("a"))
        assert coverings_of(statistics_of("a", "b"))
        with pytest.raises(InputError, match=r"^The column 'A' is in no file; give the exact names"):
            statistics_of("a", "A")


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

    def record(listing: Any, **options: Any) -> Any:
        asked.append(options["columns"])
        return collecting.read_listed_blocks(listing, **options)

    monkeypatch.setattr("pruning.spark.drive.block_reading.read_listed_blocks", record)
    spark.read.parquet(str(lake)).createOrReplaceTempView("t")
    pruning.prune(spark.sql(sql))
    assert asked == columns
