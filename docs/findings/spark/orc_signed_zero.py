import sys
import tempfile

from pyspark.sql import SparkSession

rows, path = [0.0], tempfile.mkdtemp() + "/t"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.orc.filterPushdown", "true")
spark.createDataFrame([(a,) for a in rows], "a DOUBLE").write.orc(path)
expected = [a for a in rows if a == -0.0]
actual = [a for (a,) in spark.read.orc(path).where("a = DOUBLE('-0.0')").collect()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
