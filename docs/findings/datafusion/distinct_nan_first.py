import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [0.0, float("nan")]
ctx = SessionContext()
ctx.sql("SET datafusion.execution.target_partitions = 1")
ctx.sql("SET datafusion.optimizer.enable_topk_aggregation = true")
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = sorted(rows, key=lambda a: (a != a, a))[:1]  # the engine's own order: NaN comes last
actual = ctx.sql("SELECT DISTINCT a FROM t ORDER BY a LIMIT 1").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
