import os, tempfile, pyarrow as pa, pyarrow.parquet as pq, pruning
from pyspark.errors import PySparkException
from session import spark
base = tempfile.mkdtemp()
for name in ("a=", "a=__HIVE_DEFAULT_PARTITION__"):
    os.mkdir(f"{base}/{name}")
    pq.write_table(pa.table({"rid": pa.array([0], pa.int64())}), f"{base}/{name}/p.parquet")
for what, make in (("plain", lambda f: f), ("pruned", pruning.prune)):
    try: print(what, make(spark.read.schema("a STRING, rid BIGINT").parquet(base)).collect())
    except PySparkException as error: print(what, type(error).__name__, str(error)[:110])
