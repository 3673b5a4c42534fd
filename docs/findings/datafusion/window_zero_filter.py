import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [0.0, -0.0, 0.0]
ctx = SessionContext()
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = [sum(b == a for b in rows) for a in rows]
actual = ctx.sql("SELECT count(*) OVER (PARTITION BY a) AS n FROM t WHERE a = 0.0").to_pydict()["n"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
