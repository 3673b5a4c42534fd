import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
def after_delete(name, schema, columns, where, properties={}):
    t = catalog.create_table("n." + name, schema, properties=properties)
    t.append(pa.table(columns, schema=schema))
    chosen = t.scan(row_filter=where).to_arrow().num_rows
    t.delete(where)
    return f"scan with this filter: {chosen} rows; left by delete: {t.scan().to_arrow().num_rows} of {len(columns['a'])}"
ints = pa.schema([("a", pa.int64()), ("b", pa.int64())])
floats = pa.schema([("a", pa.float64()), ("b", pa.float64())])
nan = float("nan")
none = {"write.metadata.metrics.default": "none"}
print(after_delete("x", ints, {"a": [5, 0], "b": [None, 1]}, Or(EqualTo("a", 5), EqualTo("b", 9))))
print(after_delete("y", ints, {"a": [0, 0, None], "b": [None, 1, 1]}, Not(And(IsNull("a"), GreaterThanOrEqual("b", 0)))))
print(after_delete("z", floats, {"a": [1.0, 2.0], "b": [nan, nan]}, And(EqualTo("a", 1.0), NotNull("b"))))
print(after_delete("v", floats, {"a": [nan, nan, 1.0], "b": [0.0, 0.0, 0.0]}, Or(NotNull("a"), EqualTo("b", 5.0)), none))
print(after_delete("u", floats, {"a": [nan, nan, 1.0], "b": [0.0, 0.0, 0.0]}, Or(NotNull("a"), EqualTo("b", 5.0))))
