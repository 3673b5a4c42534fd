import sys
import tempfile

from pyspark.sql import SparkSession

rows, path = [(None, 0), ("x", 1)], tempfile.mkdtemp() + "/t"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.sources.useV1SourceList", "")
spark.conf.set("spark.sql.parquet.aggregatePushdown", "true")
spark.createDataFrame(rows, "a STRING, rid INT").write.partitionBy("a").parquet(path)
expected = sum(a is not None for a, _ in rows)
actual = spark.read.parquet(path).selectExpr("count(a)").first()[0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
