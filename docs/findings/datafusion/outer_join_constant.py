import sys

import pyarrow as pa
from datafusion import SessionContext

t, u = [0, None, 0], [0]
ctx = SessionContext()
for column, rows in {"a": t, "b": u}.items():
    ctx.register_record_batches(f"t_{column}", [pa.table({column: pa.array(rows, pa.int32())}).to_batches()])
right = [b for b in u if b == 0]
expected = sorted((a if a in right else None for a in t), key=lambda b: b is not None)
join = "SELECT b FROM t_a LEFT JOIN (SELECT * FROM t_b WHERE b = 0) r ON a = b ORDER BY b NULLS FIRST"
actual = ctx.sql(join).to_pydict()["b"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
