import os, tempfile
import polars as pl, pyarrow as pa, pyarrow.parquet as pq
print("polars", pl.__version__)
root = tempfile.mkdtemp()
def write(path, ids):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(pa.table(ids), path)
    return path
def scan(path, key, use_statistics=True):
    return pl.scan_parquet(path, hive_partitioning=True, hive_schema={key: pl.Int32}, use_statistics=use_statistics)
t = write("t/a=1/0.parquet", {"rid": [7]})
u = write("u/u_a=3/0.parquet", {"u_rid": [0]})
def attempt(label, use_statistics=True, **options):
    how = label.split(",")[0]
    try:
        print(f"{label:34}", scan(t, "a", use_statistics).join(scan(u, "u_a", use_statistics),
              left_on="a", right_on="u_a", how=how).collect(**options).rows())
    except BaseException as error:
        print(f"{label:34}", type(error).__name__, error)
for how in "inner", "semi", "left", "right", "full", "anti":
    attempt(how)
attempt("inner, engine='streaming'", engine="streaming")
attempt("inner, use_statistics=False", use_statistics=False)
attempt("inner, pre_partition_hive=False", optimizations=pl.QueryOptFlags(pre_partition_hive=False))
attempt("semi, pre_partition_hive=False", optimizations=pl.QueryOptFlags(pre_partition_hive=False))
attempt("inner, predicate_pushdown=False", optimizations=pl.QueryOptFlags(predicate_pushdown=False))
memory = scan(t, "a").collect().lazy().join(scan(u, "u_a").collect().lazy(), left_on="a", right_on="u_a")
print(f"{'inner, of frames in memory':34}", memory.collect().rows())
