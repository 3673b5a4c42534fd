import math
import sys
import tempfile

from pyspark.sql import SparkSession

rows, path = [1.0, math.nan], tempfile.mkdtemp() + "/t"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.sources.useV1SourceList", "")
spark.conf.set("spark.sql.orc.aggregatePushdown", "true")
spark.createDataFrame([(a,) for a in rows], "a DOUBLE").coalesce(1).write.orc(path)
# In Spark, NaN is above every number.
expected = str(math.nan if any(map(math.isnan, rows)) else max(rows))
actual = str(spark.read.orc(path).selectExpr("max(a)").first()[0])
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
