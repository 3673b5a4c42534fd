import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import GreaterThanOrEqual

rows, low = ["1970-01-01T00:00:00"], "0001-01-01T00:00:00"
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.timestamp("us"))]))
table.update_spec().add_field("a", "month").commit()
table.append(pa.table({"a": pa.array(rows).cast(pa.timestamp("us"))}))
expected = len([a for a in rows if a >= low])
try:
    actual = table.scan(row_filter=GreaterThanOrEqual("a", low)).to_arrow().num_rows
except OverflowError as error:
    actual = f"OverflowError: {error}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
