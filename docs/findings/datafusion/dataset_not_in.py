import sys

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import SessionContext

where = "a NOT IN (1, 2, 3, 4)"
rows, ctx = [1, 7, None], SessionContext()
ctx.register_dataset("t", ds.dataset(pa.table({"a": rows})))
expected = [a for a in rows if a is not None and a not in (1, 2, 3, 4)]
actual = ctx.sql(f"SELECT a FROM t WHERE {where}").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
