import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [float("nan"), float("nan")]
ctx = SessionContext()
ctx.sql("SET datafusion.execution.target_partitions = 1")
ctx.sql("SET datafusion.optimizer.enable_topk_aggregation = true")
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = list(dict.fromkeys(map(str, rows)))
actual = list(map(str, ctx.sql("SELECT DISTINCT a FROM t ORDER BY a LIMIT 5").to_pydict()["a"]))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
