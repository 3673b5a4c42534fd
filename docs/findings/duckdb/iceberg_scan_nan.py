import sys
import tempfile
from importlib.resources import files

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

rows, metrics = [0.0, float("nan")], {"write.metadata.metrics.default": "full"}
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
table = catalog.create_table("n.t", pa.schema([("a", pa.float64())]), properties=metrics)
table.append(pa.table({"a": rows}))
for name in ("avro", "iceberg"):
    duckdb.load_extension(str(*files(f"duckdb_extension_{name}").glob("**/*.duckdb_extension")))
expected = [str(a) for a in rows if not a <= 0]
query = f"SELECT a FROM iceberg_scan('{table.metadata_location}', can_have_nan = true) WHERE a > 0"
actual = [str(a) for (a,) in duckdb.sql(query).fetchall()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
