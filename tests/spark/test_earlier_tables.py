"""`prune(df, as_of=...)` reads each table of a query as it was, or says why it cannot."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.errors import InputError
from pruning.metadata.store.past import complete_looks

QUERIES = {
    "filter": ("SELECT x FROM t WHERE x % 10 = 1 AND x > 0", [[1], [1, 11], [1, 11, 21]]),
    "top-k": ("SELECT x FROM t ORDER BY x DESC LIMIT 1", [[1], [11], [21]]),
    "self-join": ("SELECT a.x FROM t a JOIN t b ON a.x = b.x + 1 WHERE b.x > 5", [[], [11], [11, 21]]),
    "subquery": ("SELECT x FROM t WHERE x = (SELECT max(x) FROM t)", [[1], [11], [21]]),
    "CTE": (
        "WITH c AS (SELECT x FROM t) SELECT x FROM c WHERE x IN (SELECT x + 1 FROM c)",
        [[1], [1, 11], [1, 11, 21]],
    ),
    "partition": ("SELECT x FROM t WHERE p = 1", [[], [10, 11], [10, 11]]),
}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A partitioned table that was collected with one file, then two, then three."""
    root = tmp_path / "a lake"
    for number in range(3):
        write(root, number)
        pruning.collect(root)
    return root


def write(root: Path, number: int) -> Path:
    """Write the file of a partition, of two rows."""
    path = root / f"p={number}" / "rows.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": [10 * number, 10 * number + 1]}), path)
    return path


def times(lake: Path) -> list[datetime]:
    """Return the times of the looks."""
    return [look.time for look in complete_looks(lake)]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_answers_as_at_each_look(spark: Any, lake: Path, query: str) -> None:
    sql, answers = QUERIES[query]
    spark.read.parquet(str(lake)).createOrReplaceTempView("t")
    df = spark.sql(sql)
    for time, answer in zip(times(lake), answers, strict=True):
        assert sorted(row[0] for row in pruning.prune(df, as_of=time).collect()) == answer
        assert (
            len(pruning.prune(df, as_of=time).inputFiles()) <= len(pruning.prune(df).inputFiles()) or answer
        )
    # The DataFrame itself is as it was.
    assert sorted(row[0] for row in df.collect()) == answers[-1]


def test_what_is_pruned_is_said_of_the_earlier_table(spark: Any, lake: Path) -> None:
    df = spark.read.parquet(str(lake)).where("x = 11")
    first, second, _ = times(lake)
    (scan,) = pruning.explain(df, as_of=second).scans
    assert (scan.files_total, scan.files_kept) == (2, 1)
    (scan,) = pruning.explain(df, as_of=first).scans
    assert (scan.files_total, scan.files_kept) == (1, 0)
    assert df.alias("a").select("a.x").count() == 1


def test_a_file_that_is_gone_is_named(spark: Any, lake: Path) -> None:
    first, second, third = times(lake)
    write(lake, 1)
    df = spark.read.parquet(str(lake))
    assert pruning.prune(df, as_of=first).count() == 2
    for time in (second, third):
        with pytest.raises(
            InputError, match=r"p=1/rows\.parquet: was in the table .*removed or written again"
        ):
            pruning.prune(df, as_of=time)


def test_a_frame_that_is_older_than_a_file_is_made_anew(spark: Any, lake: Path) -> None:
    """It lists files that were written again, or that it does not know."""
    old = spark.read.parquet(str(lake))
    write(lake, 3)
    write(lake, 2)
    pruning.collect(lake)
    with pytest.raises(InputError, match="make it anew"):
        pruning.prune(old, as_of=times(lake)[-1])
    assert pruning.prune(old, as_of=times(lake)[1]).count() == 4


def test_what_has_no_history_is_refused(spark: Any, lake: Path, tmp_path: Path) -> None:
    """One sentence each; never the present rows instead."""
    time = times(lake)[0]
    t = spark.read.parquet(str(lake))
    csv = tmp_path / "csv"
    t.write.csv(str(csv))
    cached = t.select("x").cache()
    cached.count()
    several = spark.read.parquet(str(lake / "p=0"), str(lake / "p=1"))
    for df, sentence in (
        (
            t.join(spark.read.csv(str(csv)), t.x.cast("string") == "_c0"),
            "LogicalRelation has no earlier state",
        ),
        (cached.where("x > 3"), "nothing that is cached"),
        (several, "one directory for each table"),
        (spark.read.parquet(str(lake / "p=2")), "has no history"),
        (spark.createDataFrame(spark.sparkContext.parallelize([(1,)]), "x int"), "LogicalRDD has no earlier"),
    ):
        with pytest.raises(InputError, match=sentence):
            pruning.prune(df, as_of=time)
    cached.unpersist()
    with pytest.raises(InputError, match="as_of is 'soon'"):
        pruning.prune(t, as_of="soon")
    with pytest.raises(InputError, match="where a Spark DataFrame is needed"):
        pruning.prune("t", as_of=time)
