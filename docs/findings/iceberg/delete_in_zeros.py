import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import In

files = [[-0.0], [-0.0, 5.0]]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.float64())]), properties={})
for rows in files:
    table.append(pa.table({"a": rows}))
table.delete(In("a", [0.0, 1.0]))
# A scan with this filter tells the zeros apart, so DELETE should do so too.
expected = [a for rows in reversed(files) for a in rows if str(a) not in ("0.0", "1.0")]
actual = table.scan().to_arrow()["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
