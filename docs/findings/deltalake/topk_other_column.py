import sys
import tempfile

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, WriterProperties, write_deltalake

rows, root = [(1, 3), (2, 0)], tempfile.mkdtemp()
table = pa.table({"b": [b for b, _ in rows], "a": [a for _, a in rows]})
write_deltalake(root, table, writer_properties=WriterProperties(max_row_group_size=1))
query = QueryBuilder({"datafusion.execution.target_partitions": "1"}).register("t", DeltaTable(root))
expected = [a for _, a in sorted((a + b, a) for b, a in rows)][:1]
found = query.execute("SELECT a FROM t WHERE b > 0 ORDER BY a + b, b LIMIT 1")
actual = pa.table(found)["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
