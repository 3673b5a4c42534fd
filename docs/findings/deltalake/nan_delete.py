import math
import sys
import tempfile

import pyarrow as pa
from deltalake import ColumnProperties, DeltaTable, WriterProperties, write_deltalake

rows, root = [(math.nan, 0), (1.0, 1)], tempfile.mkdtemp()
table = pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]})
kept = WriterProperties(default_column_properties=ColumnProperties(statistics_enabled="CHUNK"))
write_deltalake(root, table, writer_properties=kept)
DeltaTable(root).delete("a = 1.0")
expected = [rid for a, rid in rows if a != 1.0]
actual = DeltaTable(root).to_pyarrow_table()["rid"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
