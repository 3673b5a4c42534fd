import decimal
import sys

import pyarrow as pa
from datafusion import SessionContext

rows = [decimal.Decimal("0.5"), decimal.Decimal("1.5")]
ctx = SessionContext()
ctx.sql("SET datafusion.optimizer.max_passes = 3")
ctx.register_record_batches("t", [pa.table({"a": rows}).to_batches()])
expected = [str(a) for a in rows if int(a) > 0]
actual = [str(a) for a in ctx.sql("SELECT a FROM t WHERE CAST(a AS INTEGER) > 0").to_pydict()["a"]]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
