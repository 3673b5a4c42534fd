import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [0, 1]
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.max_passes = 3")
ctx.register_record_batches("t", [pa.table({"a": pa.array(rows, pa.int64())}).to_batches()])
expected = [count for count in [len(rows)] if count == 1 and count == 2]
actual = ctx.sql("SELECT count(a) AS n FROM t HAVING count(a) = 1 AND count(a) = 2").to_pydict()["n"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
