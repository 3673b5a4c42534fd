import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import NotEqualTo

files = [[1], [None], [2, None]]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.int32())]), properties={})
for rows in files:
    table.append(pa.table({"a": pa.array(rows, pa.int32())}))
table.delete(NotEqualTo("a", 1))
expected = [a for rows in reversed(files) for a in rows if not (a is not None and a != 1)]
actual = table.scan().to_arrow()["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
