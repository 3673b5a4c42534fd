"""Scan sets that are cut at pages: all techniques look inside row groups, and reports tell what is read."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.metadata.pages import run_blocks
from pruning.metadata.table.structs import make_typed_struct
from pruning.spark.drive import page_cutting, paging
from pruning.spark.drive.report import ScanReport
from skipproof.metering import run_metered
from tools.counting_stores import operations, webhdfs_store

ROWS = 6_000
# A page has at least so many bytes of values: 125 longs, 250 integers, or 64 texts.
PAGED = {"write_page_index": True, "use_dictionary": False, "data_page_size": 1_000, "write_batch_size": 1}


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of two files, each a row group, and keys to join it with.

    In the first file, `a` is low in the first rows, `b` is a key from row 2,000 on, and `c` is low in all
    but the rows between, in which the other two meet.
    """
    root = tmp_path_factory.mktemp("cut")
    rows = range(ROWS)
    first = pa.table(
        {
            "a": pa.array([1 if row < 2_600 else 1_000 + row for row in rows], pa.int64()),
            "b": pa.array([5 if row >= 2_000 else -1_000 - row for row in rows], pa.int32()),
            "c": [f"z{row:09}" if 1_500 <= row < 3_500 else f"a{row:09}" for row in rows],
            "d": pa.array(rows, pa.int64()),
        }
    )
    second = pa.table(
        {
            "a": pa.array([1] * ROWS, pa.int64()),
            "b": pa.array([5] * ROWS, pa.int32()),
            "c": [f"m{row:09}" for row in rows],
            "d": pa.array([ROWS + row for row in rows], pa.int64()),
        }
    )
    for name in ("t", "u", "k"):
        (root / name).mkdir()
    for number, table in enumerate((first, second)):
        pq.write_table(table, root / "t" / f"{number}.parquet", **PAGED)
    pq.write_table(first, root / "u" / "0.parquet", **PAGED)
    pq.write_table(
        pa.table({"key": pa.array([5, 6], pa.int32()), "on": [True, False]}), root / "k" / "0.parquet"
    )
    for name in ("t", "u", "k"):
        spark.read.parquet(str(root / name)).createOrReplaceTempView(f"cut_{name}")
    return root


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small row groups count as large ones, and small files as worth narrowing."""
    monkeypatch.setattr(paging, "PAGE_ROWS", 10)
    monkeypatch.setattr("pruning.spark.drive.join.run_costs.SMALL_FILE_BYTES", 0)
    monkeypatch.setattr("pruning.techniques.join.costs.SHARE_MAX", 100)
    monkeypatch.setattr("pruning.spark.drive.top_k.WAVE_BYTES_MIN", 0)


ON_A = "t.a < 10"
ON_B = "JOIN cut_k k ON t.b = k.key AND k.on"
ON_C = "ORDER BY t.c LIMIT 3"


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        (f"SELECT t.* FROM cut_t t WHERE {ON_A}", 2),
        (f"SELECT t.* FROM cut_t t {ON_B}", 2),
        (f"SELECT t.* FROM cut_t t {ON_C}", 1),
        (f"SELECT t.* FROM cut_t t {ON_B} WHERE {ON_A}", 2),
        (f"SELECT t.* FROM cut_t t {ON_B} WHERE {ON_A} {ON_C}", 1),
    ],
)
def test_techniques_exclude_a_row_group_together(spark: Any, lake: Path, query: str, kept: int) -> None:
    """Each leaves rows of the first file, or needs it; what one has excluded the next one does not see."""
    frame = spark.sql(query)
    pruned = pruning.prune(frame)
    scan = pruning.explain(pruned).scans[0]
    assert sorted(map(str, pruned.collect())) == sorted(map(str, frame.collect()))
    assert scan.blocks_kept == kept
    if ON_A in query and ON_C in query:
        assert {Path(file).name for file in pruned.inputFiles()} >= {"1.parquet"}
        assert scan.files_kept == 1


QUERIES: Mapping[str, tuple[str, str]] = {
    "a filter": ("SELECT d FROM cut_u WHERE IF(d % 2 = 0, d, d + 1) BETWEEN 3000 AND 3100", "filter"),
    "two columns": ("SELECT sum(d) FROM cut_u WHERE a + b < -1500", "filter"),
    "a join": ("SELECT u.d FROM cut_u u JOIN cut_k k ON u.b = k.key AND k.on", "join"),
    "a limit": ("SELECT sum(d) FROM (SELECT d FROM cut_u WHERE d > 3000 LIMIT 7)", "limit"),
    "a top-k": ("SELECT d, c FROM cut_u ORDER BY d DESC LIMIT 4", "top-k"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_spark_reads_the_rows_of_pages_that_a_report_names(spark: Any, lake: Path, name: str) -> None:
    """The rows that leave the scan are those that the report gives, and fewer than the row group's."""
    query, technique = QUERIES[name]
    frame = spark.sql(query)
    pruned = pruning.prune(frame)
    scan = pruning.explain(pruned).scans[0]
    reading = run_metered(spark, pruned.collect)
    is_stopped = technique == "limit"
    if not is_stopped:
        assert sorted(map(str, reading.result)) == sorted(map(str, frame.collect()))
    assert technique in {removal.technique for removal in scan.removals if removal.rows_inside}
    assert scan.rows_read_max is not None
    beside = 2 if "cut_k" in query else 0
    rows = reading.rows - beside
    assert rows == scan.rows_read_max or (is_stopped and rows <= scan.rows_read_max)
    assert scan.rows_read_max < 0.7 * ROWS
    assert_counts_agree(scan)


def assert_counts_agree(scan: ScanReport) -> None:
    """Assert that what is kept is among what may be read, and that among all there is."""
    for kind in ("blocks", "pages", "rows", "bytes"):
        kept, read, total = (getattr(scan, f"{kind}_{which}") for which in ("kept", "read_max", "total"))
        assert 0 < kept <= read <= total, kind
    assert f"  rows     {scan.rows_kept:,} of {ROWS:,} kept" in "\n".join(scan.lines())


def test_pages_of_columns_beside_those_that_are_named_are_counted(spark: Any, lake: Path) -> None:
    """A column that only the query reads is skipped where its pages have no row that is left."""
    few, all_ = (
        pruning.explain(spark.sql(f"SELECT {columns} FROM cut_u WHERE d BETWEEN 3000 AND 3100")).scans[0]
        for columns in ("d", "*")
    )
    assert few.pages_total is not None
    assert all_.pages_total is not None
    assert all_.bytes_total is not None
    assert all_.bytes_read_max is not None
    assert all_.pages_total > few.pages_total
    assert all_.bytes_read_max < 0.2 * all_.bytes_total


@pytest.mark.parametrize(
    ("where", "groups_max", "note"),
    [
        ("d BETWEEN 3000 AND 3100", 0, "pages were not looked at: 1 row groups are more than 0"),
        ("d >= 0", 0, None),
        ("d < 0", 0, None),
        ("d % 5 = 7", 1_000, None),
    ],
)
def test_pages_are_looked_at_only_where_they_may_exclude_rows(
    spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch, where: str, groups_max: int, note: str | None
) -> None:
    """They are not where the verdict on the row group tells enough."""
    monkeypatch.setattr(page_cutting, "GROUPS_MAX", groups_max)
    report = pruning.explain(spark.sql(f"SELECT d FROM cut_u WHERE {where}"))
    assert [text for text in report.scans[0].notes if "pages" in text] == ([] if note is None else [note])


@pytest.mark.parametrize(
    ("query", "is_cut"),
    [
        ("SELECT d FROM cut_t WHERE d % 2 = 1", False),
        ("SELECT d FROM cut_t WHERE IF(b > 0, d, d + 1) BETWEEN 3000 AND 9000", True),
        ("SELECT d FROM cut_t ORDER BY d LIMIT 3", True),
        ("SELECT d FROM cut_t ORDER BY d % 2 LIMIT 3", True),
    ],
)
def test_row_groups_are_cut_only_if_pages_of_a_sample_promise_something(
    spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch, query: str, is_cut: bool
) -> None:
    """They exclude rows by the filter, or lie apart in a key."""
    monkeypatch.setattr(page_cutting, "SAMPLED_MIN", 1)
    assert (pruning.explain(spark.sql(query)).scans[0].pages_total is not None) is is_cut


def test_a_top_k_keeps_the_bounds_that_rows_attain(spark: Any, lake: Path) -> None:
    """No bound of a page is exact, but that of its row group is, if the writer says so."""
    blocks = pruning.collect(lake / "t", cache=False).to_pylist()
    how = "by exact bounds" if all(block["columns"]["d"]["max_exact"] for block in blocks) else "by counts"
    scan = pruning.explain(spark.sql("SELECT a, d FROM cut_t ORDER BY d DESC LIMIT 1")).scans[0]
    assert any(how in removal.predicate for removal in scan.removals)


def test_a_session_that_skips_no_pages_reads_no_page_index(spark: Any, lake: Path) -> None:
    spark.conf.set("parquet.filter.columnindex.enabled", "false")
    try:
        report = pruning.explain(spark.sql(QUERIES["a filter"][0]))
    finally:
        spark.conf.unset("parquet.filter.columnindex.enabled")
    assert report.scans[0].pages_total is None


def test_bounds_that_are_too_narrow_lose_rows(
    spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this, the tests above could pass because no page is ever excluded."""
    facts = run_blocks._run_facts

    def narrow_bounds(*arguments: Any) -> pa.StructArray:
        struct = facts(*arguments)
        lanes = {field.name: struct.field(field.name) for field in struct.type}
        return make_typed_struct(list((lanes | {"max": lanes["min"]}).values()), struct.type, len(struct))

    monkeypatch.setattr(run_blocks, "_run_facts", narrow_bounds)
    frame = spark.sql(QUERIES["a filter"][0])
    assert sorted(pruning.prune(frame).collect()) != sorted(frame.collect())


@pytest.mark.parametrize("forgets", [False, True])
def test_row_groups_are_cut_again_by_the_next_technique(
    spark: Any, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgets: bool
) -> None:
    """The filter cuts the first row group, and is TRUE on the second one, which the join then cuts.

    The mutant that takes each run for a part of its row group's first run loses rows.
    """
    keys = [5] * ROWS, [row // 20 for row in range(ROWS)]
    for number, b in enumerate(keys):
        rows = pa.array(range(number * ROWS, (number + 1) * ROWS), pa.int64())
        table = pa.table({"a": rows, "b": pa.array(b, pa.int32())})
        pq.write_table(table, tmp_path / f"{number}.parquet", **PAGED)
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("cut_again")
    frame = spark.sql("SELECT a FROM cut_again JOIN cut_k ON b = key AND on WHERE IF(b > 0, a, a) >= 3000")
    expected = sorted(frame.collect())
    if forgets:
        first = paging.Paging.blocks_at
        monkeypatch.setattr(
            paging.Paging, "blocks_at", lambda self, groups, starts: first(self, groups, starts * 0)
        )
    pruned = pruning.prune(frame)
    assert (sorted(pruned.collect()) == expected) is not forgets
    rows_read = pruning.explain(pruned).scans[0].rows_read_max
    assert rows_read is not None
    assert forgets or rows_read < 3_500


def test_measured_pages_are_reached_by_ranges_of_other_columns(spark: Any, tmp_path: Path) -> None:
    """The file has no bounds of `a`, so that a range of it would skip nothing, and none is pushed."""
    table = pa.table({"a": pa.array(range(ROWS), pa.int64()), "d": pa.array(range(ROWS), pa.int64())})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, **PAGED, write_statistics=["d"])
    os.utime(path, (1_000_000_000, 1_000_000_000))
    frame = spark.read.parquet(str(tmp_path)).where(
        "IF(a % 2 = 0, a, a + 1) BETWEEN 3000 AND 3100 AND d >= 0"
    )
    assert pruning.explain(frame).scans[0].pages_total is None
    pruning.backfill(tmp_path, level="page")
    pruned = pruning.prune(frame)
    scan = pruning.explain(pruned).scans[0]
    assert len(scan.range_filters) == 1
    assert "`a`" not in scan.range_filters[0], scan.range_filters
    assert scan.rows_read_max is not None
    assert scan.rows_read_max < 0.05 * ROWS
    assert sorted(row.a for row in pruned.collect()) == list(range(2999, 3101))


def test_a_session_reads_the_page_indexes_of_files_that_are_not_local(spark: Any, tmp_path: Path) -> None:
    """Beside the footers, which are read twice, the indexes of a file take one request."""
    with webhdfs_store(tmp_path / "served") as store:
        (tmp_path / "served" / "t").mkdir(parents=True)
        for number in range(2):
            table = pa.table({"d": pa.array(range(number * ROWS, (number + 1) * ROWS), pa.int64())})
            pq.write_table(table, tmp_path / "served" / "t" / f"{number}.parquet", **PAGED)
        frame = spark.read.parquet(store.uri("t")).where("IF(d % 2 = 0, d, d + 1) BETWEEN 5900 AND 6100")
        store.take()
        pruned = pruning.prune(frame)
        opened = [request for request in store.take() if request.operation == "OPEN"]
        scan = pruning.explain(pruned).scans[0]
        assert sorted(row.d for row in pruned.collect()) == list(range(5899, 6101))
    assert len(opened) == 3 * 2
    assert scan.rows_read_max is not None
    assert scan.rows_read_max < 0.05 * 2 * ROWS


@pytest.mark.parametrize(
    ("condition", "saves"),
    [
        ("IF(d % 2 = 0, d, d + 1) BETWEEN 100 AND 200", True),
        # Pages with few of the values lie apart, in each row group.
        (f"IF(c % 2 = 0, c, c + 1) = 0 AND d >= {ROWS}", False),
    ],
)
def test_a_report_claims_no_request_that_a_store_gets(
    spark: Any, tmp_path: Path, condition: str, saves: bool
) -> None:
    """Of a row group in parts, a store is asked for each part, and for the page indexes."""
    with webhdfs_store(tmp_path / "served") as store:
        (tmp_path / "served" / "t").mkdir(parents=True)
        for number in range(6):
            rows = range(number * ROWS, (number + 1) * ROWS)
            steps = [row // 500 % 3 for row in rows]
            table = pa.table({"d": pa.array(rows, pa.int64()), "c": pa.array(steps, pa.int64()), "e": rows})
            pq.write_table(table, tmp_path / "served" / "t" / f"{number}.parquet", **PAGED)

        def count_requests(frame: Any) -> int:
            store.take()
            frame.collect()
            return operations(store.take())["OPEN"]

        frame = spark.read.parquet(store.uri("t"))
        whole = count_requests(frame)
        pruned = pruning.prune(frame.where(condition))
        scan = pruning.explain(pruned).scans[0]
        assert scan.rows_read_max is not None
        assert scan.rows_read_max < 0.5 * 6 * ROWS
        assert (scan.requests_saved > 0) is saves
        assert scan.requests_saved <= max(0, whole - count_requests(pruned))


def test_a_file_that_is_gone_leaves_its_row_groups_whole(spark: Any, tmp_path: Path) -> None:
    """Facts about its row groups may be kept, but no page index is."""
    table = pa.table({"d": pa.array(range(ROWS), pa.int64())})
    pq.write_table(table, tmp_path / "t.parquet", **PAGED)
    frame = spark.read.parquet(str(tmp_path)).where("IF(d % 2 = 0, d, d + 1) BETWEEN 3000 AND 3100")
    assert pruning.explain(frame).scans[0].pages_total is not None
    (tmp_path / "t.parquet").unlink()
    scan = pruning.explain(frame).scans[0]
    assert scan.pages_total is None
    assert any("t.parquet" in note for note in scan.notes)
