import tempfile, pyarrow as pa, pyarrow.parquet as pq, pruning
from session import spark, both
path = tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": pa.array([-32767, 16384, None], pa.int16()), "rid": pa.array([0, 1, 2], pa.int64())}), path, row_group_size=1)
spark.read.parquet(path).createOrReplaceTempView("t")
both(pruning, "SELECT rid, a - 2, typeof(a - 2) FROM t")
both(pruning, "SELECT rid FROM t WHERE a - 2 >= 16384")
both(pruning, "SELECT rid FROM t WHERE a - 2 = 32767")
both(pruning, "SELECT rid FROM t WHERE a - 2 <= -32769")
both(pruning, "SELECT rid FROM t WHERE a - 2S >= 16384")
