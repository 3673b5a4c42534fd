import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo

rows, kind = [1.0, float("inf"), float("-inf")], pa.float32()
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", kind)]))
table.append(pa.table({"a": pa.array(rows, kind)}))
expected = [a for a in rows if a == float("inf")]
actual = table.scan(row_filter=EqualTo("a", float("inf"))).to_arrow()["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
