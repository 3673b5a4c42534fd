import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [0.0, -0.0]
ctx = SessionContext()
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = [len(set(rows)), len(rows)]
answer = ctx.sql("SELECT count(DISTINCT a) AS d, count(a) AS c FROM t").to_pydict()
actual = [answer["d"][0], answer["c"][0]]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
