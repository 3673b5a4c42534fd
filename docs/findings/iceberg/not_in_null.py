import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import NotIn

rows = [1, 2, 3, None]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.int32())]))
table.append(pa.table({"a": pa.array(rows, pa.int32())}))
expected = [a for a in rows if a is not None and a not in (1, 2)]
actual = table.scan(row_filter=NotIn("a", [1, 2])).to_arrow()["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
