import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [1, 0]
ctx = SessionContext()
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = sorted(a for a in rows if a // 2 == 0)
actual = ctx.sql("SELECT a FROM t WHERE a / 2 = 0 ORDER BY a").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
