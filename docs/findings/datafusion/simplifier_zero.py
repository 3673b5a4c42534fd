# DataFusion: the optimizer compares the literals 0.0 and -0.0 by bits, and drops conditions, or all rows; in memory.
import pyarrow as pa
from datafusion import SessionContext
Z, N = "CAST('0.0' AS DOUBLE)", "CAST('-0.0' AS DOUBLE)"
for q in [f"NOT (a IN ({Z})) AND a = {N}", f"a <> {Z} AND a = {N}", f"a = {Z} AND a = {N}"]:
    for passes in (3, 0):
        ctx = SessionContext()
        ctx.sql(f"SET datafusion.optimizer.max_passes = {passes}")
        ctx.register_record_batches("t", [pa.table({"a": [0.0, -0.0]}).to_batches()])
        q_ = f"SELECT a FROM t WHERE {q}"
        print("max_passes", passes, q, "->", ctx.sql(q_).to_pydict()["a"], "|", ctx.sql("EXPLAIN " + q_).to_pydict()["plan"][0].split("\n")[0])
