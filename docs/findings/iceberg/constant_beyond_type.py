import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
t = catalog.create_table("n.t", pa.schema([("a", pa.int32())]))
t.append(pa.table({"a": pa.array([0, None], pa.int32())}))
for where in (GreaterThan("a", -2147483649), GreaterThan("a", -2147483648), NotEqualTo("a", 2147483648), NotEqualTo("a", 5),
              Not(GreaterThanOrEqual("a", 2147483648))):
    print(where, t.scan(row_filter=where).to_arrow()["a"].to_pylist())
t.delete(GreaterThanOrEqual("a", -2147483649))
print("left by delete a >= -2147483649:", t.scan().to_arrow()["a"].to_pylist(), "due: [None]")
