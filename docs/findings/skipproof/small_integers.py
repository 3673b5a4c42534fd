import sys
import tempfile
from ctypes import c_int16

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

rows, path = [-32767], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": pa.array(rows, pa.int16())}), path)
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
expected = [a for a in rows if c_int16(a - 2).value >= 16384]
actual = [a for (a,) in spark.read.parquet(path).where("a - 2 >= 16384").collect()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
