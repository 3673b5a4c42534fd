import sys
import tempfile

import daft
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = ["x", "xz"], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": rows}), path)
expected = [a for a in rows if a + "~" == "xz~"]
actual = daft.sql("SELECT a FROM t WHERE concat(a, '~') = 'xz~'", t=daft.read_parquet(path)).to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
