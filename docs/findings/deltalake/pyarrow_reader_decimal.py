import sys
import tempfile
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake

rows, root = [Decimal("0.000001")], tempfile.mkdtemp()
write_deltalake(root, pa.table({"a": pa.array(rows, pa.decimal128(18, 6))}))
where = pc.field("a") == rows[0]
expected = [a for a in rows if a == rows[0]]
actual = DeltaTable(root).to_pyarrow_dataset().to_table(filter=where)["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
