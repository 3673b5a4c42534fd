import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows = [(0.0, 0), (-0.0, 1)]
path, ctx = tempfile.mkdtemp(), SessionContext()
ctx.sql("SET datafusion.execution.target_partitions = 1")
pq.write_table(pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]}), f"{path}/t.parquet")
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}/t.parquet'")
expected = [rid for key, rid in sorted((1.0 if a > 0.0 else 0.0, rid) for a, rid in rows if a + a == 0.0)]
order = "CASE WHEN a > 0.0 THEN 1.0 ELSE 0.0 END, rid"
actual = ctx.sql(f"SELECT rid FROM t WHERE a + a = 0.0 ORDER BY {order}").to_pydict()["rid"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
