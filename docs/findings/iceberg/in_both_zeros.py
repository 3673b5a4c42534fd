import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import In

rows = [0.0, -0.0, 5.0]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.float64())]))
table.append(pa.table({"a": rows}))
expected = [a for a in rows if a in (-0.0, 0.0, 7.0)]
actual = table.scan(row_filter=In("a", [-0.0, 0.0, 7.0])).to_arrow()["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
