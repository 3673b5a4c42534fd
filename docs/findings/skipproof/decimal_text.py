import sys
import tempfile
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

rows, path = [Decimal("0.0000000002")], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": pa.array(rows, pa.decimal128(38, 10))}), path)
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
expected = [format(a, "f") for a in rows]
actual = [format(a, "f") for (a,) in spark.read.parquet(path).collect()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
