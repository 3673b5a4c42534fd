import sys

import pyarrow as pa
from datafusion import SessionContext

t, u, condition = [1], [2], False
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.max_passes = 3")
ctx.register_record_batches("t", [pa.table({"a": t}).to_batches()])
ctx.register_record_batches("u", [pa.table({"b": u}).to_batches()])
expected = [a for a in t if condition] + u
ctx.sql("PREPARE q(BOOLEAN) AS SELECT a FROM t WHERE $1 UNION ALL SELECT b FROM u")
try:
    answer = ctx.sql(f"EXECUTE q({condition})").collect()
    actual = [a for batch in answer for a in batch.to_pydict()["a"]]
except Exception as error:  # DataFusion has no class of errors of its own.
    actual = " ".join(str(error).split())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
