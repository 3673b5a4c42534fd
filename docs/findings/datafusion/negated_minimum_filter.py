import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, path, ctx = [0, -32768], tempfile.mkdtemp() + "/t.parquet", SessionContext()
pq.write_table(pa.table({"a": pa.array(rows, pa.int16())}), path, row_group_size=1)
ctx.sql("SET datafusion.execution.collect_statistics = false")
ctx.sql("SET datafusion.execution.parquet.pruning = true")
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
expected = [a for a in rows if (-a if a > -32768 else a) < 0]
actual = ctx.sql("SELECT a FROM t WHERE -a < 0").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
