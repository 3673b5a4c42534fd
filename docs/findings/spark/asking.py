"""One small Spark session, and a question with settings; used by the scripts beside it."""
import logging, os, tempfile
import pyarrow as pa, pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
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
    except (PySparkException, Py4JJavaError) as error:
        causes = [line.strip() for line in str(error).splitlines() if "Exception: [" in line]
        return "; ".join(cause[:190] for cause in causes)
    finally:
        for name in settings:
            spark.conf.unset(name.replace("__", "."))
