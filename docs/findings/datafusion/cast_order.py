import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [1.75, 1.25]
ctx = SessionContext()
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = sorted(a for a in rows if int(a) == 1)
actual = ctx.sql("SELECT a FROM t WHERE CAST(a AS INTEGER) = 1 ORDER BY a").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
