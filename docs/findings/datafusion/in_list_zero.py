# DataFusion: a IN (more than 3 values) compares bits, so 0.0 and -0.0 are two; in memory.
import pyarrow as pa
from datafusion import SessionContext
ctx = SessionContext()
ctx.register_record_batches("t", [pa.table({"a": [0.0, -0.0]}).to_batches()])
for q in ["a = -0e0", "a IN (-0e0, 1e0, 2e0)", "a IN (-0e0, 1e0, 2e0, 3e0)", "a IN (-0e0, -0e0, -0e0, -0e0)", "a NOT IN (0e0, 1e0, 2e0, 3e0)"]:
    q = q.replace("-0e0", "CAST('-0.0' AS DOUBLE)")
    print(q, "->", ctx.sql(f"SELECT a FROM t WHERE {q}").to_pydict()["a"])
