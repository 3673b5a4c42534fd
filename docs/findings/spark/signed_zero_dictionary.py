import pyarrow as pa, pyarrow.parquet as pq
from asking import ask, here, spark

OFF = {"parquet__filter__dictionary__enabled": "false"}
path = here + "/t.parquet"
for values in ([0.0, 0.0], [-0.0, -0.0], [0.0, 1.0, 1.0], [-0.0, 0.0]):
    pq.write_table(pa.table({"a": values}), path, use_dictionary=True)
    spark.read.parquet(path).createOrReplaceTempView("t")
    spark.createDataFrame([(v,) for v in values], "a double").localCheckpoint().createOrReplaceTempView("m")
    for where in ("a = 0D", "a = DOUBLE('-0.0')", "a >= 0D", "a <= DOUBLE('-0.0')", "a IN (0D, 5D)", "a <=> 0D"):
        found, due, off = (ask(f"SELECT a FROM {x} WHERE {where}", **s) for x, s in (("t", {}), ("m", {}), ("t", OFF)))
        sign = "WRONG" if len(found) != len(due) else "right"
        print(sign, values, "|", where, "| file", found, "| in memory", due, "| without dictionary filter", off)
print("a bloom filter, and no dictionary:")
rows = spark.createDataFrame([(0.0,), (1.0,)], "a double").coalesce(1)
rows.write.option("parquet.bloom.filter.enabled", "true").option("parquet.enable.dictionary", "false").parquet(here + "/b")
spark.read.parquet(here + "/b").createOrReplaceTempView("b")
where = "SELECT a FROM b WHERE a = DOUBLE('-0.0')"
print("a = -0.0 of [0.0, 1.0] |", ask(where), "| parquet.filter.bloom.enabled=false", ask(where, parquet__filter__bloom__enabled="false"))
