import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import IsNaN

rows = [(1.0, 0), (float("nan"), 1)]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
schema = pa.schema([("a", pa.float64()), ("rid", pa.int64())])
table = catalog.create_table("n.t", schema)
table.append(pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]}))
expected = [rid for a, rid in rows if a != a]
actual = table.scan(row_filter=IsNaN("a")).to_arrow()["rid"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
