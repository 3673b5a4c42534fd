import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import And, EqualTo, IsNull

rows = [0, 9, None]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.int64())]))
table.append(pa.table({"a": rows}))
table.delete(And(EqualTo("a", 7), IsNull("a")))
expected = [a for a in rows if not (a == 7 and a is None)]
actual = table.scan().to_arrow()["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
