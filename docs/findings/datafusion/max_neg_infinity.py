# DataFusion: grouped max of -Infinity alone, grouped min of Infinity alone; in memory.
import pyarrow as pa
from datafusion import SessionContext
inf = float("inf")
ctx = SessionContext()
ctx.register_record_batches("t", [pa.table({"g": [0, 1], "x": [-inf, inf]}).to_batches()])
print(ctx.sql("SELECT g, max(x), min(x), count(x) FROM t GROUP BY g ORDER BY g").to_pydict())
print(ctx.sql("SELECT max(x) FROM t WHERE g = 0").to_pydict(), ctx.sql("SELECT min(x) FROM t WHERE g = 1").to_pydict())
