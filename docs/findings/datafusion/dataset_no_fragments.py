import sys
import tempfile

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import SessionContext

where = "p = 5"
rows, root, ctx = [(1, 0)], tempfile.mkdtemp(), SessionContext()
hive = ds.partitioning(pa.schema([("p", pa.int64())]), flavor="hive")
table = pa.table({"a": [a for a, _ in rows], "p": [p for _, p in rows]})
ds.write_dataset(table, root, format="parquet", partitioning=hive)
ctx.register_dataset("t", ds.dataset(root, format="parquet", partitioning=hive))
expected = sorted(a for a, p in rows if p == 5)
try:
    actual = ctx.sql(f"SELECT a FROM t WHERE {where} ORDER BY a").to_pydict()["a"]
except Exception as error:  # DataFusion has no class of errors of its own.
    actual = " ".join(str(error).split())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
