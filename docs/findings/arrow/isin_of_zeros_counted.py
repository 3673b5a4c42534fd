import sys
import tempfile

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

rows = [0.0]
path = tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": rows}), path)
expected = sum(a not in [0.0] for a in rows)
actual = ds.dataset(path).count_rows(filter=~ds.field("a").isin([0.0]))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
