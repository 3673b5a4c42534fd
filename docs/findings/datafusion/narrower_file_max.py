import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, root = [("int32", -1), ("int16", 5)], tempfile.mkdtemp()
for kind, a in rows:
    pq.write_table(pa.table({"a": pa.array([a], kind)}), f"{root}/{kind}.parquet")
ctx = SessionContext()
ctx.sql("SET datafusion.execution.collect_statistics = true")
ctx.sql(f"CREATE EXTERNAL TABLE t (a INT) STORED AS PARQUET LOCATION '{root}/'")
expected = [max(a for _, a in rows)]
actual = ctx.sql("SELECT max(a) AS m FROM t").to_pydict()["m"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
