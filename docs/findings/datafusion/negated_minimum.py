import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, path = [0, -32768], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": pa.array(rows, pa.int16())}), path, row_group_size=1)
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.enable_dynamic_filter_pushdown = true")
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
# The negation of the least integer is that integer, in 16 bits and in the engine's own answer.
expected = sorted(rows, key=lambda a: -a if a > -32768 else a)[:1]
actual = ctx.sql("SELECT a FROM t ORDER BY -a LIMIT 1").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
