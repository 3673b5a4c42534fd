import sys
import tempfile
from decimal import Decimal

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

rows, root = [Decimal("1.000000000000000001"), Decimal("1.000000000000000003")], tempfile.mkdtemp()
write_deltalake(root, pa.table({"a": pa.array(rows, pa.decimal128(38, 18))}))
query = QueryBuilder().register("t", DeltaTable(root))
expected = [str(a) for a in rows if a >= rows[0]]
sql = "SELECT a FROM t WHERE a >= CAST('1.000000000000000001' AS DECIMAL(38, 18))"
actual = [str(a) for a in pa.table(query.execute(sql))["a"].to_pylist()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
