import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
def after_delete(name, rows, where):
    t = catalog.create_table("n." + name, pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    t.append(pa.table({"a": pa.array([r[0] for r in rows], pa.int64()), "b": pa.array([r[1] for r in rows], pa.int64())}))
    chosen = t.scan(row_filter=where).to_arrow().num_rows
    t.delete(where)
    return f"scan with this filter: {chosen} rows; left by delete: " + str([tuple(r.values()) for r in t.scan().to_arrow().to_pylist()])
# one file: (0, 0), (NULL, 0). `a != 0 AND a IS NULL` is true for no row
print(after_delete("x", [(0, 0), (None, 0)], And(NotEqualTo("a", 0), IsNull("a"))))
# `a = 7 AND a IS NULL`: true for no row at all. The bounds must not tell it: rows 0, 9, NULL
print(after_delete("y", [(0, 0), (9, 0), (None, 0)], And(EqualTo("a", 7), IsNull("a"))))
