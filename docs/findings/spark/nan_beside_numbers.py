import logging, os, tempfile
import pyarrow as pa, pyarrow.parquet as pq, pyspark
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.driver.memory", "1g").config("spark.ui.enabled", "false")
         .config("spark.ui.showConsoleProgress", "false").config("spark.driver.host", "127.0.0.1").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
print("spark", pyspark.__version__, "pyarrow", pa.__version__)
here = tempfile.mkdtemp()


def ask(sql, **settings):
    for name, value in settings.items():
        spark.conf.set(name.replace("__", "."), value)
    try:
        return [tuple(row) for row in spark.sql(sql).collect()]
    except Exception as error:
        causes = [line.strip() for line in str(error).splitlines() if "Exception: [" in line]
        return "; ".join(cause[:190] for cause in causes)
    finally:
        for name in settings:
            spark.conf.unset(name.replace("__", "."))


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
