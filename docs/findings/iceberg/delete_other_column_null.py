import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo, Or

rows = [(5, None), (0, 1)]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.int64()), ("b", pa.int64())]))
table.append(pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}))
table.delete(Or(EqualTo("a", 5), EqualTo("b", 9)))
expected = [(a, b) for a, b in rows if not (a == 5 or b == 9)]
actual = [tuple(row.values()) for row in table.scan().to_arrow().to_pylist()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
