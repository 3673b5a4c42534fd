"""Why a technique removes nothing: a line for each scan and technique, with what would change it."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.spark.drive.refusals import ABSENT
from pruning.spark.drive.report import Decline, Report, ScanReport

FILES = 20


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: Any) -> Path:
    """Views of 20 files by `k`, each with all values of `s` and no bounds of `n`; and of one small file."""
    root = Path(tmp_path_factory.mktemp("why"))
    (root / "t").mkdir()
    for number in range(FILES):
        keys = list(range(number * 20, number * 20 + 20))
        columns = {"k": keys, "s": [f"v{row:02}" for row in range(20)], "n": [key % 7 for key in keys]}
        path = root / "t" / f"{number:02}.parquet"
        pq.write_table(pa.table(columns), path, write_statistics=["k", "s"])
    spark.read.parquet(str(root / "t")).createOrReplaceTempView("why_t")
    pq.write_table(pa.table({"k": list(range(FILES * 20)), "on": [True] * FILES * 20}), root / "u.parquet")
    spark.read.parquet(str(root / "u.parquet")).createOrReplaceTempView("why_u")
    return root


REASONS = {
    "SELECT * FROM why_t": dict(ABSENT),
    "SELECT * FROM why_t WHERE s = 'v07'": {
        "filter": "blocks overlap: a value of s lies in 20 of 20 of them / clustering by s would skip about"
    },
    "SELECT * FROM why_t WHERE n = 3": {"filter": "no bounds of n are known / pruning.backfill"},
    "SELECT * FROM why_t WHERE k >= 0": {"filter": "each block may hold a row with (`k` >= 0L) / "},
    "SELECT * FROM why_t WHERE k IS NOT NULL": {"filter": "its only condition is that columns are not NULL"},
    "SELECT * FROM why_t WHERE parse_url(s, 'HOST') = 'h'": {"filter": "no rule knows / store"},
    "SELECT * FROM why_t t JOIN why_u u ON t.k = u.k": {
        "join": "running that side first does not pay: it reads 400 rows / a condition on the other side"
    },
    "SELECT * FROM why_t t LEFT JOIN why_u u ON t.k = u.k": {"join": ABSENT["join"]},
    "SELECT * FROM why_t LIMIT 5": {
        "limit": "the first of Spark's tasks is likely to have 5 / a LIMIT of more rows"
    },
    "SELECT * FROM why_t WHERE s = 'v07' LIMIT 5": {"limit": "fewer than the 5 rows asked for are sure to"},
    "SELECT * FROM why_t ORDER BY s LIMIT 50": {"top-k": "each row group may hold one of the first rows"},
}


@pytest.mark.parametrize("sql", REASONS)
def test_each_technique_that_removes_nothing_has_its_reason(spark, lake, sql):
    why = pruning.explain(spark.sql(sql)).why()
    _, declined = why.scans[0]
    lines = {decline.technique: f"{decline.reason} / {decline.remedy}" for decline in declined}
    for technique, parts in REASONS[sql].items():
        assert all(part in lines[technique] for part in parts.split(" / ")), lines[technique]
    assert set(lines) <= set(ABSENT)


def test_a_technique_that_removes_something_has_none(spark, lake):
    ((_, declined),) = pruning.explain(spark.sql("SELECT * FROM why_t WHERE k < 10")).why().scans
    assert [decline.technique for decline in declined] == ["join", "limit", "top-k"]


def test_clustering_by_the_column_skips_about_what_it_is_said_to(spark, lake, tmp_path):
    """The share is an estimate by bounds: here one of twenty values is asked for."""
    for number in range(FILES):
        rows = {"s": [f"v{number:02}"] * 20}
        pq.write_table(pa.table(rows), tmp_path / f"{number:02}.parquet")
    clustered = pruning.explain(spark.read.parquet(str(tmp_path)).where("s = 'v07'")).scans[0]
    ((_, declined),) = pruning.explain(spark.sql("SELECT * FROM why_t WHERE s = 'v07'")).why().scans
    remedy = next(decline.remedy for decline in declined if decline.technique == "filter")
    estimate = int(remedy.rsplit(" ", 2)[1])
    assert clustered.files_kept == 1
    assert abs(estimate - 95) <= 10


def test_a_scan_that_is_left_as_it_is_says_so_once(spark, lake, tmp_path):
    (tmp_path / "t.csv").write_text("1\n")
    why = pruning.explain(spark.read.csv(str(tmp_path / "t.csv"))).why()
    ((_, declined),) = why.scans
    assert [(decline.technique, decline.reason.split(":")[0]) for decline in declined] == [
        ("all", "left as it is")
    ]


WHY = Report(
    notes=("a <note>",),
    scans=(
        ScanReport(
            paths=("file:/<lake>",),
            blocks_total=4,
            blocks_kept=1,
            picture=(0.0, 1.0, 0.25),
            declined=(Decline("join", "a < b", "c & d"), Decline("limit", "no LIMIT")),
        ),
    ),
)


def test_the_reasons_read_as_text_json_and_html():
    why = WHY.why()
    assert str(why).splitlines() == [
        "note: a <note>",
        "scan 1: file:/<lake>",
        "  join     a < b",
        "           c & d",
        "  limit    no LIMIT",
    ]
    assert json.loads(json.dumps(why.to_dict()))["scans"][0]["declined"][0] == {
        "technique": "join",
        "reason": "a < b",
        "remedy": "c & d",
    }
    html = why._repr_html_()
    assert "a &lt; b" in html
    assert "c &amp; d" in html


def test_a_report_in_a_notebook_has_a_picture_of_what_is_kept():
    html = WHY._repr_html_()
    assert "1 of 4 blocks kept" in html
    assert html.count("<rect") == 3  # what is skipped, and the two parts of which something is kept
    assert "<lake>" not in html
