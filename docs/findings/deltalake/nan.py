import math
import sys
import tempfile

import pyarrow as pa
from deltalake import ColumnProperties, DeltaTable, QueryBuilder, WriterProperties, write_deltalake

rows, root = [(1.0, 0), (math.nan, 1)], tempfile.mkdtemp()
table = pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]})
kept = WriterProperties(default_column_properties=ColumnProperties(statistics_enabled="CHUNK"))
write_deltalake(root, table, writer_properties=kept)
query = QueryBuilder().register("t", DeltaTable(root))
expected = [rid for a, rid in rows if a != 1.0]
actual = pa.table(query.execute("SELECT rid FROM t WHERE a <> 1.0"))["rid"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
