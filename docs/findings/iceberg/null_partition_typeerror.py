import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import IsNull, LessThan, Or

rows = ["a", None]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.string())]))
table.update_spec().add_identity("a").commit()
table.append(pa.table({"a": rows}))
expected = [a for a in rows if a is None or a < "b"]
try:
    actual = table.scan(row_filter=Or(IsNull("a"), LessThan("a", "b"))).to_arrow()["a"].to_pylist()
except TypeError as error:
    actual = f"TypeError: {error}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
