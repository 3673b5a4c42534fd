import sys
import tempfile
from ctypes import c_int64

import daft
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [1, 5, 2**63 - 1], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": pa.array(rows, pa.int64())}), path)
expected = [a for a in rows if c_int64(a + 1).value > 1]  # integers wrap
try:
    actual = daft.sql("SELECT a FROM t WHERE a + 1 > 1", t=daft.read_parquet(path)).to_pydict()["a"]
except daft.exceptions.DaftCoreException as error:
    actual = f"{type(error).__name__}: {str(error).splitlines()[0]}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
