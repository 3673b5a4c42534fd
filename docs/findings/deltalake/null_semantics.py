import sys
import tempfile

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

rows, root = [0, 1, None], tempfile.mkdtemp()
write_deltalake(root, pa.table({"a": pa.array(rows, pa.int32())}))
query = QueryBuilder().register("t", DeltaTable(root))
# Of a number, a = a is true, and NOT of it is not; of NULL, both are NULL.
expected = [a for a in rows if a is not None and a not in [a]]
actual = pa.table(query.execute("SELECT a FROM t WHERE NOT (a = a)"))["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
