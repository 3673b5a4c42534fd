import math
import sys
import tempfile

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, WriterProperties, write_deltalake

rows, root = [1.0, math.nan], tempfile.mkdtemp()
one_row = WriterProperties(max_row_group_size=1)  # the footer has no bounds for the row group of NaN
write_deltalake(root, pa.table({"a": rows}), writer_properties=one_row)
where = ~(pc.field("a") <= 1.0)
expected = [str(a) for a in rows if not a <= 1.0]
table = DeltaTable(root).to_pyarrow_dataset().to_table(filter=where)
actual = [str(a) for a in table["a"].to_pylist()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
