import os, tempfile
import polars as pl, pyarrow as pa, pyarrow.parquet as pq
print("polars", pl.__version__)
root, a, M = tempfile.mkdtemp(), pl.col("a"), 2**31 - 1
def ask(text, values, dtype, where):
    table = pa.table({"a": pa.array(values, dtype)})
    pq.write_table(table, os.path.join(root, "t.parquet"))
    memory = pl.from_arrow(table).filter(where)["a"].to_list()
    scan = lambda **o: pl.scan_parquet(os.path.join(root, "t.parquet"), **o).filter(where).collect()["a"].to_list()
    print(f"{text:12} {str(dtype):7} memory {memory}  file {scan()}  file, use_statistics=False {scan(use_statistics=False)}")
ask("a+2 <= 1", [0, M], pa.int32(), a + 2 <= 1)
ask("a+2 == -M", [0, M], pa.int32(), a + 2 == -M)
ask("3+a < 0", [0, M], pa.int32(), 3 + a < 0)
ask("5-a < 0", [-M - 1, 0], pa.int32(), 5 - a < 0)
ask("a-2 <= 0", [-M, 0], pa.int32(), a - 2 <= 0)
ask("a*2 >= -1", [0, 2**30], pa.int32(), a * 2 >= -1)
ask("a+2 < 0", [0, 2**63 - 1], pa.int64(), a + 2 < 0)
ask("a+100 < 0", [0, 100], pa.int8(), a + 100 < 0)
ask("a-2 > 5", [1, 3], pa.uint32(), a - 2 > 5)
ask("a-2 > 5", [1, 3], pa.uint64(), a - 2 > 5)
ask("a+a < 0", [0, M], pa.int32(), a + a < 0)
ask("-a < 0", [-M - 1, 0], pa.int32(), -a < 0)
ask("abs(a) < 0", [-M - 1, 0], pa.int32(), a.abs() < 0)
