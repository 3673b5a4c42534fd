import math
import sys
import tempfile

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

rows, root = [(1, -math.inf)], tempfile.mkdtemp()
write_deltalake(root, pa.table({"k": [k for k, _ in rows], "a": [a for _, a in rows]}))
query = QueryBuilder().register("t", DeltaTable(root))
expected = [max(a for k, a in rows if k == group) for group in {k for k, _ in rows}]
actual = pa.table(query.execute("SELECT k, max(a) AS m FROM t GROUP BY k"))["m"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
