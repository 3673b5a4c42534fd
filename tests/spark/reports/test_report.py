"""Reports: for people, and as JSON."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.spark.drive.report import Removal, Report, ScanReport, readable

SCAN = ScanReport(
    paths=("file:/lake",),
    files_total=4,
    files_kept=1,
    blocks_total=20,
    blocks_kept=2,
    bytes_total=1000,
    bytes_kept=100,
    removals=(Removal(technique="filter", predicate="(`a` < 3)", files=3, blocks=18),),
    range_filters=("`a` >= 1 AND `a` <= 2",),
    notes=("read in full: x",),
)


def test_a_report_reads_as_aligned_text():
    assert str(Report(scans=(SCAN,), notes=("n",))).splitlines() == [
        "note: n",
        "scan 1: file:/lake",
        "  files    1 of 4 kept, 75.0 % skipped",
        "  blocks   2 of 20 kept, 90.0 % skipped",
        "  bytes    100 of 1,000 kept, 90.0 % skipped",
        "  filter   removed 18 blocks, 3 whole files",
        "  because  (`a` < 3)",
        "  requests at least 21 saved",
        "  added    `a` >= 1 AND `a` <= 2",
        "  note     read in full: x",
    ]


def test_a_report_is_ready_for_json():
    found = json.loads(json.dumps(Report(scans=(SCAN,)).to_dict()))
    assert found["notes"] == []
    assert found["scans"][0]["removals"] == [
        {"technique": "filter", "predicate": "(`a` < 3)", "files": 3, "blocks": 18, "rows_inside": 0}
    ]
    assert found["scans"][0]["requests_saved"] == 21


def test_a_scan_of_many_paths_names_a_few_and_counts_the_others():
    """A glob may stand for thousands of paths; a program is given all of them."""
    paths = tuple(f"file:/lake/2013-{day:03}" for day in range(300))
    scan = ScanReport(paths=paths, files_total=300, files_kept=300)
    assert next(scan.lines()) == "file:/lake/2013-000, file:/lake/2013-001, file:/lake/2013-002 and 297 more"
    assert next(ScanReport(paths=paths[:3]).lines()).count(",") == 2
    assert len(scan.to_dict()["paths"]) == 300


def test_blocks_that_are_read_beside_those_that_are_needed_are_not_called_skipped():
    scan = replace(SCAN, blocks_read_max=10, bytes_read_max=600)
    assert list(scan.lines())[2:4] == [
        "  blocks   2 of 20 kept, at most 10 read, 50.0 % skipped",
        "  bytes    100 of 1,000 kept, at most 600 read, 40.0 % skipped",
    ]
    assert scan.requests_saved == 3 + 10


def test_a_glob_of_many_files_is_one_short_line(spark, tmp_path):
    for number in range(40):
        pq.write_table(pa.table({"id": [number]}), tmp_path / f"{number:03}.parquet")
    report = pruning.explain(spark.read.parquet(*map(str, tmp_path.glob("*.parquet"))).where("id = 7"))
    first = str(report).splitlines()[0]
    assert first.endswith(" and 37 more")
    assert (report.scans[0].files_kept, report.scans[0].files_total) == (1, 40)


BYTES = {
    "SELECT * FROM flights": ("id", "day", "delay", "altitude", "unit", "name"),
    "SELECT name FROM flights WHERE id >= 0": ("id", "name"),
    "SELECT unit, sum(delay) FROM flights WHERE altitude > -1 GROUP BY unit": ("unit", "delay", "altitude"),
    "SELECT a.id FROM flights a JOIN flights b ON a.id = b.id AND b.day < '2013-01-02'": ("id",),
    "SELECT id FROM (SELECT id, name, delay + 1 AS d FROM flights) WHERE id >= 0": ("id",),
    "SELECT id IN (SELECT delay FROM flights WHERE unit = 'feet') AS x FROM flights WHERE id >= 0": ("id",),
}


@pytest.mark.parametrize("query", BYTES)
def test_bytes_are_of_the_columns_that_the_query_reads(spark, flights, query):
    """As the footers have them; not those of columns beside them."""
    spark.read.parquet(flights).createOrReplaceTempView("flights")
    metadata = pruning.collect(flights, cache=False).column("columns").to_pylist()
    expected = sum(block[name]["byte_count"] for block in metadata for name in BYTES[query])
    # A query may need no metadata; a condition that every row satisfies makes it ask.
    scan = pruning.explain(spark.sql(query), runtime=False).scans[0]
    assert scan.bytes_total in (None, expected)
    assert scan.bytes_total == expected or "WHERE" not in query


def test_a_count_reads_no_column(spark, flights):
    df = spark.read.parquet(flights).limit(700).groupBy().count()
    scan = pruning.explain(df).scans[0]
    assert (scan.files_kept, scan.bytes_total) == (2, 0)
    # The footers of four files; a row group of no column takes no request.
    assert scan.requests_saved == 4
    assert not any(line.startswith("  bytes") for line in scan.lines())


REASONS = {
    "SELECT * FROM flights": {"filter": "no condition"},
    "SELECT * FROM flights WHERE id >= 0": {"filter": "may hold a row with"},
    "SELECT * FROM flights LIMIT 5": {"filter": "no condition", "limit": "the first of Spark's tasks"},
    "SELECT * FROM flights WHERE delay > 3 LIMIT 2900": {
        "filter": "may hold",
        "limit": "fewer than the 2,900",
    },
    "SELECT DISTINCT unit FROM flights WHERE id >= 0 LIMIT 5": {"filter": "may hold"},
    "SELECT * FROM flights ORDER BY unit LIMIT 2000": {"filter": "no condition", "top-k": "row"},
    "SELECT a.* FROM flights a JOIN flights b ON a.id = b.id": {
        "filter": "condition|may hold",
        "join": "side",
    },
}


@pytest.mark.parametrize("query", REASONS)
def test_a_scan_of_which_nothing_is_skipped_says_why_for_each_technique(spark, flights, query):
    spark.read.parquet(flights).createOrReplaceTempView("flights")
    for scan in pruning.explain(spark.sql(query)).scans:
        assert not scan.removals
        reasons = dict(note.split(": ", 1) for note in scan.notes)
        assert set(reasons) == set(REASONS[query])
        for technique, said in REASONS[query].items():
            assert re.search(said, reasons[technique]), technique


def test_a_scan_of_which_something_is_skipped_gives_no_reasons(spark, flights):
    (scan,) = pruning.explain(spark.read.parquet(flights).where("id < 100").limit(5000)).scans
    assert scan.removals
    assert scan.notes == ()


def test_a_real_report_counts_bytes_blocks_and_files(spark, flights):
    report = pruning.explain(spark.read.parquet(flights).filter("id < 100"))
    (scan,) = report.scans
    assert (scan.files_total, scan.files_kept, scan.blocks_total, scan.blocks_kept) == (6, 1, 30, 1)
    assert 0 < scan.bytes_kept < scan.bytes_total / 20
    assert "(`id` < 100)" in scan.removals[0].predicate
    assert json.dumps(report.to_dict())


def test_importing_pruning_imports_neither_spark_nor_arrow():
    heavy = "{'pyspark', 'pyarrow', 'py4j'}"
    code = f"import pruning, sys; print(sorted({heavy} & set(sys.modules)), 'prune' in dir(pruning))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "True"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"^\d+$", r"r'^\d+$'"),
        ("$^", "'$^'"),
        ("Éclair", "'Éclair'"),
        ("it's", 'r"it\'s"'),
        ("'\"", None),
        ("a\n", None),
        ("", "''"),
    ],
)
def test_texts_in_bytes_are_shown_as_texts(spark, text, shown):
    """As Spark reads them; what cannot be shown in a line, or would be read otherwise, stays as it is."""
    written = f"CAST(X'{text.encode().hex().upper()}' AS STRING)"
    line = readable(f"(`name` RLIKE {written})")
    assert line == f"(`name` RLIKE {written if shown is None else shown})"
    assert spark.sql(f"SELECT {readable(written)}").collect() == [(text,)]


def test_bytes_that_are_no_text_stay_bytes():
    assert readable("CAST(X'FF' AS STRING)") == "CAST(X'FF' AS STRING)"
