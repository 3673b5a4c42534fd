import sys
import tempfile

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

rows, path = [1], tempfile.mkdtemp() + "/t"
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.orc.filterPushdown", "true")
spark.createDataFrame([(a,) for a in rows], "a INT").write.orc(path)
expected = [a for a in rows if a in (None, 1)]
try:
    actual = [a for (a,) in spark.read.orc(path).where("a IN (NULL, 1)").collect()]
except Py4JJavaError as error:
    lines = str(error).splitlines()
    at = next(number for number, line in enumerate(lines) if "OrcFilters" in line)
    actual = f"{lines[at - 1]} {lines[at].strip().partition('(')[0]}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
