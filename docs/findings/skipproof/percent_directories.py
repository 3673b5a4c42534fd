import os, tempfile, pyarrow as pa, pyarrow.parquet as pq, pruning
from urllib.parse import quote
from session import spark, both
base = tempfile.mkdtemp()
for i, value in enumerate(["\u00e9", "\ue000", "\U0010ffff"]):
    directory = f"{base}/a={quote(value, safe='')}"
    os.mkdir(directory)
    pq.write_table(pa.table({"rid": pa.array([2 * i, 2 * i + 1], pa.int64())}), directory + "/p.parquet")
spark.read.schema("a STRING, rid BIGINT").parquet(base).createOrReplaceTempView("t")
print(sorted(os.listdir(base)))
both(pruning, "SELECT DISTINCT a, hex(a) FROM t ORDER BY hex(a)")
both(pruning, "SELECT rid FROM t WHERE a <= '\ud7ff' ORDER BY rid")
both(pruning, "SELECT rid FROM t WHERE coalesce(a, '\U0001f600') <= '\ud7ff' ORDER BY rid")
both(pruning, "SELECT rid FROM t WHERE a = '\u00e9' ORDER BY rid")
both(pruning, "SELECT rid FROM t WHERE a = '\u00c3\u00a9' ORDER BY rid")
both(pruning, "SELECT rid FROM t WHERE a = decode(unhex('C3B4C28FC2BFC2BF'), 'UTF-8') ORDER BY rid")
both(pruning, "SELECT a, rid FROM t ORDER BY a DESC, rid LIMIT 1")
both(pruning, "SELECT min(a) = decode(unhex('C383C2A9'), 'UTF-8'), max(a) = decode(unhex('C3B4C28FC2BFC2BF'), 'UTF-8') FROM t")
print("Spark's own writer:")
own = tempfile.mkdtemp() + "/own"
spark.sql("SELECT a, rid FROM VALUES ('\u00e9', 0L), ('\ue000', 1L), ('\U0010ffff', 2L), ('%', 3L), ('', 4L) AS t(a, rid)").write.partitionBy("a").parquet(own)
print(ascii(sorted(x for x in os.listdir(own) if x.startswith("a="))))
spark.read.schema("a STRING, rid BIGINT").parquet(own).createOrReplaceTempView("t")
both(pruning, "SELECT a, rid FROM t ORDER BY rid")
both(pruning, "SELECT rid FROM t WHERE a <= '\ud7ff' ORDER BY rid")
