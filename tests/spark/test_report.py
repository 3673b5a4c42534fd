"""Reports: for people, and as JSON."""

import json
import subprocess
import sys

import pytest

import pruning
from pruning.spark.report import Removal, Report, ScanReport, readable

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
        {"technique": "filter", "predicate": "(`a` < 3)", "files": 3, "blocks": 18}
    ]
    assert found["scans"][0]["requests_saved"] == 21


def test_a_real_report_counts_bytes_blocks_and_files(spark, flights):
    report = pruning.explain(spark.read.parquet(flights).filter("id < 100"))
    (scan,) = report.scans
    assert (scan.files_total, scan.files_kept, scan.blocks_total, scan.blocks_kept) == (6, 1, 30, 1)
    assert 0 < scan.bytes_kept < scan.bytes_total / 20
    assert "(`id` < 100)" in scan.removals[0].predicate
    assert json.dumps(report.to_dict())


def test_importing_pruning_imports_neither_spark_nor_arrow():
    heavy = "{'pyspark', 'pyarrow', 'py4j'}"
    code = f"import pruning, sys; print(sorted({heavy} & set(sys.modules)), dir(pruning)[-1])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "prune"]


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
