import sys
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

rows, milliseconds = [None], 86400002
table = pa.table({"b": pa.array(rows, pa.timestamp("us"))})
literal = pc.scalar(pa.scalar(milliseconds, pa.timestamp("ms")))
expected = [datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds) if b is None else b for b in rows]
actual = ds.dataset(table).to_table(columns={"x": pc.coalesce(pc.field("b"), literal)})["x"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
