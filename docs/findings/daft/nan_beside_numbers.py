import sys
import tempfile

import daft
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [float("nan"), 1.0], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": rows}), path)
# In Daft's order NaN is above all numbers.
expected = sum(1 for a in rows if not a <= 1.0)
actual = daft.sql("SELECT count(*) AS c FROM t WHERE a > 1.0", t=daft.read_parquet(path)).to_pydict()["c"][0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
