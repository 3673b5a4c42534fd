import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows = [(1, 3), (2, 0)]
path, ctx = tempfile.mkdtemp(), SessionContext()
ctx.sql("SET datafusion.execution.target_partitions = 1")
ctx.sql("SET datafusion.execution.parquet.pushdown_filters = true")
table = pa.table({"b": [b for b, _ in rows], "a": [a for _, a in rows]})
pq.write_table(table, f"{path}/t.parquet", row_group_size=1)
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}/t.parquet'")
expected = [min((a + b, b, a) for b, a in rows)[2]]
actual = ctx.sql("SELECT a FROM t ORDER BY a + b, b LIMIT 1").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
