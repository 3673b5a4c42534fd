import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, root, ctx = {"t": [0.0], "u": [-0.0]}, tempfile.mkdtemp(), SessionContext()
ctx.sql("SET datafusion.execution.target_partitions = 1")
ctx.sql("SET datafusion.execution.parquet.pushdown_filters = true")
for table, values in rows.items():
    pq.write_table(pa.table({f"a_{table}": values}), f"{root}/{table}.parquet")
    ctx.sql(f"CREATE EXTERNAL TABLE {table} STORED AS PARQUET LOCATION '{root}/{table}.parquet'")
expected = [(a, b) for a in rows["t"] for b in rows["u"] if a == b]
batches = ctx.sql("SELECT a_t, a_u FROM t JOIN u ON a_t = a_u").collect()
actual = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
