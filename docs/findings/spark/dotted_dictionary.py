import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

rows, path = [(1, 2)], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"s": [{"a": a} for a, _ in rows], "s.a": [b for _, b in rows]}), path)
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("parquet.filter.dictionary.enabled", "true")
expected = [a for a, _ in rows if a == 1]
actual = [a for (a,) in spark.read.parquet(path).where("s.a = 1").select("s.a").collect()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
