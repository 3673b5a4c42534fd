"""The first task of a scan, estimated from sizes and settings, beside the one that Spark plans."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from mutants.first_tasks import ALWAYS_ENOUGH, MUTANTS
from pruning.spark.lake.first_task import TaskSizes, first_task

ROWS = 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """A table of 40 files of 100 rows each and of sizes that all differ, one of them much larger."""
    root = Path(tmp_path_factory.mktemp("first_tasks"))
    for number in range(40):
        keys = np.arange(number * ROWS, (number + 1) * ROWS)
        text = [f"{key:>{200 if number == 17 else 10 + (number * 13) % 40}}" for key in keys]
        pq.write_table(pa.table({"k": keys, "s": text}), root / f"{number:02}.parquet", compression="none")
    return root


# The most bytes of a task, what opening counts as, and the least number of tasks.
SETTINGS = [("128m", "4m", 2), ("16k", "1k", 2), ("16k", "4k", 4), ("128m", "2k", 4), ("30k", "1", 1)]


def of_spark(frame: Any, sizes: np.ndarray) -> tuple[set[int], float]:
    """Return the places of the files of the first task that Spark plans, and the share of them in bytes."""
    (scan,) = [
        node
        for node in nodes(frame._jdf.queryExecution().sparkPlan())
        if node.getClass().getSimpleName() == "FileSourceScanExec"
    ]
    partition = scan.inputRDDs().head().partitions()[0]
    parts = [(Path(part.urlEncodedPath()).stem, part.length()) for part in partition.files()]
    places = {int(name) for name, _ in parts}
    return places, sum(length for _, length in parts) / int(sizes[sorted(places)].sum())


def nodes(plan: Any) -> list[Any]:
    """Return a physical plan's operators."""
    children = plan.children()
    return [plan, *(node for place in range(children.size()) for node in nodes(children.apply(place)))]


@pytest.fixture(params=SETTINGS, ids=str)
def settings(request: Any, spark: Any) -> Any:
    """A session with the settings by which files are packed into tasks."""
    names = ("maxPartitionBytes", "openCostInBytes", "minPartitionNum")
    for name, value in zip(names, request.param, strict=True):
        spark.conf.set(f"spark.sql.files.{name}", value)
    yield TaskSizes.of(spark)
    for name in names:
        spark.conf.unset(f"spark.sql.files.{name}")


def disagrees(estimate: tuple[np.ndarray, float], planned: tuple[set[int], float]) -> bool:
    """Tell whether an estimate is not the task that Spark plans."""
    (places, share), (planned_places, planned_share) = estimate, planned
    return set(places.tolist()) != planned_places or abs(share - planned_share) > 0.01


def test_the_first_task_is_the_one_that_spark_plans(spark: Any, folder: Path, settings: TaskSizes) -> None:
    sizes = np.array([path.stat().st_size for path in sorted(folder.iterdir())])
    planned = of_spark(spark.read.parquet(str(folder)), sizes)
    assert not disagrees(first_task(sizes, settings), planned)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_estimates_differ_from_what_spark_plans(spark: Any, folder: Path, mutant: Any) -> None:
    sizes = np.array([path.stat().st_size for path in sorted(folder.iterdir())])
    differences = []
    for bytes_max, open_bytes, count in ((16 << 10, 1 << 10, 2), (128 << 20, 2 << 10, 4)):
        estimate = mutant(sizes, TaskSizes(bytes_max, open_bytes, count))
        places, share = first_task(sizes, TaskSizes(bytes_max, open_bytes, count))
        differences.append(disagrees(estimate, (set(places.tolist()), share)))
    assert any(differences)


def test_a_table_without_files_has_no_first_task() -> None:
    places, share = first_task(np.zeros(0, np.int64), TaskSizes(128 << 20, 4 << 20, 2))
    assert (places.tolist(), share) == ([], 1.0)


def kept_files(spark: Any, folder: Path, wanted: int) -> int:
    """Return the files that pruning keeps of a LIMIT at the top, where tasks are of at most 30 KB."""
    spark.conf.set("spark.sql.files.maxPartitionBytes", "30k")
    spark.conf.set("spark.sql.files.openCostInBytes", "1k")
    try:
        pruned = pruning.prune(spark.read.parquet(str(folder)).limit(wanted))
        assert len(pruned.collect()) == wanted
        return int(pruning.explain(pruned).scans[0].files_kept or 0)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.conf.unset("spark.sql.files.openCostInBytes")


def test_a_limit_at_the_top_chooses_files_where_the_first_task_has_too_few_rows(
    spark: Any, folder: Path
) -> None:
    assert kept_files(spark, folder, 50) == 40  # The first task has a file of 100 rows at least.
    assert kept_files(spark, folder, 2_000) == 20


def test_a_limit_that_trusts_the_first_task_always_leaves_the_choice_to_spark(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*ALWAYS_ENOUGH)
    assert kept_files(spark, folder, 2_000) == 40


def test_a_limit_over_a_union_is_left_to_the_first_task_of_its_first_branch(spark: Any, folder: Path) -> None:
    table = spark.read.parquet(str(folder))
    reports = [
        pruning.explain(table.select("k").unionAll(table.select("k")).limit(wanted)) for wanted in (50, 6_000)
    ]
    assert [[scan.files_kept for scan in report.scans] for report in reports] == [[40, 40], [40, 20]]
