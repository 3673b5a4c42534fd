import sys

import pyarrow as pa
from datafusion import SessionContext

rows = ["x", "yy"]
ctx = SessionContext()
ctx.sql("SET datafusion.execution.target_partitions = 2")
ctx.sql("SET datafusion.optimizer.repartition_sorts = true")
ctx.register_record_batches("t", [pa.table({"s": [s]}).to_batches() for s in rows])
expected = sorted(rows, key=lambda s: -len(s))
try:
    actual = ctx.sql("SELECT s FROM t ORDER BY -length(s)").to_pydict()["s"]
except Exception as error:  # DataFusion has no class of errors of its own.
    actual = " ".join(str(error).split("Plan:")[0].split())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
