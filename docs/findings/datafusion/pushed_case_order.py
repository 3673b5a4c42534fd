import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, root, ctx = [(1, 0), (0, 0)], tempfile.mkdtemp(), SessionContext()
for file, (a, b) in enumerate(rows):
    pq.write_table(pa.table({"a": [a], "b": [b]}), f"{root}/{file}.parquet")
ctx.sql("SET datafusion.execution.target_partitions = 1")
ctx.sql("SET datafusion.execution.parquet.pushdown_filters = true")
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{root}/'")
expected = [a for a, b in sorted(rows, key=lambda row: 9 if row[1] == 1 else row[0])[:1]]
try:
    actual = ctx.sql("SELECT a FROM t ORDER BY CASE b WHEN 1 THEN 9 ELSE a END, a LIMIT 1").to_pydict()["a"]
except Exception as error:  # DataFusion has no class of errors of its own.
    actual = str(error)
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
