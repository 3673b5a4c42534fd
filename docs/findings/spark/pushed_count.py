import sys
import tempfile

from pyspark.sql import SparkSession

rows, path = [], tempfile.mkdtemp() + "/t"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.sources.useV1SourceList", "")
spark.conf.set("spark.sql.parquet.aggregatePushdown", "true")
spark.createDataFrame(rows, "a INT").write.parquet(path)
expected = len(rows)
actual = spark.read.parquet(path).selectExpr("count(*)").first()[0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
