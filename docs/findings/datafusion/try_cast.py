import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [2**62]
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.max_passes = 3")
ctx.register_record_batches("t", [pa.table({"a": pa.array(rows, pa.int64())}).to_batches()])
expected = [a for a in rows if -(2**31) <= a < 2**31 and a != 0]
actual = ctx.sql("SELECT a FROM t WHERE TRY_CAST(a AS INTEGER) <> 0").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
