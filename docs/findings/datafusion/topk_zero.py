# DataFusion: ORDER BY puts -0.0 before 0.0, top-k drops rows by a comparison to which they are equal; in memory, two batches.
import pyarrow as pa
from datafusion import SessionContext
t = pa.table({"a": [0.0, -0.0], "rid": [0, 1]})
for name, batches in [("one batch ", t.to_batches()), ("two batches", t.slice(0, 1).to_batches() + t.slice(1).to_batches())]:
    ctx = SessionContext()
    ctx.sql("SET datafusion.execution.target_partitions = 1")
    ctx.register_record_batches("t", [batches])
    for q in ("SELECT a, rid FROM t ORDER BY a, rid", "SELECT a, rid FROM t ORDER BY a, rid LIMIT 1"):
        print(name, q, [tuple(r.values()) for b in ctx.sql(q).collect() for r in b.to_pylist()])
