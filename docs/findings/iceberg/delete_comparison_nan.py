import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import LessThan

rows = [1.0, float("nan")]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.float64())]), properties={})
table.append(pa.table({"a": rows}))
table.delete(LessThan("a", 5.0))
expected = [str(a) for a in rows if not a < 5.0]
actual = list(map(str, table.scan().to_arrow()["a"].to_pylist()))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
