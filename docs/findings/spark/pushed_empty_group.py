import sys
import tempfile

from pyspark.sql import SparkSession

rows, path = [], tempfile.mkdtemp() + "/t"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.sources.useV1SourceList", "")
spark.conf.set("spark.sql.orc.aggregatePushdown", "true")
spark.createDataFrame(rows, "rid INT").write.orc(path + "/a=1")
expected = sorted({1 for _ in rows})
actual = [a for (a,) in spark.read.orc(path).select("a").distinct().collect()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
