import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, root = [("x:y", 0)], tempfile.mkdtemp()
table = pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]})
pq.write_to_dataset(table, root, partition_cols=["a"])  # into the directory a=x%3Ay
ctx = SessionContext()
ctx.sql(f"CREATE EXTERNAL TABLE t (a TEXT, rid INT) STORED AS PARQUET PARTITIONED BY (a) LOCATION '{root}/'")
expected = [rid for a, rid in rows if a == "x:y"]
actual = ctx.sql("SELECT rid FROM t WHERE a = 'x:y'").to_pydict()["rid"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
