import math
import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [(0, math.inf)]
ctx = SessionContext()
table = pa.table({"g": [g for g, _ in rows], "x": [x for _, x in rows]})
ctx.register_record_batches("t", [table.to_batches()])
expected = [(group, min(x for g, x in rows if g == group)) for group in {g for g, _ in rows}]
answer = ctx.sql("SELECT g, min(x) AS m FROM t GROUP BY g").to_pydict()
actual = list(zip(answer["g"], answer["m"], strict=True))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
