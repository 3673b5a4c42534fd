"""Real executor processes: programs, footers and named row groups cross to them and back."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pruning.metadata.store.store import BLOCKS_LOADED_VARIABLE
from skipproof.java import use_java

SCRIPT = """
import sys
import pruning
from pruning.expressions.trees import Column, Compare, Comparison, Literal
from pruning.expressions.types import LONG
from pruning.metadata.store import searching
from pruning.metadata.store.collecting import read_blocks
from pruning.metadata.table import reading
from pruning.spark.drive.block_reading import NeededBlocks
from pruning.spark.jvm.gateway import dataframe
from pruning.spark.lake.row_groups import RowGroups, with_row_groups
from pruning.verdicts.classification import classify_blocks
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false").config("spark.executor.memory", "1g").getOrCreate()
)
try:
    reading.SPARK_FILES_MIN, searching.SPARK_BLOCKS_MIN = 1, 0
    metadata = pruning.collect(sys.argv[1], spark=spark)
    assert metadata.equals(pruning.collect(sys.argv[1], cache=False))
    few = Compare(Comparison.LESS, Column("a", LONG), Literal(25, LONG))
    assert classify_blocks(few, metadata).to_pylist() == [2, 2, 1, 0, 0, 0]
    files = metadata["file"].to_pylist()
    blocks = read_blocks(files, question=NeededBlocks(few, {"a": LONG}), spark=spark)
    assert blocks.metadata["file"].to_pylist() == files[:3], blocks
    assert {file for part in blocks.excluded for file in part.files} == set(files[3:]), blocks
    frame = spark.read.parquet(sys.argv[1])
    parts = [RowGroups({file: [] for file in frame.inputFiles()[1:]})]
    named = with_row_groups(spark, frame._jdf.queryExecution().analyzed(), parts, open_bytes=0)
    assert dataframe(spark, named.leaf).count() == 10
    print("agreed")
finally:
    spark.stop()
"""


@pytest.mark.deep
def test_footers_and_programs_work_in_executors_of_their_own(tmp_path: Path) -> None:
    use_java()
    for number in range(6):
        values = pa.table({"a": pa.array(range(10 * number, 10 * number + 10), pa.int64())})
        pq.write_table(values, tmp_path / f"{number}.parquet")
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, BLOCKS_LOADED_VARIABLE: "0"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert run.stdout.strip().endswith("agreed"), run.stderr[-2000:]
    assert "in threads" not in run.stderr
