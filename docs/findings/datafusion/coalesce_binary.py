import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, path = [b"a", None], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": pa.array(rows, pa.binary())}), path)
ctx = SessionContext()
ctx.sql("SET datafusion.execution.parquet.schema_force_view_types = true")
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
expected = [b"b" if a is None else a for a in rows]
try:
    actual = ctx.sql("SELECT coalesce(a, X'62') AS c FROM t").to_pydict()["c"]
except Exception as error:  # DataFusion has no class of errors of its own.
    actual = f"{type(error).__name__}: {str(error).splitlines()[0]}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
