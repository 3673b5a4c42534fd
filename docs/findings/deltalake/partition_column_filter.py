import sys
import tempfile

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

rows, root = [(0, 0), (1, 1), (None, 2), (2, 3)], tempfile.mkdtemp()
table = pa.table({"a": pa.array([a for a, _ in rows], pa.int32()), "rid": [rid for _, rid in rows]})
write_deltalake(root, table, partition_by=["a"])
query = QueryBuilder().register("t", DeltaTable(root))
expected = [rid for a, rid in rows if a is not None and a < a]
actual = sorted(pa.table(query.execute("SELECT rid FROM t WHERE a < a"))["rid"].to_pylist())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
