import math
import sys
import tempfile

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

rows, path = [1.0, math.nan], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": rows}), path)
expected = sum(a == 1.0 for a in rows)
actual = ds.dataset(path).count_rows(filter=ds.field("a") == 1.0)
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
