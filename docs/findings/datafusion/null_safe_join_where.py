import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [0, None]
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.max_passes = 3")
for table in ("t", "u"):
    ctx.register_record_batches(table, [pa.table({f"a_{table}": pa.array(rows, pa.int32())}).to_batches()])
expected = [(a, b) for a in rows for b in rows if a == b and a is not None]
answer = ctx.sql("SELECT a_t, a_u FROM t JOIN u ON a_t IS NOT DISTINCT FROM a_u WHERE a_t = a_u").to_pydict()
actual = list(zip(answer["a_t"], answer["a_u"], strict=True))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
