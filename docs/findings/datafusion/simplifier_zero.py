import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [0.0, -0.0]
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.max_passes = 3")
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = [a for a in rows if a != 0.0 and a == -0.0]
where = "a <> CAST('0.0' AS DOUBLE) AND a = CAST('-0.0' AS DOUBLE)"
actual = ctx.sql(f"SELECT a FROM t WHERE {where}").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
