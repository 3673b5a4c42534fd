import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [0.0, -0.0]
ctx = SessionContext()
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = [a for a in rows if a in [-0.0, 1.0, 2.0, 3.0]]
actual = ctx.sql("SELECT a FROM t WHERE a IN (CAST('-0.0' AS DOUBLE), 1e0, 2e0, 3e0)").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
