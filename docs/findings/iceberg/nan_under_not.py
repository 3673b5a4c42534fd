import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import LessThanOrEqual, Not

rows = [0.0, float("nan")]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.float64())]), properties={})
table.append(pa.table({"a": rows}))
# Files that a scan has to read: the one file has a row of which the filter is true.
expected = len([rows] if [a for a in rows if not a <= 0.0] else [])
actual = len(list(table.scan(row_filter=Not(LessThanOrEqual("a", 0.0))).plan_files()))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
