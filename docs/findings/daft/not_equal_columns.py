import sys
import tempfile

import daft
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [(0, 1), (1, 0)], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}), path)
expected = [a for a, b in rows if a != b]
actual = daft.sql("SELECT a FROM t WHERE a <> b", t=daft.read_parquet(path)).to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
