import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
import pyarrow.dataset as ds, pyarrow.parquet as pq, pyarrow.compute as pc
inf, nan = float("inf"), float("nan")
for metrics in ("full", "none"):
    t = catalog.create_table("n.t" + metrics, pa.schema([("a", pa.float64())]), properties={"write.metadata.metrics.default": metrics})
    t.append(pa.table({"a": [inf, nan, nan]}))
    t.append(pa.table({"a": [1.0, nan]}))
    for where in (IsNaN("a"), NotEqualTo("a", 1.0), Not(EqualTo("a", 1.0))):
        print("metrics", metrics, where, t.scan(row_filter=where).to_arrow()["a"].to_pylist())
path = list(t.inspect.files()["file_path"].to_pylist())
for p in path:
    print("pyarrow alone:", ds.dataset(p[7:]).to_table(filter=pc.is_nan(ds.field("a")))["a"].to_pylist(), "of", pq.read_table(p[7:])["a"].to_pylist())
for p in path:
    pq.write_table(pq.read_table(p[7:]), p[7:], write_statistics=False)
print("statistics stripped:", t.scan(row_filter=IsNaN("a")).to_arrow()["a"].to_pylist(), t.scan(row_filter=NotEqualTo("a", 1.0)).to_arrow()["a"].to_pylist())
