import pyarrow as pa, pyarrow.parquet as pq
from asking import ask, here, spark

nan = float("nan")
for values in ([nan, 1.0], [nan, 1.0, 2.0]):
    pq.write_table(pa.table({"a": values}), here + "/p.parquet")
    pq.write_table(pa.table({"a": values}), here + "/n.parquet", write_statistics=False)
    frame = spark.createDataFrame([(v,) for v in values], "a double").coalesce(1)
    frame.write.mode("overwrite").parquet(here + "/s")
    frame.localCheckpoint().createOrReplaceTempView("m")
    for name, path in (("p", "p.parquet"), ("n", "n.parquet"), ("s", "s")):
        spark.read.parquet(f"{here}/{path}").createOrReplaceTempView(name)
    for where in ("a > 1D", "a >= 3D", "a <> 1D", "a = DOUBLE('NaN')", "isnan(a)"):
        p, n, s, m = (ask(f"SELECT a FROM {x} WHERE {where}") for x in "pnsm")
        off = ask(f"SELECT a FROM p WHERE {where}", parquet__filter__stats__enabled="false")
        print(values, "|", where, "| pyarrow's file", p, "| stats off", off, "| no statistics", n, "| Spark's file", s, "| in memory", m)
