import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

rows, root = [("", 0)], tempfile.mkdtemp()
for a, rid in rows:  # into the directory a=
    pq.write_to_dataset(pa.table({"a": [a], "rid": [rid]}), root, ["a"])
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
expected = [(rid, a) for a, rid in rows]
try:
    actual = [tuple(row) for row in spark.read.schema("rid BIGINT, a STRING").parquet(root).collect()]
except PySparkException as error:
    actual = str(error).partition(" ")[0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
