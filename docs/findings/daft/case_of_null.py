import sys

import daft
import pyarrow as pa

rows = [None, 0, 2]
t = daft.from_arrow(pa.table({"a": pa.array(rows, pa.int32())}))
expected = ["more" if a is not None and a > 1 else "other" for a in rows]
actual = daft.sql("SELECT CASE WHEN a > 1 THEN 'more' ELSE 'other' END AS c FROM t", t=t).to_pydict()["c"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
