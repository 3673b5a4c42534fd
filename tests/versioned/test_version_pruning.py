"""Queries over a version of a table: what they read, and that they read it as the version says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from written_versions import DataFile, write_version

import pruning
from mutants.replacements import Replacement
from mutants.versions import MUTANTS
from oracles.answers.frames import settings
from pruning.errors import InputError
from pruning.expressions.trees import Column
from pruning.expressions.types import Kind, Type
from pruning.metadata.versioned.table_version import (
    EVERY_PARTITION,
    PARTITION,
    SEQUENCE,
    EqualityDeletes,
    TableVersion,
)
from pruning.spark.versioned import frames
from pruning.spark.versioned.frames import version_frame
from strategies.base.metadata import exact_facts, to_metadata
from strategies.base.tables import Table

FILES, ROWS = 6, 100
# In every second file, the first three rows and the last one are deleted.
GONE = (0, 1, 2, ROWS - 1)
COLUMNS = (
    Column("id", Type(Kind.LONG)),
    Column("rest", Type(Kind.LONG)),
    Column("word", Type(Kind.STRING)),
    Column("part", Type(Kind.INTEGER)),
)


def _live_blocks() -> list[tuple[tuple[int, int, str, int], ...]]:
    return [
        tuple(
            (number, 10_000 - number, f"word {number}", file)
            for place, number in enumerate(range(file * ROWS, (file + 1) * ROWS))
            if file % 2 or place not in GONE
        )
        for file in range(FILES)
    ]


LIVE = [row for block in _live_blocks() for row in block]
LIVE_BY_ID = {row[0]: row for row in LIVE}


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> TableVersion:
    """Six sorted files, of which half have deleted rows and all have other names than the table."""
    files = []
    for file in range(FILES):
        numbers = range(file * ROWS, (file + 1) * ROWS)
        # The names of two columns are swapped in the files, so that one taken for the table's is wrong.
        rows = pa.table(
            {
                "rest": pa.array(numbers, pa.int32()),
                "id": pa.array([10_000 - number for number in numbers], pa.int64()),
                "w": [f"word {number}" for number in numbers],
            }
        )
        deleted = () if file % 2 else GONE
        files.append(DataFile(rows=rows, deleted=deleted, partition=(file,), row_group_size=20))
    blocks = tuple(
        tuple((number, rest, word.encode(), part) for number, rest, word, part in block)
        for block in _live_blocks()
    )
    table = Table(COLUMNS, blocks)
    return write_version(
        tmp_path_factory.mktemp("version"),
        {"id": "long", "rest": "long", "word": "string", "part": "integer"},
        files,
        layouts=[{"rest": "integer", "id": "long", "w": "string"}],
        partitions=pa.schema([("part", pa.int32())]),
        blocks=to_metadata(table, exact_facts(table), blocks_per_file=1, columns=COLUMNS[:3]),
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
        assert rows_of(some) == [row for row in LIVE if 195 <= row[0] < 405]
        assert some.rdd.getNumPartitions() > FILES


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_a_column_that_files_lack_has_its_default_by_either_reader(
    spark: Any, tmp_path: Path, vectorized: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's row-wise reader gives NULL, whatever the schema says, before columns that the files have."""
    late = ("integer", {"EXISTS_DEFAULT": "CAST('5' AS INT)"})
    layout = {"id": ("long", {}), "late": late, "x": ("long", {})}
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "x": pa.array([0, 0], pa.int64())})
    schema = {"id": "long", "late": "integer", "x": "long"}
    version = write_version(tmp_path, schema, [DataFile(rows=rows, layout=0)], layouts=[layout])
    with settings(spark, {"spark.sql.parquet.enableVectorizedReader": vectorized}):
        frame = version_frame(spark, version)
        assert rows_of(pruning.prune(frame.where("late = 5"))) == [(1, 5, 0), (2, 5, 0)]
        assert rows_of(pruning.prune(frame.where("late IS NULL OR late > 5"))) == []
        monkeypatch.setattr(frames, "_coalesce", lambda spark, value, default: value)
        values = {row.late for row in version_frame(spark, version).collect()}
        assert values == ({5} if vectorized == "true" else {None})


def test_a_renamed_column_is_still_compared_by_the_reader_of_parquet(frame: Any) -> None:
    """The comparison and the partition filter reach the scan under the names in the files."""
    plan = frame.where("id >= 195 AND part = 1")._jdf.queryExecution().executedPlan().toString()
    assert "GreaterThanOrEqual(rest,195)" in plan
    assert "(part#" in plan.partition("PartitionFilters: ")[2].partition("PushedFilters")[0]


def test_deleted_rows_are_loaded_late_and_of_the_files_that_are_read(
    spark: Any, version: TableVersion
) -> None:
    loaded = version.deleted_rows.loaded
    del loaded[:]
    frame = version_frame(spark, version)
    pruned = pruning.prune(frame.where("id = 350"))
    assert not loaded
    assert rows_of(pruned) == [LIVE_BY_ID[350]]
    assert rows_of(pruning.prune(frame.where("id = 250"))) == [LIVE_BY_ID[250]]
    assert loaded == [2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A query, its rows, the number of files that it needs, and the technique that leaves out the others."""

    sql: str
    rows: list[tuple[Any, ...]]
    files: int
    technique: str


def _ids(*numbers: int) -> list[tuple[int]]:
    return [(number,) for number in numbers if number in LIVE_BY_ID]


CASES = {
    "point": Case(sql="SELECT id FROM version WHERE id = 205", rows=_ids(205), files=1, technique="filter"),
    "other column": Case(
        sql="SELECT id FROM version WHERE rest = 9795", rows=_ids(205), files=1, technique="filter"
    ),
    "IF": Case(
        sql="SELECT id FROM version WHERE IF(id % 2 = 0, id, id + 1) BETWEEN 210 AND 212",
        rows=_ids(209, 210, 211, 212),
        files=1,
        technique="filter",
    ),
    "partition": Case(
        sql="SELECT id FROM version WHERE part IN (1, 4) AND word LIKE 'word %9'",
        rows=_ids(*range(109, 200, 10), *range(409, 500, 10)),
        files=2,
        technique="filter",
    ),
    "top-k": Case(
        sql="SELECT id FROM version WHERE id >= 199 ORDER BY id LIMIT 3",
        rows=_ids(199, 203, 204),
        files=2,
        technique="top-k",
    ),
    # Of the three files, each has 96 live rows of 100.
    "limit": Case(
        sql="SELECT count(*) FROM (SELECT id FROM version WHERE part IN (0, 2, 4) AND id >= 0 LIMIT 97)",
        rows=[(97,)],
        files=2,
        technique="limit",
    ),
    "join": Case(
        sql="SELECT version.id FROM version JOIN keys ON version.id = keys.id",
        rows=_ids(104, 494),
        files=2,
        technique="join",
    ),
}


def differences(spark: Any, version: TableVersion, case: Case) -> list[str]:
    """Return what is not as a case says, for a query that is asked first as it is."""
    version_frame(spark, version).createOrReplaceTempView("version")
    spark.range(104, 500, 390).createOrReplaceTempView("keys")
    query = spark.sql(case.sql)
    pruned = pruning.prune(query)
    scan = next(scan for scan in pruning.explain(pruned).scans if scan.files_total == FILES)
    facts = {
        "rows as it is": (rows_of(query), case.rows),
        "rows pruned": (rows_of(pruned), case.rows),
        "files": (scan.files_kept, case.files),
        "technique": (case.technique in {removal.technique for removal in scan.removals}, True),
    }
    return [
        f"{name}: {actual}, not {expected}"
        for name, (actual, expected) in facts.items()
        if actual != expected
    ]


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_each_technique_leaves_out_files_and_no_row(spark: Any, version: TableVersion, case: Case) -> None:
    """The rows are those of the query as it is, and of the live rows."""
    assert differences(spark, version, case) == []


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
def test_mutants_of_versions_are_found_out(
    spark: Any, version: TableVersion, monkeypatch: pytest.MonkeyPatch, mutant: Replacement
) -> None:
    """Some case has other rows or other files."""
    monkeypatch.setattr(*mutant)
    assert any(differences(spark, version, case) for case in CASES.values())


def test_a_file_whose_rows_are_all_deleted_is_not_read(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int64())})
    frame = version_frame(
        spark,
        write_version(tmp_path, {"id": "long"}, [DataFile(rows=rows, deleted=(0, 1)), DataFile(rows=rows)]),
    )
    assert len(pruning.prune(frame).inputFiles()) == 1


def test_rows_deleted_by_their_values_are_of_older_files_and_of_the_partition(
    spark: Any, tmp_path: Path
) -> None:
    """NULL is the same as NULL."""
    rows = pa.table({"id": pa.array([1, 2, None], pa.int64())})
    deletes = EqualityDeletes(
        columns=(("id",),),
        rows=pa.table(
            {
                "0": pa.array([1, 2, None], pa.int64()),
                SEQUENCE: pa.array([2, 2, 3], pa.int64()),
                PARTITION: pa.array([EVERY_PARTITION, 1, EVERY_PARTITION], pa.int64()),
            }
        ),
    )
    files = [
        DataFile(rows=rows, sequence_number=number, partition_id=place)
        for place, number in enumerate((1, 1, 2))
    ]
    version = write_version(tmp_path, {"id": "long"}, files, equality_deletes=[deletes])
    rows_left = version_frame(spark, version).selectExpr("coalesce(id, 0)")
    assert rows_of(rows_left) == [(1,), (2,), (2,)]


def test_a_query_that_reads_where_its_rows_are_stays_as_it_is(spark: Any, tmp_path: Path, frame: Any) -> None:
    """Spark's own columns of files cannot be named if rows are deleted by position."""
    rows = pa.table({"id": pa.array([1, 2], pa.int64())})
    plain = version_frame(spark, write_version(tmp_path, {"id": "long"}, [DataFile(rows=rows)] * 2))
    query = plain.where("id = 3").select("id", "_metadata.file_name")
    assert "tells of files" in str(pruning.explain(query))
    with pytest.raises(AnalysisException):
        frame.select("_metadata.row_index")


def test_an_earlier_time_is_named_when_the_table_is_opened(frame: Any) -> None:
    with pytest.raises(InputError, match=r"`pruning\.table` opens a table"):
        pruning.prune(frame, as_of="2026-01-01")


def test_the_report_names_the_version_and_its_deletes(frame: Any) -> None:
    report = str(pruning.explain(frame.where("id = 205")))
    assert "the table of Delta Lake is read at version 7" in report
    assert "rows of 3 of its files are deleted by their positions" in report


def test_a_pruned_frame_is_pruned_again_with_its_deletes(frame: Any) -> None:
    once = pruning.prune(frame.where("id >= 200"))
    twice = pruning.prune(once.where("id < 300"))
    assert len(twice.inputFiles()) == 1
    assert rows_of(twice) == [row for row in LIVE if 200 <= row[0] < 300]


def test_a_table_without_files_has_its_columns_and_no_row(spark: Any, tmp_path: Path) -> None:
    frame = version_frame(spark, write_version(tmp_path, {"id": "long"}, [], layouts=[]))
    assert frame.columns == ["id"]
    assert pruning.prune(frame.where("id = 1")).collect() == []


@pytest.mark.parametrize("name", ["`deleted", "`sequence", "_tmp_metadata_row_index"])
def test_a_column_with_the_name_of_a_hidden_one_is_refused(spark: Any, tmp_path: Path, name: str) -> None:
    rows = pa.table({name: pa.array([1], pa.int64())})
    with pytest.raises(InputError, match="rename the column"):
        version_frame(spark, write_version(tmp_path, {name: "long"}, [DataFile(rows=rows)]))
