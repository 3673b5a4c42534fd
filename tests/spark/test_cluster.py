"""Real executor processes: programs and footers cross to them and back."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skipproof.java import use_java

SCRIPT = """
import sys
import pruning
from pruning.verdicts.classification import classify_blocks
from pruning.expressions.trees import Column, Compare, Comparison, Literal
from pruning.expressions.types import LONG
from pruning.metadata.table import reading
from pruning.spark.drive.executors import classify_in_executors
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false").config("spark.executor.memory", "1g").getOrCreate()
)
try:
    reading.SPARK_FILES_MIN = 1
    metadata = pruning.collect(sys.argv[1], spark=spark, cache=False)
    assert metadata.equals(pruning.collect(sys.argv[1], cache=False))
    few = Compare(Comparison.LESS, Column("a", LONG), Literal(25, LONG))
    there = classify_in_executors(few, metadata, spark).to_pylist()
    assert there == classify_blocks(few, metadata).to_pylist() == [2, 2, 1, 0, 0, 0], there
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
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert run.stdout.strip().endswith("agreed"), run.stderr[-2000:]
    assert "reading them in threads" not in run.stderr
