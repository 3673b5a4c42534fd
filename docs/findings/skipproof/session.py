"""One small Spark session; JAVA_HOME must be set to a Java 17 or 21. Used by the scripts beside it."""
import os
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[1]").config("spark.driver.memory", "1g")
         .config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
         .config("spark.sql.shuffle.partitions", "1").config("spark.ui.showConsoleProgress", "false").getOrCreate())
spark.sparkContext.setLogLevel("FATAL")
def both(pruning, sql):
    """The plain answer, the pruned one with and without its own small queries, and the row groups kept."""
    def rows(frame):
        try: return ascii([tuple(row) for row in frame().collect()])
        except PySparkException as error: return str(error).splitlines()[0][:60]
    plain = rows(lambda: spark.sql(sql))
    pruned = {rows(lambda: pruning.prune(spark.sql(sql), runtime=runtime)) for runtime in (True, False)}
    scans = pruning.explain(spark.sql(sql), runtime=False).scans
    kept = ", ".join(f"{scan.blocks_kept} of {scan.blocks_total}" for scan in scans)
    print(ascii(sql)[1:-1])
    print("  plain ", plain)
    for answer in pruned: print("  pruned", "the same" if answer == plain else answer, f"(row groups kept: {kept})")
