# DataFusion: a IN (..) AND a IN (..) becomes the intersection of the lists, and NULL is forgotten; in memory.
import pyarrow as pa
from datafusion import SessionContext
for passes in (3, 0):
    ctx = SessionContext()
    ctx.sql(f"SET datafusion.optimizer.max_passes = {passes}")
    ctx.register_record_batches("t", [pa.table({"a": pa.array([None, 1, 3], pa.int32())}).to_batches()])
    print("optimizer.max_passes", passes)
    for q in ("SELECT a FROM t WHERE NOT (a IN (1) AND a IN (0, 0))", "SELECT a, a IN (1) AND a IN (0, 2) AS c FROM t",
              "SELECT a FROM t WHERE NOT (a IN (NULL, 7, 8, 9) AND a IN (7, 8, 9, 3))"):
        print("  ", q, [tuple(r.values()) for b in ctx.sql(q).collect() for r in b.to_pylist()])
print(ctx.sql("SET datafusion.optimizer.max_passes = 3") and ctx.sql("EXPLAIN SELECT a FROM t WHERE NOT (a IN (NULL, 7, 8, 9) AND a IN (7, 8, 9, 3))").to_pydict()["plan"][0])
