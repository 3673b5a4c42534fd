"""Row groups that are named: their rows are read, each once, whatever else is in the plan."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

import pruning
from mutants.metadata.row_groups import MUTANTS
from pruning.spark.jvm.gateway import dataframe
from pruning.spark.lake import row_groups
from pruning.spark.lake.row_groups import (
    WHOLE_FILES_VARIABLE,
    RowGroupLeaf,
    RowGroups,
    with_row_groups,
    worthwhile_row_groups,
)

GROUPS, GROUP_ROWS = 10, 40
PARTITIONS = ("1", "x y%", "__HIVE_DEFAULT_PARTITION__")
# Pages of 10 rows, with an index.
PAGED = {"write_page_index": True, "use_dictionary": False, "data_page_size": 1, "write_batch_size": 10}


def file_of(number: int) -> pa.Table:
    """Return the rows of a file: `a` is sorted, with NULL; `f` is NaN where `a` is a multiple of 10."""
    rows = range(number * 1_000, number * 1_000 + GROUPS * GROUP_ROWS)
    return pa.table(
        {
            "a": pa.array([None if row % 7 == 3 else row for row in rows], pa.int64()),
            "f": pa.array([float("nan") if row % 10 == 0 else row / 2 for row in rows], pa.float64()),
            "s": pa.array([{"x": row, "y": [row] * (row % 3)} if row % 5 else None for row in rows]),
            "name": [f"name {row}" for row in rows],
        }
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of three files, each in a partition and of ten row groups."""
    root = tmp_path_factory.mktemp("row groups 100%")
    for number, name in enumerate(PARTITIONS):
        path = root / f"p={name.replace('%', '%25')}" / f"{number} %.parquet"
        path.parent.mkdir()
        pq.write_table(file_of(number), path, row_group_size=GROUP_ROWS, **PAGED)
    return root


def paths_by_number(frame: DataFrame) -> list[str]:
    """Return the files of a table as Spark lists them, in the order of their numbers."""
    return sorted(frame.inputFiles(), key=lambda path: path.rpartition("/")[2])


def name_groups(
    spark: Any, frame: DataFrame, parts: Sequence[RowGroups], open_bytes: int = 0, **options: Any
) -> RowGroupLeaf:
    leaf = frame._jdf.queryExecution().analyzed()
    ranged = with_row_groups(spark, leaf, parts, open_bytes=open_bytes, **options)
    assert ranged is not None
    return ranged


def rows_of(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.collect()))


def within(frame: DataFrame, groups: Mapping[int, Sequence[int]]) -> DataFrame:
    """Return the rows of some row groups, by their positions in their files, as Spark reads whole files."""
    return frame.where(
        " OR ".join(
            f"(_metadata.file_path LIKE '%/{number}\\%20\\%25.parquet' AND "
            f"_metadata.row_index DIV {GROUP_ROWS} IN ({', '.join(map(str, ordinals))}))"
            for number, ordinals in groups.items()
        )
    )


def check_rows(spark: Any, lake: Path, query: str = "*") -> None:
    """Check that the rows of some row groups are read, each once."""
    frame = spark.read.parquet(str(lake))
    groups = {0: [0, 3, 4, 9], 1: [5], 2: list(range(GROUPS))}
    paths = paths_by_number(frame)
    parts = [RowGroups({paths[number]: ordinals}) for number, ordinals in groups.items() if number < 2]
    ranged = name_groups(spark, frame, parts)
    assert ranged.spared_bytes > 0
    expressions = query.split(" | ")
    assert rows_of(dataframe(spark, ranged.leaf).selectExpr(*expressions)) == rows_of(
        within(frame, groups).selectExpr(*expressions)
    )


@pytest.mark.parametrize(
    "query", ["*", "p", "s.x | p", "name | p | a", "1", "f | _metadata.row_index", "_metadata.file_name | a"]
)
def test_the_rows_are_those_of_the_row_groups(spark: Any, lake: Path, query: str) -> None:
    """Of the third file, which is not named, all rows are read."""
    check_rows(spark, lake, query)


def test_the_rows_are_those_of_the_row_groups_by_the_slower_reader(spark: Any, lake: Path) -> None:
    setting = "spark.sql.parquet.enableVectorizedReader"
    spark.conf.set(setting, "false")
    try:
        check_rows(spark, lake, "* | _metadata.row_index")
    finally:
        spark.conf.unset(setting)


def test_filters_are_pushed_and_partitions_pruned(spark: Any, lake: Path) -> None:
    frame = spark.read.parquet(str(lake))
    paths = paths_by_number(frame)
    leaf = name_groups(spark, frame, [RowGroups({paths[0]: [1, 8], paths[1]: [2]})]).leaf
    query = dataframe(spark, leaf).where("a > 50 AND p IN ('1', 'none')").select("name")
    assert sorted(row.name for row in query.collect()) == sorted(
        f"name {row}" for row in (*range(51, 80), *range(320, 360)) if row % 7 != 3
    )
    plan = query._jdf.queryExecution().executedPlan().toString()
    assert "GreaterThan(a,50)" in plan
    assert "ReadSchema: struct<a:bigint,name:string>" in plan


def test_two_scans_of_one_leaf_are_joined(spark: Any, lake: Path) -> None:
    frame = spark.read.parquet(str(lake))
    leaf = name_groups(spark, frame, [RowGroups({path: [1] for path in frame.inputFiles()})]).leaf
    dataframe(spark, leaf).createOrReplaceTempView("row_groups_named")
    pairs = spark.sql("SELECT count(*) FROM row_groups_named JOIN row_groups_named b USING (name)")
    assert pairs.collect()[0][0] == 3 * GROUP_ROWS


def check_metadata(spark: Any, lake: Path) -> None:
    """Check that the hidden column tells of the files, and of where a piece is in them."""
    frame = spark.read.parquet(str(lake))
    path = paths_by_number(frame)[0]
    leaf = name_groups(spark, frame, [RowGroups({path: [3]})]).leaf
    fields = ["file_path", "file_name", "file_size", "file_modification_time"]
    names = [f"_metadata.{name}" for name in fields]
    ranged = dataframe(spark, leaf).where("p = '1'").selectExpr(*names, "_metadata.file_block_start place")
    (row,) = ranged.distinct().collect()
    (expected,) = frame.where("p = '1'").selectExpr(*names).distinct().collect()
    assert row[:4] == expected[:4]
    local = next(lake.glob("p=1/*"))
    assert row.place == pq.read_metadata(local).row_group(3).column(0).data_page_offset


def test_the_hidden_column_of_metadata_is_that_of_files(spark: Any, lake: Path) -> None:
    check_metadata(spark, lake)


def check_conditions(spark: Any, lake: Path) -> None:
    """Check that pages are skipped by the condition of their row groups, and by no unsound one."""
    frame = spark.read.parquet(str(lake))
    paths = paths_by_number(frame)
    parts = [
        RowGroups({paths[0]: [0, 2], paths[1]: []}, "a BETWEEN 12 AND 17 OR a BETWEEN 91 AND 92"),
        RowGroups({paths[0]: [5]}, "f > 115"),
        RowGroups({paths[2]: [0]}),
    ]
    table = dataframe(spark, name_groups(spark, frame, parts).leaf)
    rows = [int(row.name.split()[1]) for row in table.select("name", "a", "f").collect()]
    assert sorted(rows) == [*range(10, 20), *range(90, 100), *range(200, 240), *range(2000, 2040)]
    # Without the columns, nothing is skipped by them.
    assert table.select("name").count() == table.select("p").count() == 4 * GROUP_ROWS


def test_each_part_has_a_condition_of_its_own(spark: Any, lake: Path) -> None:
    check_conditions(spark, lake)


def check_milliseconds(spark: Any, directory: Path) -> None:
    """Check that no row is lost by a constant that Spark rounds to the milliseconds of a file."""
    times = pa.table({"t": pa.array(range(GROUP_ROWS), pa.timestamp("ms", "UTC")), "n": range(GROUP_ROWS)})
    pq.write_table(times, directory / "0.parquet", **PAGED)
    frame = spark.read.parquet(str(directory))
    constant = "timestamp'1970-01-01 00:00:00.0205Z'"
    for condition in (f"t < {constant}", f"t <= {constant}", f"NOT (t >= {constant})"):
        parts = [RowGroups({frame.inputFiles()[0]: [0]}, condition)]
        leaf = with_row_groups(spark, frame._jdf.queryExecution().analyzed(), parts, open_bytes=0)
        table = frame if leaf is None else dataframe(spark, leaf.leaf)
        # The query has no such condition, which Spark would push, too.
        assert {row.n for row in table.collect()} >= set(range(21)), condition
        assert (leaf is not None) == ("<=" in condition)


def test_no_row_is_lost_by_constants_that_spark_rounds(spark: Any, tmp_path: Path) -> None:
    check_milliseconds(spark, tmp_path)


def check_lying_sizes(spark: Any, directory: Path) -> None:
    """Check a file whose footer says that each row group is as large as the file."""
    path = directory / "t" / "0.parquet"
    path.parent.mkdir()
    pq.write_table(file_of(0), path, row_group_size=GROUP_ROWS)
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    util = spark._jvm.org.apache.parquet.format.Util
    footer = util.readFileMetaData(spark._jvm.java.io.ByteArrayInputStream(content[start:-8]))
    for group in footer.getRow_groups():
        group.setTotal_compressed_size(len(content))
    written = spark._jvm.java.io.ByteArrayOutputStream()
    util.writeFileMetaData(footer, written)
    changed = bytes(written.toByteArray())
    path.write_bytes(content[:start] + changed + len(changed).to_bytes(4, "little") + b"PAR1")
    frame = spark.read.parquet(str(path.parent))
    part = RowGroups({frame.inputFiles()[0]: [1]})
    leaf = with_row_groups(spark, frame._jdf.queryExecution().analyzed(), [part], open_bytes=0)
    table = frame if leaf is None else dataframe(spark, leaf.leaf)
    assert table.where(f"name = 'name {GROUP_ROWS + 1}'").count() == 1


def test_a_file_whose_row_groups_the_reader_does_not_find_is_read_whole(spark: Any, tmp_path: Path) -> None:
    check_lying_sizes(spark, tmp_path)


def test_pieces_are_joined_and_split(spark: Any, lake: Path) -> None:
    """Row groups between others are read if they are smaller than what opening the file again costs."""
    frame = spark.read.parquet(str(lake))
    parts = [RowGroups({paths_by_number(frame)[0]: [1, 2, 4, 8]})]
    group = pq.read_metadata(next(lake.glob("p=1/*"))).row_group(3)
    group_bytes = sum(group.column(place).total_compressed_size for place in range(group.num_columns))
    few = name_groups(spark, frame, parts, open_bytes=2 * group_bytes)
    many = name_groups(spark, frame, parts)
    assert few.spared_bytes < many.spared_bytes
    counts = [dataframe(spark, ranged.leaf).where("p = '1'").count() for ranged in (few, many)]
    assert counts == [5 * GROUP_ROWS, 4 * GROUP_ROWS]
    setting = "spark.sql.files.maxPartitionBytes"
    spark.conf.set(setting, "1b")
    try:
        split = name_groups(spark, frame, [RowGroups({name: [1, 2, 4] for name in frame.inputFiles()})])
        assert split.pieces == 9
        assert dataframe(spark, split.leaf).count() == 9 * GROUP_ROWS
    finally:
        spark.conf.unset(setting)


def test_only_bytes_of_columns_that_are_read_count(spark: Any, lake: Path) -> None:
    frame = spark.read.parquet(str(lake))
    parts = [RowGroups({paths_by_number(frame)[0]: [1]})]
    counts = [
        name_groups(spark, frame, parts, columns=names).spared_bytes for names in (["a"], ["a", "s"], None)
    ]
    assert 0 < counts[0] < counts[1] < counts[2]


def test_a_leaf_stays_where_nothing_can_be_spared(
    spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.read.parquet(str(lake))
    path = paths_by_number(frame)[0]
    leaf = frame._jdf.queryExecution().analyzed()
    refusing = partial(with_row_groups, spark, open_bytes=0)
    assert refusing(leaf, []) is None
    assert refusing(leaf, [RowGroups({path: range(GROUPS)})]) is None
    assert refusing(leaf, [RowGroups({path: [GROUPS]})]) is None
    assert refusing(spark.range(3)._jdf.queryExecution().analyzed(), [RowGroups({path: [1]})]) is None
    ranged = refusing(leaf, [RowGroups({path: [1]})])
    assert ranged is not None
    assert refusing(ranged.leaf, [RowGroups({path: [2]})]) is None
    monkeypatch.setattr(row_groups, "PIECES_MAX", 2)
    assert refusing(leaf, [RowGroups({path: [1]})]) is None
    monkeypatch.undo()
    monkeypatch.setenv(WHOLE_FILES_VARIABLE, "1")
    assert refusing(leaf, [RowGroups({path: [1]})]) is None


def check_pruned_again(spark: Any, lake: Path) -> None:
    """Check queries over a leaf of some row groups, of which all other row groups do not exist."""
    frame = spark.read.parquet(str(lake))
    paths = paths_by_number(frame)
    parts = [RowGroups({paths[0]: [1, 2], paths[1]: [7], paths[2]: [4]})]
    dataframe(spark, name_groups(spark, frame, parts).leaf).createOrReplaceTempView("named_once")
    for query, files in {
        "SELECT name FROM named_once WHERE a < 1000": 1,
        "SELECT name FROM named_once WHERE a > 1000 AND p = 'x y%'": 1,
        "SELECT name FROM named_once WHERE a = 5": 0,
        "SELECT name FROM named_once ORDER BY a DESC NULLS LAST LIMIT 3": None,
    }.items():
        plain = spark.sql(query)
        pruned = pruning.prune(plain)
        assert rows_of(pruned) == rows_of(plain)
        assert files is None or len(pruned.inputFiles()) == files, query


def test_a_leaf_with_named_row_groups_is_pruned_again(spark: Any, lake: Path) -> None:
    check_pruned_again(spark, lake)


def test_a_leaf_with_conditions_is_not_pruned_again(spark: Any, lake: Path) -> None:
    frame = spark.read.parquet(str(lake))
    part = RowGroups({frame.inputFiles()[0]: [1]}, "a BETWEEN 41 AND 45")
    query = dataframe(spark, name_groups(spark, frame, [part]).leaf).where("a = 45")
    assert "rows of its files are left out already" in str(pruning.explain(query))
    assert rows_of(pruning.prune(query)) == rows_of(query)


def test_row_groups_are_worth_naming_where_they_spare_as_much_as_opening_costs(lake: Path) -> None:
    metadata = pruning.collect(str(lake), cache=False)
    keep = np.ones(metadata.num_rows, bool)
    keep[[1, 2]] = False
    keep[12] = False
    spared = metadata["byte_count"].to_numpy()[[1, 2]].sum()
    file = metadata["file"][0].as_py()
    assert worthwhile_row_groups(metadata, keep, None, int(spared)) == {file: [0, 3, 4, 5, 6, 7, 8, 9]}
    assert worthwhile_row_groups(metadata, keep, None, int(spared) + 1) == {}
    assert len(worthwhile_row_groups(metadata, keep, frozenset({"a"}), 0)) == 2
    assert list(worthwhile_row_groups(metadata, keep, None, 0, skipped=np.arange(30) == 12)) == [file]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_row_groups_is_found_out(
    name: str, spark: Any, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes one of these checks fail."""
    checks = {
        "Parquet's reader is not asked": partial(check_lying_sizes, spark, tmp_path),
        "a piece is a file": partial(check_metadata, spark, lake),
        "columns that are not read have conditions": partial(check_conditions, spark, lake),
        "bounds hold NaN": partial(check_conditions, spark, lake),
        "nothing is rounded": partial(check_milliseconds, spark, tmp_path),
        "row groups that are not read have rows": partial(check_pruned_again, spark, lake),
    }
    monkeypatch.setattr(*MUTANTS[name])
    # py4j remembers, in each thread, the methods of a Java class by the class's name, which a mutant has too.
    with ThreadPoolExecutor(1) as thread, pytest.raises(AssertionError):
        thread.submit(checks.get(name, partial(check_rows, spark, lake))).result()
