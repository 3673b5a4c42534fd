import math
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, path = [(math.nan, 0), (1.0, 1)], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]}), path)
ctx = SessionContext()
ctx.sql("SET datafusion.execution.collect_statistics = true")
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
expected = [str(a) for a, _ in rows]
actual = list(map(str, ctx.sql("SELECT a, rid FROM t").to_pydict()["a"]))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
