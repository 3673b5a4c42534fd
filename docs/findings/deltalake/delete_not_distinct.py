import sys
import tempfile

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

rows, root = [0, 1], tempfile.mkdtemp()
write_deltalake(root, pa.table({"a": pa.array(rows, pa.int32())}))
expected = [a for a in rows if a != 0]
try:
    DeltaTable(root).delete("a IS NOT DISTINCT FROM 0")
    actual = DeltaTable(root).to_pyarrow_table()["a"].to_pylist()
except DeltaError as error:
    actual = f"DeltaError: {str(error).splitlines()[0]}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
