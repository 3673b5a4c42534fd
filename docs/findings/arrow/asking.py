"""The same question of a table, of a file, and of a file without statistics; used by the scripts beside it."""
import os, tempfile
import pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq
path = os.path.join(tempfile.mkdtemp(), "t.parquet")
print("pyarrow", pa.__version__)
def answers(values, where):
    table = pa.table({"a": pa.array(values, pa.float64())})
    found = {"in memory": ds.dataset(table).to_table(filter=where)["a"].to_pylist()}
    for name, statistics in ("file", True), ("file without statistics", False):
        pq.write_table(table, path, write_statistics=statistics)
        found[name] = ds.dataset(path).to_table(filter=where)["a"].to_pylist()
    return found
