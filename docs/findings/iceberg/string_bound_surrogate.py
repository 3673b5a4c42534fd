import sys
import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

rows = ["\ud7ff" * 16 + "a"]
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
properties = {"write.metadata.metrics.default": "truncate(16)"}
table = catalog.create_table("n.t", pa.schema([("a", pa.string())]), properties=properties)
expected = list(map(ascii, rows))
try:
    table.append(pa.table({"a": rows}))
    actual = list(map(ascii, table.scan().to_arrow()["a"].to_pylist()))
except UnicodeEncodeError as error:
    actual = f"UnicodeEncodeError: {error}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
