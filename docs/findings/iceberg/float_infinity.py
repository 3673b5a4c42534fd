import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
inf = float("inf")
for kind in (pa.float32(), pa.float64()):
    t = catalog.create_table(f"n.t_{kind}", pa.schema([("a", kind)]))
    t.append(pa.table({"a": pa.array([1.0, inf, -inf], kind)}))
    for where in (EqualTo("a", inf), GreaterThanOrEqual("a", inf), LessThan("a", inf), NotEqualTo("a", inf), LessThanOrEqual("a", -inf)):
        print(kind, where, t.scan(row_filter=where).to_arrow()["a"].to_pylist())
    t.delete(NotEqualTo("a", inf))
    print(kind, "left by delete a != inf:", t.scan().to_arrow()["a"].to_pylist(), "due: [inf]")
