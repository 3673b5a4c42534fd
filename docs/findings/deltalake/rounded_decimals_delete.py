import sys
import tempfile
from decimal import Decimal

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

rows, root = [Decimal("1.000000000000000001"), Decimal("1.000000000000000003")], tempfile.mkdtemp()
write_deltalake(root, pa.table({"a": pa.array(rows, pa.decimal128(38, 18))}))
DeltaTable(root).delete("a <> CAST('1.000000000000000001' AS DECIMAL(38, 18))")
expected = [str(a) for a in rows if a == rows[0]]
actual = [str(a) for a in DeltaTable(root).to_pyarrow_table()["a"].to_pylist()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
