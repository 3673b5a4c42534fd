"""Queries over a version of a table: what they read, and that they read it as the version says."""

from typing import Any

import pyarrow as pa
import pytest
from written_versions import DataFile, write_version

import pruning
from oracles.answers.frames import settings
from pruning.expressions.trees import Column
from pruning.expressions.types import Kind, Type
from pruning.metadata.versioned.table_version import TableVersion
from pruning.spark.versioned.frames import version_frame
from strategies.base.metadata import exact_facts, to_metadata
from strategies.base.tables import Table

FILES, ROWS = 6, 100
# In every second file, the first three rows and the last one are deleted.
GONE = (0, 1, 2, ROWS - 1)
COLUMNS = (
    Column("id", Type(Kind.LONG)),
    Column("word", Type(Kind.STRING)),
    Column("part", Type(Kind.INTEGER)),
)


def live_rows() -> list[tuple[int, str, int]]:
    """The rows of the version."""
    return [row for block in _live_blocks() for row in block]


def _live_blocks() -> list[tuple[tuple[int, str, int], ...]]:
    return [
        tuple(
            (number, f"word {number}", file)
            for place, number in enumerate(range(file * ROWS, (file + 1) * ROWS))
            if file % 2 or place not in GONE
        )
        for file in range(FILES)
    ]


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> TableVersion:
    """Six sorted files, of which half have deleted rows and all have other names than the table."""
    files = []
    for file in range(FILES):
        numbers = range(file * ROWS, (file + 1) * ROWS)
        # The names of the columns are swapped, so that one taken for the table's is wrong.
        rows = pa.table(
            {"word": pa.array(numbers, pa.int32()), "id": [f"word {number}" for number in numbers]}
        )
        deleted = () if file % 2 else GONE
        files.append(DataFile(rows=rows, deleted=deleted, partition=(file,), row_group_size=20))
    blocks = tuple(
        tuple((number, word.encode(), part) for number, word, part in block) for block in _live_blocks()
    )
    table = Table(COLUMNS, blocks)
    return write_version(
        tmp_path_factory.mktemp("version"),
        {"id": "long", "word": "string", "part": "integer"},
        files,
        layouts=[{"word": "integer", "id": "string"}],
        partitions=pa.schema([("part", pa.int32())]),
        blocks=to_metadata(table, exact_facts(table), blocks_per_file=1, columns=COLUMNS[:2]),
    )


@pytest.fixture
def frame(spark: Any, version: TableVersion) -> Any:
    """The version as a DataFrame."""
    return version_frame(spark, version)


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query, sorted."""
    return sorted(map(tuple, frame.collect()))


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("codegen", [False, True])
def test_each_reader_and_each_form_of_code_gives_the_live_rows(
    spark: Any, frame: Any, by_row: bool, codegen: bool
) -> None:
    """Also where a file is read in several parts, and row groups of it are skipped."""
    conf = {
        "spark.sql.codegen.wholeStage": str(codegen).lower(),
        "spark.sql.codegen.factoryMode": "FALLBACK" if codegen else "NO_CODEGEN",
        "spark.sql.parquet.enableVectorizedReader": str(not by_row).lower(),
        "spark.sql.files.maxPartitionBytes": "1000",
        "spark.sql.files.openCostInBytes": "0",
    }
    with settings(spark, conf):
        some = frame.where("id >= 195 AND id < 405")
        assert rows_of(some) == [row for row in live_rows() if 195 <= row[0] < 405]
        assert some.rdd.getNumPartitions() > FILES


def test_a_renamed_column_is_still_compared_by_the_reader_of_parquet(frame: Any) -> None:
    """The comparison and the partition filter reach the scan under the names in the files."""
    plan = frame.where("id >= 195 AND part = 1")._jdf.queryExecution().executedPlan().toString()
    assert "GreaterThanOrEqual(word,195)" in plan
    assert "(part#" in plan.partition("PartitionFilters: ")[2].partition("PushedFilters")[0]


def test_deleted_rows_are_loaded_late_and_of_the_files_that_are_read(
    spark: Any, version: TableVersion
) -> None:
    loaded = version.deleted_rows.loaded
    del loaded[:]
    frame = version_frame(spark, version)
    pruned = pruning.prune(frame.where("id = 350"))
    assert not loaded
    assert rows_of(pruned) == [(350, "word 350", 3)]
    assert rows_of(pruning.prune(frame.where("id = 250"))) == [(250, "word 250", 2)]
    assert loaded == [2]


@pytest.mark.parametrize(
    ("sql", "files", "technique"),
    [
        ("SELECT id FROM version WHERE id = 205", 1, "filter"),
        ("SELECT id FROM version WHERE IF(id % 2 = 0, id, id + 1) BETWEEN 210 AND 220", 1, "filter"),
        ("SELECT id FROM version WHERE part IN (1, 4) AND word LIKE 'word %'", 2, "filter"),
        ("SELECT id FROM version WHERE id >= 101 ORDER BY id LIMIT 3", 1, "top-k"),
        ("SELECT sum(id) FROM (SELECT id FROM version WHERE id >= 100 AND id < 500 LIMIT 96)", 1, "limit"),
        ("SELECT version.id FROM version JOIN keys ON version.id = keys.id", 2, "join"),
    ],
)
def test_each_technique_leaves_out_files(
    spark: Any, frame: Any, sql: str, files: int, technique: str
) -> None:
    """The rows are those of the query as it is, except of a LIMIT, where any will do."""
    frame.createOrReplaceTempView("version")
    spark.range(104, 500, 390).createOrReplaceTempView("keys")
    query = spark.sql(sql)
    pruned = pruning.prune(query)
    report = pruning.explain(pruned)
    scan = next(scan for scan in report.scans if scan.files_total == FILES)
    assert (scan.files_kept, {removal.technique for removal in scan.removals}) >= (files, {technique})
    assert scan.files_kept == files
    if technique != "limit":
        assert rows_of(pruned) == rows_of(query)


def test_a_limit_counts_live_rows_alone(spark: Any, frame: Any) -> None:
    """A file with deletes has 96 rows of 100, so that 97 need a second file."""
    frame.createOrReplaceTempView("version")
    query = spark.sql("SELECT id FROM version WHERE part IN (0, 2, 4) AND id >= 0 LIMIT 97")
    pruned = pruning.prune(query.groupBy().count())
    assert pruned.collect() == [(97,)]
    (scan,) = pruning.explain(pruned).scans
    assert scan.files_kept == 2


def test_the_report_names_the_version_and_its_deletes(frame: Any) -> None:
    report = str(pruning.explain(frame.where("id = 205")))
    assert "the table of Delta Lake is read at version 7" in report
    assert "rows of 3 of its files are deleted by their positions" in report


def test_a_pruned_frame_is_pruned_again_with_its_deletes(frame: Any) -> None:
    once = pruning.prune(frame.where("id >= 200"))
    twice = pruning.prune(once.where("id < 300"))
    assert len(twice.inputFiles()) == 1
    assert rows_of(twice) == [row for row in live_rows() if 200 <= row[0] < 300]
