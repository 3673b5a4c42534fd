import math
import sys
import tempfile

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

rows = [1.0, 2.0]
path = tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": rows}), path)
expected = [a for a in rows if not a < math.nan]
actual = ds.dataset(path).to_table(filter=~(ds.field("a") < math.nan))["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
