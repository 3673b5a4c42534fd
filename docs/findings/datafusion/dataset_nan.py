import math
import sys

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import SessionContext

column = "a"
rows = [(math.nan, 0), (1.0, 1)]
ctx = SessionContext()
ctx.register_dataset("t", ds.dataset(pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]})))
expected = [  # NaN equals NaN and is above all numbers
    [rid for a, rid in rows if math.isnan(a)],
    [rid for a, rid in rows if math.isnan(a) or a > 1.0],
    [rid for a, rid in rows if not math.isnan(a)],
]
filters = [f"{column} {comparison}" for comparison in ("= 'NaN'::DOUBLE", "> 1.0", "<> 'NaN'::DOUBLE")]
actual = [ctx.sql(f"SELECT rid FROM t WHERE {where} ORDER BY rid").to_pydict()["rid"] for where in filters]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
