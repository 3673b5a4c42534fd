# DataFusion: TRY_CAST in a comparison is taken off; in memory.
import pyarrow as pa
from datafusion import SessionContext
for passes in (3, 0):
    ctx = SessionContext()
    ctx.sql(f"SET datafusion.optimizer.max_passes = {passes}")
    ctx.register_record_batches("t", [pa.table({"a": pa.array([2**62], pa.int64())}).to_batches()])
    print("optimizer.max_passes", passes, ctx.sql("SELECT a, TRY_CAST(a AS INTEGER) c, TRY_CAST(a AS INTEGER) <> 0 AS ne FROM t").to_pydict(),
          ctx.sql("SELECT a FROM t WHERE TRY_CAST(a AS INTEGER) <> 0").to_pydict(),
          ctx.sql("SELECT a FROM t WHERE TRY_CAST(a AS INTEGER) > 2147483647").to_pydict())
    print(ctx.sql("EXPLAIN SELECT a FROM t WHERE TRY_CAST(a AS INTEGER) <> 0").to_pydict()["plan"][0])
