import sys
import tempfile

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

rows = [0.0]
path = tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": rows}), path)
expected = [a for a in rows if a in [0.0]]
actual = ds.dataset(path).to_table(filter=ds.field("a").isin([0.0]))["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
