import math
import sys
import tempfile

import pyarrow as pa
from deltalake import ColumnProperties, DeltaTable, WriterProperties, write_deltalake

rows, root = [(math.nan, 0), (1.0, 1)], tempfile.mkdtemp()
table = pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]})
kept = WriterProperties(default_column_properties=ColumnProperties(statistics_enabled="CHUNK"))
write_deltalake(root, table, writer_properties=kept)
# UPDATE may change the rid of row 1 alone, and no value of a.
DeltaTable(root).update({"rid": "5"}, predicate="rid = 1 AND a = 1.0")
expected = sorted(str(a) for a, _ in rows)
actual = sorted(map(str, DeltaTable(root).to_pyarrow_table()["a"].to_pylist()))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
