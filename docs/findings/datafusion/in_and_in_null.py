import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [None, 1, 3]
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.max_passes = 3")
ctx.register_record_batches("t", [pa.table({"a": pa.array(rows, pa.int32())}).to_batches()])
expected = [a for a in rows if a is not None and not (a in [1] and a in [0, 0])]
actual = ctx.sql("SELECT a FROM t WHERE NOT (a IN (1) AND a IN (0, 0))").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
