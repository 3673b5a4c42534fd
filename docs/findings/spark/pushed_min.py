import sys
import tempfile

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

rows, path = [None, None], tempfile.mkdtemp() + "/t"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.sources.useV1SourceList", "")
spark.conf.set("spark.sql.parquet.aggregatePushdown", "true")
spark.createDataFrame([(a,) for a in rows], "a INT").coalesce(1).write.parquet(path)
expected = min((a for a in rows if a is not None), default=None)
try:
    actual = spark.read.parquet(path).selectExpr("min(a)").first()[0]
except Py4JJavaError as error:
    line = next(line for line in str(error).splitlines() if "NO_MIN_MAX" in line)
    actual = line.split("] ")[0] + "]"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
