import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, path = [0, 1], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": pa.array(rows, pa.int32())}), path)
ctx = SessionContext()
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
expected = [a for a in rows if a != 0 and a == 0]  # of 0, nullif(a, 0) is NULL
ranks = "SELECT a, rank() OVER (ORDER BY nullif(a, 0)) AS place FROM t WHERE nullif(a, 0) = 0"
try:
    actual = ctx.sql(ranks).to_pydict()["a"]
except Exception as error:  # DataFusion has no class of errors of its own.
    actual = " ".join(str(error).split("Plan:")[0].split())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
