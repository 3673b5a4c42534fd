import sys

from pyspark.sql import SparkSession

values, type_ = ["0.000", "0.001", "0.002"], "DECIMAL(25, 9)"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.createDataFrame([(value,) for value in values], "a STRING").createOrReplaceTempView("t")
key = f"least(CAST(a AS {type_}), CAST('0.001' AS {type_}))"
expected = sorted(sorted(values, reverse=True), key=lambda a: min(float(a), 0.001))
actual = [a for (a,) in spark.sql(f"SELECT a FROM t ORDER BY {key}, a DESC").collect()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
