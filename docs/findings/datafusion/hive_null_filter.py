import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, root = [("0", 0), ("x", 1)], tempfile.mkdtemp()
table = pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]})
pq.write_to_dataset(table, root, partition_cols=["a"])
ctx = SessionContext()
ctx.sql(f"CREATE EXTERNAL TABLE t (a TEXT, rid INT) STORED AS PARQUET PARTITIONED BY (a) LOCATION '{root}/'")
expected = [rid for a, rid in rows if a.isdigit() and int(a) == 0]  # the cast of x is NULL
actual = ctx.sql("SELECT rid FROM t WHERE TRY_CAST(a AS INT) = 0 ORDER BY rid").to_pydict()["rid"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
