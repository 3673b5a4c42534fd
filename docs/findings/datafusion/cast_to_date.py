import datetime as dt
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows = [dt.datetime(2026, 3, 1, 23), dt.datetime(2026, 3, 2, 1)]
path, ctx = tempfile.mkdtemp() + "/t.parquet", SessionContext()
pq.write_table(pa.table({"a": pa.array(rows, pa.timestamp("us"))}), path)
ctx.sql("SET datafusion.execution.collect_statistics = true")
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
expected = [str(a) for a in rows if a.date() < dt.date(2026, 3, 2)]
try:
    actual = [str(a) for a in ctx.sql("SELECT a FROM t WHERE a::DATE < '2026-03-02'").to_pydict()["a"]]
except Exception as error:  # DataFusion has no class of errors of its own.
    actual = str(error).splitlines()[0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
