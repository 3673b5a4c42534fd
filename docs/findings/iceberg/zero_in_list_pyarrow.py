import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
import pyarrow.dataset as ds, pyarrow.parquet as pq
t = catalog.create_table("n.t", pa.schema([("a", pa.float64())]))
t.append(pa.table({"a": [0.0]}))
for where in (In("a", [0.0, 2.0]), In("a", [0.0]), Or(EqualTo("a", 0.0), EqualTo("a", 2.0)), Not(NotIn("a", [0.0, 2.0]))):
    print(where, t.scan(row_filter=where).to_arrow()["a"].to_pylist())
t2 = catalog.create_table("n.t2", pa.schema([("a", pa.float32())]))
t2.append(pa.table({"a": pa.array([-0.0, 0.0], pa.float32())}))
print("NOT IN (-0.0, 1.0) of [-0.0, 0.0]:", t2.scan(row_filter=NotIn("a", [-0.0, 1.0])).to_arrow()["a"].to_pylist())
p = t.inspect.files()["file_path"].to_pylist()[0][7:]
s = pq.ParquetFile(p).metadata.row_group(0).column(0).statistics
print("footer:", s.min, s.max, "| pyarrow alone:", ds.dataset(p).to_table(filter=ds.field("a").isin([0.0, 2.0]))["a"].to_pylist())
pq.write_table(pq.read_table(p), p, write_statistics=False)
print("statistics stripped:", t.scan(row_filter=In("a", [0.0, 2.0])).to_arrow()["a"].to_pylist())
