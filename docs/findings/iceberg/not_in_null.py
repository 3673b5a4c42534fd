import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
t = catalog.create_table("n.t", pa.schema([("a", pa.int32())]))
t.append(pa.table({"a": pa.array([1, 2, 3, None], pa.int32())}))
for where in (NotIn("a", [1, 2]), NotIn("a", [1]), NotEqualTo("a", 1), Not(In("a", [1, 2])), And(NotEqualTo("a", 1), NotEqualTo("a", 2))):
    print(where, t.scan(row_filter=where).to_arrow()["a"].to_pylist())
