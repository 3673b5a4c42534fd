import math
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

rows, path = [(math.nan, 0), (1.0, 1)], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]}), path)
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("parquet.filter.stats.enabled", "true")
# In Spark, NaN is above every number.
expected = [rid for a, rid in rows if a > 1.0 or math.isnan(a)]
actual = [rid for (rid,) in spark.read.parquet(path).where("a > 1D").select("rid").collect()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
