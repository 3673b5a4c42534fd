# DataFusion: a bloom filter is asked for the bits of 0.0; the group holds -0.0 only.
import tempfile, pyarrow as pa
from datafusion import SessionContext
ctx0, path = SessionContext(), tempfile.mkdtemp() + "/t.parquet"
for stored, asked in [("-0.0", "0.0"), ("0.0", "-0.0")]:
    ctx0.sql(f"COPY (SELECT CAST('{stored}' AS DOUBLE) AS a) TO '{path}' STORED AS PARQUET OPTIONS ('bloom_filter_on_write' 'true')").collect()
    for bloom in ("true", "false"):
        ctx = SessionContext()
        ctx.sql(f"SET datafusion.execution.parquet.bloom_filter_on_read = {bloom}")
        ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
        print(f"stored {stored}, WHERE a = {asked}, bloom_filter_on_read={bloom}:", ctx.sql(f"SELECT a FROM t WHERE a = CAST('{asked}' AS DOUBLE)").to_pydict())
ctx.register_record_batches("m", [pa.table({"a": [-0.0]}).to_batches()])
print("in memory:", ctx.sql("SELECT a FROM m WHERE a = CAST('0.0' AS DOUBLE)").to_pydict())
