import tempfile, os
import polars as pl, pyarrow as pa, pyarrow.parquet as pq
print("polars", pl.__version__)
path = os.path.join(tempfile.mkdtemp(), "t.parquet")
table = pa.table({"a": pa.array([5, 1073741823], pa.int32())})  # 1073741823 * 3 wraps to 1073741821 - 2**31 < 0
pq.write_table(table, path)
bare = path.replace("t.parquet", "bare.parquet")
pq.write_table(table, bare, write_statistics=False)
where = pl.col("a") * 3 <= 5
print("the products         ", pl.from_arrow(table).select(pl.col("a") * 3)["a"].to_list())
print("in memory            ", pl.from_arrow(table).lazy().filter(where).collect()["a"].to_list())
print("file                 ", pl.scan_parquet(path).filter(where).collect()["a"].to_list())
print("file, streaming      ", pl.scan_parquet(path).filter(where).collect(engine="streaming")["a"].to_list())
print("file, no statistics  ", pl.scan_parquet(bare).filter(where).collect()["a"].to_list())
print("use_statistics=False ", pl.scan_parquet(path, use_statistics=False).filter(where).collect()["a"].to_list())
without = pl.QueryOptFlags(predicate_pushdown=False)
print("no pushdown          ", pl.scan_parquet(path).filter(where).collect(optimizations=without)["a"].to_list())
