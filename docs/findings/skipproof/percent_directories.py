import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

rows, root = [("\u00e9", 0)], tempfile.mkdtemp()
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
for a, rid in rows:  # into the directory a=%C3%A9
    pq.write_to_dataset(pa.table({"a": [a], "rid": [rid]}), root, ["a"])
expected = [(rid, a) for a, rid in rows]
actual = [tuple(row) for row in spark.read.schema("rid BIGINT, a STRING").parquet(root).collect()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
