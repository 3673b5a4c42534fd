import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

rows, path = [0.0, 0.0], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": rows}), path)
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("parquet.filter.dictionary.enabled", "true")
expected = [a for a in rows if a == -0.0]
actual = [a for (a,) in spark.read.parquet(path).where("a = DOUBLE('-0.0')").collect()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
