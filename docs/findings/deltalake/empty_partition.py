import sys
import tempfile

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

rows, root = [("", 1), ("a", 2), (None, 3)], tempfile.mkdtemp()
table = pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]})
write_deltalake(root, table, partition_by=["a"])
expected = rows
answer = DeltaTable(root).to_pyarrow_dataset().to_table().sort_by("rid").to_pylist()
actual = [tuple(row[name] for name in ("a", "rid")) for row in answer]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
