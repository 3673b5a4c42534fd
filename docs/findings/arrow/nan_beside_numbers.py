import math
import sys
import tempfile

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

rows = [(math.nan, 0), (1.0, 1)]
path = tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]}), path)
expected = [rid for a, rid in rows if math.isnan(a)]
actual = ds.dataset(path).to_table(filter=ds.field("a").is_nan())["rid"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
