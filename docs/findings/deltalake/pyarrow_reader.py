import math
import sys
import tempfile

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake

rows, root = [1.0, 1.0, math.inf, 1.0], tempfile.mkdtemp()
write_deltalake(root, pa.table({"a": pa.array(rows, pa.float32())}))
where = pc.field("a") == 1.0
expected = [a for a in rows if a == 1.0]
actual = DeltaTable(root).to_pyarrow_dataset().to_table(filter=where)["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
