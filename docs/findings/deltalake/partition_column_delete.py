import sys
import tempfile

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

rows, root = [(0, 0), (1, 1), (None, 2), (2, 3)], tempfile.mkdtemp()
table = pa.table({"a": pa.array([a for a, _ in rows], pa.int32()), "rid": [rid for _, rid in rows]})
write_deltalake(root, table, partition_by=["a"])
DeltaTable(root).delete("a <> a")
expected = [rid for a, rid in rows if a is None or a in [a]]
actual = sorted(DeltaTable(root).to_pyarrow_table()["rid"].to_pylist())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
