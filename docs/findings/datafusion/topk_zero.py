import math
import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [(0.0, 0), (-0.0, 1)]
ctx = SessionContext()
ctx.sql("SET datafusion.execution.target_partitions = 1")
batches = [pa.record_batch({"a": [a], "rid": [rid]}) for a, rid in rows]
ctx.register_record_batches("t", [batches])
# The engine's own order, by the total order of IEEE 754: the negative zero comes first.
expected = [rid for _, rid in sorted(rows, key=lambda row: (row[0], math.copysign(1.0, row[0])))][:1]
actual = ctx.sql("SELECT a, rid FROM t ORDER BY a, rid LIMIT 1").to_pydict()["rid"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
