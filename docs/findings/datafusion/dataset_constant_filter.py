import sys

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import SessionContext

where = "a = 1 AND a = 2"
rows, ctx = [1, 2], SessionContext()
ctx.register_dataset("t", ds.dataset(pa.table({"a": rows})))
expected = [a for a in rows if a == 1 and a == 2]
try:
    actual = ctx.sql(f"SELECT a FROM t WHERE {where}").to_pydict()["a"]
except Exception as error:  # DataFusion has no class of errors of its own.
    actual = str(error).split("value: ")[-1].split(", traceback")[0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
