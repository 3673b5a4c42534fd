import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
def after_delete(name, properties, where):
    t = catalog.create_table("n." + name, pa.schema([("a", pa.int32())]), properties=properties)
    t.append(pa.table({"a": pa.array([1], pa.int32())}))
    t.append(pa.table({"a": pa.array([None], pa.int32())}))       # a file of NULL only
    t.append(pa.table({"a": pa.array([2, None], pa.int32())}))    # a file whose bounds 2..2 lie beside 1
    t.delete(where)
    return t.scan().to_arrow()["a"].to_pylist()
none = {"write.metadata.metrics.default": "none"}
for i, where in enumerate([NotEqualTo("a", 1), Not(EqualTo("a", 1)), NotIn("a", [1, 5])]):
    print(where, "| metrics:", after_delete(f"x{i}", {}, where), "| no metrics:", after_delete(f"y{i}", none, where))
print("due by SQL for all three: [1, None, None]")
