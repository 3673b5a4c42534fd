import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, root, ctx = [(0, 0), (2, 0)], tempfile.mkdtemp(), SessionContext()
table = pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]})
for file in range(2):
    pq.write_table(table, f"{root}/{file}.parquet", row_group_size=1)
ctx.sql("SET datafusion.execution.target_partitions = 2")
ctx.sql("SET datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown = true")
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{root}/'")
expected = [max(a + 1 for a, _ in rows), max(b for _, b in rows)]
answer = ctx.sql("SELECT max(a + 1) AS a, max(b) AS b FROM t").to_pydict()
actual = [answer["a"][0], answer["b"][0]]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
