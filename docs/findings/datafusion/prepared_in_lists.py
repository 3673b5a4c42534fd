import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [1, 2]
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.max_passes = 3")
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = [a for a in rows if a in [1, 5] and a in [1]]
ctx.sql("PREPARE q(BIGINT, BIGINT, BIGINT) AS SELECT a FROM t WHERE a IN ($1, $2) AND a IN ($3)")
actual = [a for batch in ctx.sql("EXECUTE q(1, 5, 1)").collect() for a in batch.to_pydict()["a"]]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
