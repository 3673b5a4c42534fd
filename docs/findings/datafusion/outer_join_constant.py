# DataFusion: a column that a filter made constant counts as constant above an outer join too, so ORDER BY forgets it; in memory.
import pyarrow as pa
from datafusion import SessionContext
i = lambda l: pa.array(l, pa.int32())
def ask(q, **s):
    ctx = SessionContext()
    ctx.sql("SET datafusion.execution.target_partitions = 1")
    ctx.register_record_batches("t", [pa.table({"a": i([0, None, 0])}).to_batches()])
    ctx.register_record_batches("u", [pa.table({"ua": i([0])}).to_batches()])
    print(q, "\n  ", [tuple(r.values()) for b in ctx.sql(q).collect() for r in b.to_pylist()])
    return ctx
q = "SELECT a, ua FROM t LEFT JOIN (SELECT * FROM u WHERE ua = 0) u ON a = ua ORDER BY ua NULLS FIRST"
ctx = ask(q)
print(ctx.sql("EXPLAIN " + q).to_pydict()["plan"][1])
ask("SELECT a, ua FROM t LEFT JOIN u ON a = ua ORDER BY ua NULLS FIRST")
ask(q + ", a")
ask(q.replace("NULLS FIRST", "DESC NULLS LAST LIMIT 2"))
ask("SELECT * FROM (SELECT a, ua FROM t LEFT JOIN (SELECT * FROM u WHERE ua = 0) u ON a = ua) ORDER BY ua NULLS FIRST LIMIT 1")
