# DataFusion: a null-safe join forgets WHERE key = key; in memory.
import pyarrow as pa
from datafusion import SessionContext
i = lambda l: pa.array(l, pa.int32())
for passes in (3, 0):
    ctx = SessionContext()
    ctx.sql("SET datafusion.execution.target_partitions = 1")
    ctx.sql(f"SET datafusion.optimizer.max_passes = {passes}")
    ctx.register_record_batches("t", [pa.table({"a": i([0, None])}).to_batches()])
    ctx.register_record_batches("u", [pa.table({"ua": i([0, None])}).to_batches()])
    print("optimizer.max_passes", passes)
    for q in ("SELECT a, ua FROM t JOIN u ON a IS NOT DISTINCT FROM ua WHERE a = ua", "SELECT a, ua FROM t FULL JOIN u ON a IS NOT DISTINCT FROM ua WHERE a = ua",
              "SELECT a, ua FROM t JOIN u ON a IS NOT DISTINCT FROM ua WHERE a + 0 = ua + 0", "SELECT a, ua FROM t JOIN u ON a IS NOT DISTINCT FROM ua WHERE a >= ua"):
        print("  ", q, [tuple(r.values()) for b in ctx.sql(q).collect() for r in b.to_pylist()])
    print(ctx.sql("EXPLAIN SELECT a, ua FROM t JOIN u ON a IS NOT DISTINCT FROM ua WHERE a = ua").to_pydict()["plan"][0])
