import sys

import pyarrow as pa
from datafusion import SessionContext

left, right = [0.0, 1.0], [-0.0]
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.enable_join_dynamic_filter_pushdown = true")
ctx.register_record_batches("t", [pa.table({"a": left}).to_batches()])
ctx.register_record_batches("u", [pa.table({"b": right}).to_batches()])
expected = sorted(a for a in left for b in right if a == b)
actual = ctx.sql("SELECT a FROM t JOIN u ON a = b ORDER BY a").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
