import pyarrow as pa, pyarrow.parquet as pq
from asking import ask, here, spark

PUSHED = {"spark__sql__sources__useV1SourceList": "", "spark__sql__parquet__aggregatePushdown": "true"}


def both(what, *names):
    print(what)
    for sql in ("SELECT count(*) FROM t", "SELECT count(a) FROM t", "SELECT min(a), max(a) FROM t"):
        for label, settings in (("pushed", PUSHED), ("not pushed", {**PUSHED, "spark__sql__parquet__aggregatePushdown": "false"})):
            for name, value in settings.items():
                spark.conf.set(name.replace("__", "."), value)
            spark.read.parquet(*(f"{here}/{name}" for name in names)).createOrReplaceTempView("t")
            print("  ", sql, "|", label, "|", ask(sql, **settings))


spark.range(0).selectExpr("CAST(id AS DOUBLE) AS a").write.parquet(here + "/none")
both("no rows, written by Spark: a file without row groups", "none")
pq.write_table(pa.table({"a": [2.0, 3.0]}), here + "/two")
both("that file, and one of 2 rows", "none", "two")
pq.write_table(pa.table({"a": pa.array([None, None], pa.float64())}), here + "/nulls")
both("two NULLs", "nulls")
pq.write_table(pa.table({"a": pa.array([], pa.float64())}), here + "/zero")
both("a row group of no rows, by pyarrow", "zero")
