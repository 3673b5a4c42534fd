import sys
import tempfile

import daft
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = ["x", "xz"], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": rows}), path)
expected = [a for a in rows if a + "~" < "x~"]
try:
    t = daft.read_parquet(path)
    actual = daft.sql("SELECT a FROM t WHERE concat(a, '~') < 'x~'", t=t).to_pydict()["a"]
except daft.exceptions.DaftCoreException as error:
    actual = f"{type(error).__name__}: {str(error).splitlines()[0]}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
