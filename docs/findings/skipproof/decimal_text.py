import tempfile, pyarrow as pa, pyarrow.parquet as pq, pruning
from decimal import Decimal
from session import spark, both
path = tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": pa.array([Decimal("0"), Decimal("0.0000000002"), Decimal("0.0000001"), Decimal("1.5")], pa.decimal128(38, 10)),
                         "rid": pa.array([0, 1, 2, 3], pa.int64())}), path, row_group_size=1)
spark.read.parquet(path).createOrReplaceTempView("t")
both(pruning, "SELECT a, CAST(a AS STRING) FROM t ORDER BY rid")
both(pruning, "SELECT a, rid FROM t WHERE a = CAST('0.0000000002' AS DECIMAL(38, 10))")
both(pruning, "SELECT CAST('0.0000000002' AS DECIMAL(38, 10))")
value = spark.sql("SELECT a FROM t WHERE rid = 1").collect()[0][0]
print("format(value, 'f') =", format(value, "f"), "| value == Decimal('0.0000000002'):", value == Decimal("0.0000000002"))
print("by Arrow:", spark.sql("SELECT a FROM t WHERE rid = 1").toArrow().column(0).to_pylist())
